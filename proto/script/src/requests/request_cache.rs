//! Requests that a user makes again: most are what they were the last time, and what is computed
//! the same way from the same is not computed a second time.
//!
//! Must never take one request for another: whatever goes into one is compared, down to the kind
//! of each number.

use std::rc::Rc;

use crate::expression::Scope;
use crate::program::{Cookies, Sending, Wish};
use crate::user::Act;
use crate::values::exceptions::Halt;
use crate::values::value::Value;

/// Most requests that one user keeps.
const KEPT_MAX: usize = 16;
/// Longest body of one, in bytes.
const BODY_BYTES_MAX: usize = 1 << 10;

/// What a user asked for the last time, at each place of its code.
#[derive(Debug, Default)]
pub(crate) struct Again {
    kept: Vec<Option<Kept>>,
    batch: Option<Batch>,
    /// Room for what a request is made of.
    given: Vec<Value>,
}

#[derive(Debug)]
struct Kept {
    /// The number of the place.
    place: usize,
    /// What it was made of, but for the cookie.
    given: Vec<Value>,
    cookie: Option<String>,
    wish: Rc<Wish>,
}

/// Several at a time.
#[derive(Debug)]
struct Batch {
    /// The part of the user's life, and the place in it.
    place: (Act, usize),
    written: Value,
    wishes: Vec<Rc<Wish>>,
}

impl Again {
    /// The request at a place of the code; `cookies` writes the user's header for a path.
    pub(crate) fn wish(
        &mut self,
        send: &Sending,
        scope: &Scope<'_>,
        cookies: Option<&Cookies<'_>>,
    ) -> Result<Rc<Wish>, Halt> {
        if let Some(constant) = send.constant.as_ref().filter(|_| cookies.is_none()) {
            return Ok(Rc::clone(constant));
        }
        send.given(scope, &mut self.given)?;
        let slot = send.number % KEPT_MAX;
        if let Some(Some(kept)) = self.kept.get(slot)
            && kept.place == send.number
            && kept
                .given
                .iter()
                .zip(&self.given)
                .all(|(one, other)| one.is_same(other))
        {
            let cookie = cookies.map(|cookies| cookies(&kept.wish.path)).transpose();
            if cookie.map_err(|halt| halt.at(send.line))?.flatten() == kept.cookie {
                return Ok(Rc::clone(&kept.wish));
            }
        }
        let (wish, cookie) = send.wish(&self.given, cookies)?;
        let wish = Rc::new(wish);
        if is_small(&wish) {
            if self.kept.len() <= slot {
                self.kept.resize_with(slot + 1, || None);
            }
            self.kept[slot] = Some(Kept {
                place: send.number,
                given: std::mem::take(&mut self.given),
                cookie,
                wish: Rc::clone(&wish),
            });
        }
        Ok(wish)
    }

    /// The requests of a batch at a place of the code, `written` as it is; `make` makes them of
    /// that and of nothing else.
    pub(crate) fn batch(
        &mut self,
        place: (Act, usize),
        written: &Value,
        make: impl FnOnce() -> Result<Vec<Rc<Wish>>, Halt>,
    ) -> Result<Vec<Rc<Wish>>, Halt> {
        if let Some(kept) = &self.batch
            && kept.place == place
            && kept.written.is_same(written)
        {
            return Ok(kept.wishes.clone());
        }
        let wishes = make()?;
        if wishes.len() <= KEPT_MAX && wishes.iter().all(|wish| is_small(wish)) {
            self.batch = Some(Batch {
                place,
                written: written.clone(),
                wishes: wishes.clone(),
            });
        }
        Ok(wishes)
    }
}

/// Whether a request is worth its room.
fn is_small(wish: &Wish) -> bool {
    let body = wish.body.as_ref();
    body.is_none_or(|body| body.len() <= BODY_BYTES_MAX)
}

//! Requests that a user makes again: most are what they were the last time, and what is computed
//! the same way from the same is not computed a second time.
//!
//! Must never take one request for another: whatever goes into one is compared, down to the kind
//! of each number.

use std::rc::Rc;

use super::program::{Cookies, Sending, Wish};
use super::raised::Halt;
use super::term::Scope;
use super::value::Value;

/// Most requests that one user keeps.
const KEPT_MAX: usize = 16;
/// Longest body of one, in bytes.
const BODY_BYTES_MAX: usize = 1 << 10;

/// What a user asked for the last time, at each place of its code.
#[derive(Debug, Default)]
pub(super) struct Again {
    kept: Vec<Option<Kept>>,
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

impl Again {
    /// The request at a place of the code; `cookies` writes the user's header for a path.
    pub(super) fn wish(
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
        if wish
            .body
            .as_ref()
            .is_none_or(|body| body.len() <= BODY_BYTES_MAX)
        {
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
}

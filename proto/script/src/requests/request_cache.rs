//! Cache of the requests that a user makes again: most equal the last request at the same place of
//! the code, and are not encoded again.
//!
//! Must never take one request for another: all parts are compared, down to the type of each
//! number.

use std::sync::Arc;

use super::cookies::Cookies;
use super::template::RequestTemplate;
use crate::context::Scope;
use crate::operation::{Part, Request};
use crate::values::exceptions::Exception;
use crate::values::value::Value;

/// Maximum number of cached requests of one user.
const CACHED_MAX: usize = 16;
/// Maximum bytes of the body of a cached request.
const BODY_BYTES_MAX: usize = 1 << 10;

/// The last request of a user at each place of its code.
#[derive(Debug, Default)]
pub(crate) struct RequestCache {
    cached: Vec<Option<Cached>>,
    batch: Option<CachedBatch>,
    /// Buffer for the parts of a request.
    parts: Vec<Value>,
}

#[derive(Debug)]
struct Cached {
    /// Number of its template.
    number: usize,
    /// Its parts without the cookie.
    parts: Vec<Value>,
    cookie: Option<String>,
    request: Arc<Request>,
}

/// Several requests at a time.
#[derive(Debug)]
struct CachedBatch {
    /// The part of the user's life, and the index of the instruction in it.
    place: (Part, usize),
    list: Value,
    requests: Vec<Arc<Request>>,
}

impl RequestCache {
    /// The request of a template; `cookies` returns the user's header for a path.
    pub(crate) fn request(
        &mut self,
        template: &RequestTemplate,
        scope: &Scope<'_>,
        cookies: Option<&Cookies<'_>>,
    ) -> Result<Arc<Request>, Exception> {
        if let Some(constant) = template.constant.as_ref().filter(|_| cookies.is_none()) {
            return Ok(Arc::clone(constant));
        }
        template.parts(scope, &mut self.parts)?;
        let slot = template.number % CACHED_MAX;
        if let Some(Some(cached)) = self.cached.get(slot)
            && cached.number == template.number
            && cached
                .parts
                .iter()
                .zip(&self.parts)
                .all(|(one, other)| one.is_same(other))
        {
            let cookie = cookies
                .map(|cookies| cookies(&cached.request.path))
                .transpose();
            if cookie.map_err(|error| error.at(template.line))?.flatten() == cached.cookie {
                return Ok(Arc::clone(&cached.request));
            }
        }
        let (request, cookie) = template.request(&self.parts, cookies)?;
        let request = Arc::new(request);
        if is_small(&request) {
            if self.cached.len() <= slot {
                self.cached.resize_with(slot + 1, || None);
            }
            self.cached[slot] = Some(Cached {
                number: template.number,
                parts: std::mem::take(&mut self.parts),
                cookie,
                request: Arc::clone(&request),
            });
        }
        Ok(request)
    }

    /// The requests of a batch at a place of the code; `make` makes them from `list` and nothing
    /// else.
    pub(crate) fn batch(
        &mut self,
        place: (Part, usize),
        list: &Value,
        make: impl FnOnce() -> Result<Vec<Arc<Request>>, Exception>,
    ) -> Result<Vec<Arc<Request>>, Exception> {
        if let Some(cached) = &self.batch
            && cached.place == place
            && cached.list.is_same(list)
        {
            return Ok(cached.requests.clone());
        }
        let requests = make()?;
        if requests.len() <= CACHED_MAX && requests.iter().all(|request| is_small(request)) {
            self.batch = Some(CachedBatch {
                place,
                list: list.clone(),
                requests: requests.clone(),
            });
        }
        Ok(requests)
    }
}

/// Whether a request may be cached.
fn is_small(request: &Request) -> bool {
    let body = request.body.as_ref();
    body.is_none_or(|body| body.len() <= BODY_BYTES_MAX)
}

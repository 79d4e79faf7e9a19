//! A request as a peer saw it, and what the peer does about it.

use h2::Reason;
use http::{HeaderMap, Method, Uri};
use tokio::sync::watch;

/// One request as the target saw it.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The number of its connection.
    pub(crate) connection: usize,
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Call {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let value = self.headers.get(name)?;
        Some(value.to_str().expect("a header of letters"))
    }

    pub(crate) fn id(&self) -> &str {
        self.header("x-id").expect("every request carries its id")
    }
}

/// What the target does about a request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// With `hello`, where an answer may have content.
    Answer(u16),
    /// With this status, `hello`, and a `Location`.
    Redirect(u16, String),
    /// The same with 302, held back until it turns true.
    RedirectLater(watch::Receiver<bool>, String),
    /// 200 with that many bytes.
    Large(usize),
    /// 200 with `hello` and trailers.
    Trailers,
    /// 200 with two pieces, and an empty one that ends it.
    Pieces,
    /// 200 in full without a look at the body, which is then refused without blame.
    Early,
    /// 200 with `hello`, after a GOAWAY: the connection takes no further request.
    Last,
    Reset(Reason),
    /// Never answers; notes how the call gave up.
    Silent,
    /// 200 with three events, and no end; notes how the call gave up.
    Endless,
    /// Holds the answer back until it turns true.
    Wait(watch::Receiver<bool>),
}

//! A request as a peer received it, and the peer's reaction.

use h2::Reason;
use http::{HeaderMap, Method, Uri};
use tokio::sync::watch;

/// One request as the target received it.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Number of its connection.
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

/// The target's reaction to a request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Answers with this status, and with `hello` if the response may have content.
    Answer(u16),
    /// Answers with this status, `hello`, and a `Location`.
    Redirect(u16, String),
    /// The same with status 302, once the value is true.
    RedirectLater(watch::Receiver<bool>, String),
    /// Answers 200 with that many bytes.
    Large(usize),
    /// Answers 200 with `hello` and trailers.
    Trailers,
    /// Answers 200 with two pieces, and an empty one that ends the response.
    Pieces,
    /// Answers 200 completely without reading the body, which is then refused without an error.
    Early,
    /// Answers 200 with `hello` after a GOAWAY: the connection takes no further request.
    Last,
    Reset(Reason),
    /// Never answers; records how the call gave up.
    Silent,
    /// Answers 200 with three events and no end; records how the call gave up.
    Endless,
    /// Answers once the value is true.
    Wait(watch::Receiver<bool>),
}

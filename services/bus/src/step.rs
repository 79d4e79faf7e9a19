//! What travels over the bus and what happened to it. Plain data; it must never do I/O.

use bytes::Bytes;
use tokio::time::Instant;

/// An event as the log holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The subject it was written to.
    pub subject: String,
    /// Its place in the stream, from 1; grows by at least one from event to event.
    pub seq: u64,
    /// When the server stored it, in microseconds since 1970 by the server's clock.
    pub stored_at_us: u64,
    /// The event itself.
    pub payload: Bytes,
}

/// What an acknowledged append says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Where the event is stored.
    pub seq: u64,
    /// The stream held an event with this message id already; `seq` is that one's.
    pub duplicate: bool,
}

/// What a [`crate::Tail`] yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The next stored event.
    Event(Stored),
    /// Everything that was stored when the tail began has been delivered. Comes exactly once.
    CaughtUp,
}

/// A core message: delivered at most once, stored nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The subject it was published to; the sender's identity stands there, not in the payload.
    pub subject: String,
    /// Where to publish the answer, if the sender waits for one.
    pub reply: Option<String>,
    /// The message itself.
    pub payload: Bytes,
}

/// State of the connection to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Connected. A different `since` means that a reconnect lies between.
    Up {
        /// When this connection was made.
        since: Instant,
    },
    /// Not connected; the client tries to reconnect for as long as it lives.
    Down {
        /// When the loss was noticed, which for a silent network is some 6 s after it began.
        since: Instant,
    },
}

impl Link {
    /// Whether the server can be reached, as far as known.
    pub fn is_up(&self) -> bool {
        matches!(self, Link::Up { .. })
    }
}

//! Events, messages and states of the connection. Plain data; it must never do I/O.

use bytes::Bytes;
use tokio::time::Instant;

/// An event of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Subject of the event.
    pub subject: String,
    /// Sequence in the stream, from 1; grows by at least one from event to event.
    pub seq: u64,
    /// Time at which the server stored it, in microseconds since 1970 by the server's clock.
    pub stored_at_us: u64,
    /// Content of the event.
    pub payload: Bytes,
}

/// Acknowledgement of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Sequence of the event.
    pub seq: u64,
    /// Whether the stream contained an event with this message id already; `seq` is then its
    /// sequence.
    pub duplicate: bool,
}

/// Step of a [`crate::Tail`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The next stored event.
    Event(Stored),
    /// All events that were stored when the tail began have been delivered. Comes exactly once.
    CaughtUp,
}

/// A core message: delivered at most once, not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Subject of the message; it contains the sender's identity, the payload does not.
    pub subject: String,
    /// Subject for the reply, if the sender waits for one.
    pub reply: Option<String>,
    /// Content of the message.
    pub payload: Bytes,
}

/// State of the connection to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Connected. A different `since` means that the client has reconnected.
    Up {
        /// Time at which this connection was made.
        since: Instant,
    },
    /// Not connected. The client tries to reconnect until it is dropped.
    Down {
        /// Time at which the loss was detected: on a silent network some 6 s after it began.
        since: Instant,
    },
}

impl Link {
    /// Whether the client is connected.
    pub fn is_up(&self) -> bool {
        matches!(self, Link::Up { .. })
    }
}

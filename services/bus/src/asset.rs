//! The streams by role. Their names, subjects and sizes are in [`crate::Options`].

use std::fmt;
use std::time::Duration;

/// One of the two streams of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// Requests, decisions and facts: few, small, never lost.
    Ctl,
    /// Measurements: many, large, each named by its own sequence.
    Data,
}

impl Stream {
    /// Both streams.
    pub const ALL: [Stream; 2] = [Stream::Ctl, Stream::Data];

    /// Time for which the server recognises a message id: longer than any retry of this product.
    pub(crate) fn dedup_window(self) -> Duration {
        match self {
            Stream::Ctl => Duration::from_secs(600),
            Stream::Data => Duration::from_secs(120),
        }
    }
}

/// Its usual name on the server, for messages.
impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stream::Ctl => "LP_CTL",
            Stream::Data => "LP_DATA",
        })
    }
}

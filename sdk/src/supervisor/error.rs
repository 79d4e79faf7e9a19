//! Exit codes and errors of a stack.

use std::path::PathBuf;

/// End of a stack; its number is the exit code of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum End {
    /// On request, or because its owner is gone; every child has ended.
    Ended = 0,
    /// It never started, for a reason that the user can fix.
    Refused = 2,
    /// A child died too often, or the system failed.
    Failed = 4,
    /// The given folder belongs to a running stack.
    Busy = 5,
}

/// Why a stack could not start or continue.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StackError {
    /// The user can fix it.
    #[error("{field}: {rule}")]
    Refusal {
        /// Setting to change.
        field: &'static str,
        /// The rule that it breaks.
        rule: String,
    },
    /// The system failed.
    #[error("{doing}: {source}")]
    Fault {
        /// The attempt, with its path if there is one.
        doing: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A child ended more often than [`super::restarts::PER_MINUTE_MAX`] times a minute.
    #[error("{child} ended {times} times within a minute (last: {because}); its output: {output}")]
    GaveUp {
        /// Its name.
        child: String,
        /// Number of ends within the minute.
        times: usize,
        /// Exit code or signal of its last end.
        because: String,
        /// The end of its output, or the path of its output file.
        output: String,
    },
    /// nats-server accepted no clients in time.
    #[error("nats-server did not start: {0}")]
    ServerSilent(String),
    /// The folder belongs to a running stack.
    #[error("{} is in use by a running stack", .0.display())]
    Busy(PathBuf),
}

impl StackError {
    pub(crate) fn fault(doing: impl Into<String>, source: std::io::Error) -> Self {
        Self::Fault {
            doing: doing.into(),
            source,
        }
    }
}

//! Inputs of the stack's loop, from its children and its owner.

use super::child_name::ChildName;

/// Input of a stack's loop.
#[derive(Debug)]
pub(super) enum Input {
    /// nats-server accepts clients.
    ServerReady,
    /// nats-server cannot write to its disk.
    LogUnavailable {
        /// The error of the disk.
        reason: String,
    },
    /// A child ended.
    Exited {
        /// The child.
        name: ChildName,
        /// Its exit code or signal.
        because: String,
    },
    /// The owner wrote `stop`, or a signal asks the process to end.
    Stop,
    /// The owner died.
    OwnerGone,
}

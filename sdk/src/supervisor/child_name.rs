//! Names of a stack's children and of their output files.

use std::fmt;

/// Name of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ChildName {
    /// nats-server.
    Server,
    /// The n-th coordinator, from 1.
    Coordinator(u32),
    /// The n-th agent, from 1.
    Agent(u32),
}

impl fmt::Display for ChildName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server => f.write_str("nats-server"),
            Self::Coordinator(1) => f.write_str("coordinator"),
            Self::Coordinator(number) => write!(f, "coordinator-{number}"),
            Self::Agent(number) => write!(f, "agent-{number}"),
        }
    }
}

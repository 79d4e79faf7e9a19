//! The agent as a process of its machine: configuration, signals, limits, gauges.

pub mod config;
pub(crate) mod fd_limits;
pub mod gauges;
pub mod liveness_file;
pub mod shell;
pub mod signals;
pub(crate) mod sleep_until;
pub mod timeouts;

//! Counting in an agent, and recovery of the counts of one that was killed.

mod crash_recovery;
mod deltas;
pub(crate) mod metrics;

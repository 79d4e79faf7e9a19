//! Counting in an agent, and recovery of the counts of a killed agent.

mod crash_recovery;
mod deltas;
pub(crate) mod metrics;

//! What an agent counts, and what is left of it when the agent is killed.

mod crash_recovery;
mod deltas;
pub(crate) mod metrics;

//! The agent as a member of its fleet: heartbeats, capacity, fencing and the runs that it joins.
//!
//! - [`agent`]: the event loop
//! - [`membership`]: its state over all runs, pure
//! - [`fence`]: when the agent must stop by itself, pure
//! - [`capacity`]: the rate that it may still promise, pure
//! - `agent_info`: host, version and CPU for users

pub mod agent;
pub(crate) mod agent_info;
pub mod capacity;
pub mod fence;
pub mod membership;

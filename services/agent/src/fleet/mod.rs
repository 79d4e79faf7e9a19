//! The agent as a member of its fleet: heartbeats, capacity, fencing and the runs that it joins.
//!
//! [`agent`] is the loop, [`membership`] its pure bookkeeping, [`fence`] says when the agent must
//! stop by itself.

pub mod agent;
pub(crate) mod agent_info;
pub mod capacity;
pub mod fence;
pub mod membership;

//! How the agents of a run start together: clock estimates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Offset of an agent's clock from the run's, from the least uncertain round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockEstimate {
    /// Run's clock minus agent's clock, in µs.
    pub offset_us: i64,
    /// Maximum error of `offset_us`, in µs: half of the round trip plus the coordinator's own
    /// bound.
    pub bound_us: u64,
}

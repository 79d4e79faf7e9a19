//! How a run starts together: clocks and the start instant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far an agent's clock is from that of the run, from the least uncertain round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockEstimate {
    /// The run's clock minus the agent's clock, in µs.
    pub offset_us: i64,
    /// The true offset is within this many µs of it: half of the round trip, and what the
    /// coordinator that answered said of its own.
    pub bound_us: u64,
}

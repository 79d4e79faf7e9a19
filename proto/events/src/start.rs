//! How a run starts together: clocks and the start instant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far an agent's clock is from the coordinator's, from the round trip with the least delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockEstimate {
    /// Coordinator's clock minus agent's clock, in µs.
    pub offset_us: i64,
    /// The true offset is within this many µs of it: half of the least round trip.
    pub bound_us: u64,
}

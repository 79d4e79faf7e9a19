//! How the generator fared, as reports tell it: what else than the target could be in the figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::latency::Ladder;
use crate::defaults::is_default;

/// How the generator itself fared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorReport {
    /// From due until the pacer reached the arrival, in the measured time.
    pub schedule_lag: Option<Ladder>,
    /// From there until dispatch.
    pub queue: Option<Ladder>,
    /// Connections opened.
    pub connections_opened: u64,
    /// Calls that used an open connection.
    pub connections_reused: u64,
    /// Requests that were sent a second time on another connection, because the first one turned
    /// out to be closed: the target may have seen them twice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resent: u64,
    /// TCP segments that the kernel of one agent's machine sent again during the run, for whomever:
    /// the most of any machine.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retransmits_max: u64,
    /// Connections that found the queue of a listener on an agent's machine full during the run,
    /// the most of any machine: of interest when the target is there.
    #[serde(default, skip_serializing_if = "is_default")]
    pub listen_overflows_max: u64,
    /// The busiest firing thread of any delta, in thousandths of its core.
    pub busiest_core_permille: u64,
    /// Share of deltas in which a firing thread was above 90 % of its core, in percent.
    pub busy_deltas_pct: f64,
    /// The longest that a firing thread was late for its own timer, in µs.
    pub stall_us_max: u64,
}

//! Health of the load generator: influences on the figures other than the target.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::latency::Ladder;
use crate::defaults::is_default;

/// Health of the load generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorReport {
    /// Time from due until the pacer reached the arrival, in the measured time.
    pub schedule_lag: Option<Ladder>,
    /// Time from there until dispatch.
    pub queue: Option<Ladder>,
    /// Number of connections opened.
    pub connections_opened: u64,
    /// Number of calls on a connection that was already open.
    pub connections_reused: u64,
    /// Number of requests sent a second time because their first connection had closed: the target
    /// may have received them twice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resent: u64,
    /// Number of redirects followed within the calls.
    #[serde(default, skip_serializing_if = "is_default")]
    pub redirects: u64,
    /// Number of calls that ended with a redirect, although the plan follows redirects: it was
    /// beyond the limit, or led to another origin.
    #[serde(default, skip_serializing_if = "is_default")]
    pub redirects_not_followed: u64,
    /// Number of TCP segments retransmitted during the run by one agent's machine, for all its
    /// processes; the maximum of all machines.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retransmits_max: u64,
    /// Number of connections during the run that found a full listener queue on one agent's
    /// machine; the maximum of all machines. Relevant when the target runs there.
    #[serde(default, skip_serializing_if = "is_default")]
    pub listen_overflows_max: u64,
    /// Maximum CPU use of a firing thread in any delta, in thousandths of its core.
    pub busiest_core_permille: u64,
    /// Share of deltas in which a firing thread used more than 90 % of its core, in percent.
    pub busy_deltas_pct: f64,
    /// Longest delay of a firing thread behind its own timer, in µs.
    pub stall_us_max: u64,
}

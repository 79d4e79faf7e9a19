//! The live view of a run: what finished just now, and what has finished so far, each labelled.
//!
//! Live figures come from the newest deltas and are good for watching; gates and reports use the
//! closed view ([`crate::answers::report`]).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::report::RunState;
use crate::defaults::is_default;
use crate::log::cause::Cause;

/// Where the offered rate is heading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadPhase {
    /// Not started yet.
    Waiting,
    /// The rate rises.
    RampUp,
    /// The rate holds.
    Steady,
    /// The rate falls.
    RampDown,
    /// The profile is over.
    Done,
}

/// The run as of one instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// The instant, in seconds since the Unix epoch, on the reader's clock.
    pub timestamp_secs: f64,
    /// Seconds since the start; 0 before it.
    pub elapsed_secs: f64,
    /// Length of the profile in seconds.
    pub duration_secs: f64,
    /// Where the run stands.
    pub state: RunState,
    /// While it waits for agents: how many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gathering: Option<Gathering>,
    /// Whether it is paused: nothing is started, and its time goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Where the offered rate is heading.
    pub phase: LoadPhase,
    /// Finished calls per second over the newest deltas.
    pub current_rps: f64,
    /// Started arrivals per second over the newest deltas.
    #[serde(default)]
    pub arrivals_per_sec: f64,
    /// Planned arrivals per second over the same time; 0 in a closed loop.
    #[serde(default)]
    pub planned_per_sec: f64,
    /// The planned rate at this instant, arrivals per second.
    pub target_rps: f64,
    /// Arrivals started so far, as reported.
    pub arrivals_started: u64,
    /// Arrivals dropped so far, as reported.
    pub arrivals_dropped: u64,
    /// Calls ended so far, as reported.
    pub requests_total: u64,
    /// Finished calls that were not ok so far, as reported, and tasks that raised, as in a report.
    pub errors_total: u64,
    /// Why calls get no complete answer; absent while all get one, or nothing is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
    /// Tasks that raised without a call so far: errors beside `requests_total`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub raised_without_call: u64,
    /// Arrivals in flight, as last reported.
    pub in_flight: u64,
    /// Arrivals waiting for a slot, as last reported.
    pub waiting: u64,
    /// Age of the oldest arrival in flight or waiting, as last reported, in ms.
    pub oldest_ms: f64,
    /// Connections opened per second over the newest deltas; with https these are handshakes.
    #[serde(default)]
    pub opened_per_sec: f64,
    /// Calls of the newest deltas that used an open connection, in percent of those that got one;
    /// null when none did.
    #[serde(default)]
    pub reused_pct: Option<f64>,
    /// Holders that reported lately.
    pub active_workers: u32,
    /// Response time of what finished in the newest delta of each agent.
    pub latency: LatencyMs,
    /// Response time of everything that has finished so far.
    pub latency_cumulative: LatencyMs,
    /// Per task, everything so far.
    pub tasks: Vec<TaskSnapshot>,
}

/// The most frequent cause of the calls without a complete answer so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failing {
    /// The cause.
    pub cause: Cause,
    /// The same for people.
    pub why: String,
    /// How many calls failed by it.
    pub calls: u64,
    /// Whether no call has reached a server so far.
    pub unreached: bool,
}

/// A run that waits for its agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gathering {
    /// Agents that offered capacity.
    pub ready: u32,
    /// Agents that it waits for.
    pub want: u32,
    /// Agents that suffice when the wait is over.
    pub min: u32,
    /// Seconds until then, on the reader's clock.
    pub left_secs: f64,
}

/// Response times in ms, corrected; null when nothing finished.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct LatencyMs {
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub max_ms: Option<f64>,
    pub min_ms: Option<f64>,
    pub mean_ms: Option<f64>,
}

/// One task so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskSnapshot {
    /// Its name.
    pub name: String,
    /// Its ended calls.
    pub requests: u64,
    /// Those that finished and were not ok, and its raises, as in a report.
    pub errors: u64,
    /// Their response time.
    pub latency: LatencyMs,
}

//! The live view of a run: figures of the calls that finished just now, and of all that finished so
//! far.
//!
//! Live figures come from the newest deltas and are for watching; thresholds and reports use the
//! closed figures ([`crate::answers::report`]).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::report::RunState;
use crate::defaults::is_default;
use crate::log::cause::Cause;

/// Direction of the offered rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadPhase {
    /// The run has not started.
    Waiting,
    /// The rate rises.
    RampUp,
    /// The rate is constant.
    Steady,
    /// The rate falls.
    RampDown,
    /// The profile is over.
    Done,
}

/// Live figures of a run at one instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// The instant, in seconds since the Unix epoch, on the reader's clock.
    pub timestamp_secs: f64,
    /// Seconds since the start; 0 before it.
    pub elapsed_secs: f64,
    /// Length of the profile in seconds.
    pub duration_secs: f64,
    /// State of the run.
    pub state: RunState,
    /// Place and reason in words, while the run waits for its admission to a shared fleet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<String>,
    /// Number of agents, while the run waits for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gathering: Option<Gathering>,
    /// Whether the run is paused: nothing starts, and its time continues.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Direction of the offered rate.
    pub phase: LoadPhase,
    /// Finished calls per second over the newest deltas.
    pub current_rps: f64,
    /// Started arrivals per second over the newest deltas.
    #[serde(default)]
    pub arrivals_per_sec: f64,
    /// Planned arrivals per second over the same time; 0 in a closed loop.
    #[serde(default)]
    pub planned_per_sec: f64,
    /// Planned rate at this instant, in arrivals per second.
    pub target_rps: f64,
    /// Number of arrivals started so far, as reported.
    pub arrivals_started: u64,
    /// Number of arrivals dropped so far, as reported.
    pub arrivals_dropped: u64,
    /// Number of calls ended so far, as reported.
    pub requests_total: u64,
    /// Number of errors so far, as reported: finished calls that were not ok and task errors,
    /// counted as in a report.
    pub errors_total: u64,
    /// Most frequent cause of calls without a complete response. Absent: every call got one, or no
    /// cause is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
    /// Most frequent reason of errors so far. Absent: no error, or of an older coordinator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_frequent_failure: Option<FrequentFailure>,
    /// Number of tasks so far that raised without a call: errors beside `requests_total`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub raised_without_call: u64,
    /// Number of arrivals in flight, as last reported.
    pub in_flight: u64,
    /// Number of arrivals waiting for a slot, as last reported.
    pub waiting: u64,
    /// Age of the oldest arrival in flight or waiting, as last reported, in ms.
    pub oldest_ms: f64,
    /// Connections opened per second over the newest deltas; with https these are handshakes.
    #[serde(default)]
    pub opened_per_sec: f64,
    /// Calls of the newest deltas on a connection that was already open, in percent of those with a
    /// connection; null without any.
    #[serde(default)]
    pub reused_pct: Option<f64>,
    /// Number of holders that reported recently.
    pub active_workers: u32,
    /// Response time of what finished in the newest delta of each agent.
    pub latency: LatencyMs,
    /// Response time of everything that has finished so far.
    pub latency_cumulative: LatencyMs,
    /// Service time of what finished in the newest delta of each agent.
    pub service: LatencyMs,
    /// Service time of everything that has finished so far.
    pub service_cumulative: LatencyMs,
    /// Figures of each task so far.
    pub tasks: Vec<TaskSnapshot>,
}

/// Most frequent cause of calls without a complete response so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failing {
    /// The cause.
    pub cause: Cause,
    /// The cause as text for people.
    pub why: String,
    /// Number of calls that failed by it.
    pub calls: u64,
    /// Whether no call has reached a server so far.
    pub unreached: bool,
}

/// Most frequent reason of errors so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrequentFailure {
    /// The reason as text for people: a status, a failed check, a task error, else the cause.
    pub why: String,
    /// Number of errors for this reason.
    pub count: u64,
}

/// Agents of a run that waits for them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gathering {
    /// Number of agents that offered capacity.
    pub ready: u32,
    /// Number of agents that the run waits for.
    pub want: u32,
    /// Number of agents that suffice when the wait is over.
    pub min: u32,
    /// Seconds until the end of the wait, on the reader's clock.
    pub left_secs: f64,
}

/// Latencies in ms; null when no call finished.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LatencyMs {
    /// Median in ms.
    pub p50_ms: Option<f64>,
    /// 95th percentile in ms.
    pub p95_ms: Option<f64>,
    /// 99th percentile in ms.
    pub p99_ms: Option<f64>,
    /// Maximum in ms.
    pub max_ms: Option<f64>,
    /// Minimum in ms.
    pub min_ms: Option<f64>,
    /// Arithmetic mean in ms.
    pub mean_ms: Option<f64>,
}

/// Figures of one task so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskSnapshot {
    /// Name of the task.
    pub name: String,
    /// Number of its ended calls.
    pub requests: u64,
    /// Number of its errors, counted as in a report.
    pub errors: u64,
    /// Response time of its calls.
    pub latency: LatencyMs,
}

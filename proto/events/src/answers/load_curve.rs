//! The load curve in a report: latency and errors by level of the load, and the knee.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Latency by level of the load. A level is a part of the plan with a constant rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadCurve {
    /// Levels that the run reached, in the order of time.
    pub levels: Vec<LoadLevel>,
    /// Where the target stopped holding the load. Null: see `no_knee`.
    pub knee: Option<Knee>,
    /// Why there is no knee. Null: there is one.
    pub no_knee: Option<NoKnee>,
}

/// One level: the arrivals due in its whole ticks, without warm-up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadLevel {
    /// Begin of its first whole tick, in µs after the start.
    pub from_us: u64,
    /// End of its last whole tick, in µs after the start.
    pub to_us: u64,
    /// Rate by the plan, in arrivals per second.
    pub rate_rps: f64,
    /// Number of arrivals planned.
    pub planned: u64,
    /// Number of those that started.
    pub started: u64,
    /// Planned arrivals per second.
    pub planned_rps: f64,
    /// Started arrivals per second.
    pub achieved_rps: f64,
    /// Number of finished calls, and of tasks that raised without a call.
    pub finished: u64,
    /// Number of errors, counted as in `errors_total`.
    pub errors: u64,
    /// Errors in percent of `finished`; null without any.
    pub error_rate_pct: Option<f64>,
    /// Response times, corrected; null when no call finished.
    pub response: Option<LevelLatency>,
    /// Service times, uncorrected; null when no call finished.
    pub service: Option<LevelLatency>,
    /// Limits that the level did not hold. Empty: it held the load.
    pub exceeded: Vec<LevelLimit>,
}

/// Percentiles of a level, of the merged histograms of its ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LevelLatency {
    /// Median, in µs.
    pub p50_us: u64,
    /// 99th percentile, in µs.
    pub p99_us: u64,
}

/// A limit that a level has to hold.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LevelLimit {
    /// At least 95 % of the planned arrivals started.
    Achieved,
    /// A call finished, and the corrected p99 is at most 3 times that of the lowest level or less
    /// than 10 ms above it.
    Latency,
    /// The error rate is at most 1 percentage point above that of the lowest level.
    Errors,
}

/// Where the target stopped holding the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Knee {
    /// Index in `levels` of the highest level below the break; every lower one held as well.
    pub held: u32,
    /// Index in `levels` of the lowest level that did not hold.
    pub broke: u32,
}

/// The knee in one object: the highest level that held the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneePoint {
    /// Number of the level in the order of time, from 1.
    pub step: u32,
    /// Its rate by the plan, in arrivals per second.
    pub rps: f64,
    /// Its 99th percentile of the response time in ms; null when no call finished.
    pub p99_ms: Option<f64>,
    /// Its errors in percent of finished calls; null without any.
    pub error_rate_pct: Option<f64>,
    /// Number of levels that the run reached.
    pub total_steps: u32,
    /// Highest rate of a level by the plan, in arrivals per second.
    pub max_rps: f64,
}

/// Why a load curve has no knee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoKnee {
    /// The run reached fewer than three different rates.
    FewLevels,
    /// Every level held.
    AllHeld,
    /// The lowest level did not hold.
    LowestBroke,
    /// The rate was changed or paused during the run: its levels are not those of the plan.
    Steered,
}

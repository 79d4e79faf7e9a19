//! What a report says of latency: points of distributions, corrected and uncorrected, and what lies
//! between the two. Must never hold an average of percentiles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::defaults::is_default;
use crate::log::hist::EncodedHistogram;

/// Points of a distribution, in µs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ladder {
    /// How many values.
    pub count: u64,
    /// The least.
    pub min_us: u64,
    /// The arithmetic mean.
    pub mean_us: f64,
    /// 50 %.
    pub p50_us: u64,
    /// 75 %.
    pub p75_us: u64,
    /// 90 %.
    pub p90_us: u64,
    /// 95 %.
    pub p95_us: u64,
    /// 99 %.
    pub p99_us: u64,
    /// 99.9 %.
    pub p99_9_us: u64,
    /// 99.99 %.
    pub p99_99_us: u64,
    /// The greatest.
    pub max_us: u64,
}

/// Latency, corrected and uncorrected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// End − due: what a user who came on schedule would have waited. Null when nothing finished.
    pub response: Option<Ladder>,
    /// End − dispatch: what the target alone took.
    pub service: Option<Ladder>,
    /// Corrected p99 over uncorrected p99: what a tool that waits would have left out. Null in a
    /// closed loop, which has no schedule to count from.
    pub co_factor: Option<f64>,
    /// How far corrected and uncorrected are apart at most, and by what. Absent in a closed loop,
    /// and where a run is judged by the first rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omission: Option<Omission>,
    /// Finished calls that had no connection over which a request could be sent: their latency is
    /// no server's. Absent: none, or judged by the first rules.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unconnected: u64,
    /// Response time of the calls that were ok only; a filtered subset misleads by itself.
    pub response_ok: Option<Ladder>,
    /// Response time of the calls that were not ok only.
    pub response_failed: Option<Ladder>,
    /// The whole distribution of the response time.
    pub response_histogram: EncodedHistogram,
    /// The whole distribution of the service time.
    pub service_histogram: EncodedHistogram,
}

/// The percentile at which corrected is the largest multiple of uncorrected, and where the time
/// between due and dispatch went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Omission {
    /// The percentile: of those with a difference that matters, if there is one.
    pub percentile: f64,
    /// Corrected over uncorrected there.
    pub factor: f64,
    /// Corrected there, in µs.
    pub response_us: u64,
    /// Uncorrected there, in µs.
    pub service_us: u64,
    /// Share of schedule lag in the time from due to dispatch of all calls, in percent.
    pub schedule_lag_pct: f64,
    /// Share of the wait for a slot in it, in percent. Connecting has none: it is in both.
    pub queue_pct: f64,
    /// Whose it is.
    pub origin: OmissionOrigin,
}

/// What makes corrected differ from uncorrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OmissionOrigin {
    /// The difference is too small to matter.
    Negligible,
    /// The generator: it was late for most of the time.
    Generator,
    /// The target: calls waited for a slot, since those before them were not answered. Only this
    /// is coordinated omission.
    Target,
}

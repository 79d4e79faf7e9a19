//! Latency in a report: percentiles of distributions, corrected and uncorrected, and the difference
//! between the two. Percentiles come from merged histograms, never from averages of percentiles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::defaults::is_default;
use crate::log::hist::EncodedHistogram;

/// Percentiles of a distribution, in µs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ladder {
    /// Number of values.
    pub count: u64,
    /// Smallest value.
    pub min_us: u64,
    /// Arithmetic mean.
    pub mean_us: f64,
    /// Median.
    pub p50_us: u64,
    /// 75th percentile.
    pub p75_us: u64,
    /// 90th percentile.
    pub p90_us: u64,
    /// 95th percentile.
    pub p95_us: u64,
    /// 99th percentile.
    pub p99_us: u64,
    /// 99.9th percentile.
    pub p99_9_us: u64,
    /// 99.99th percentile.
    pub p99_99_us: u64,
    /// Largest value.
    pub max_us: u64,
}

/// Latency, corrected and uncorrected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Response time, end − due: what a user on schedule would have waited. Null when no call
    /// finished.
    pub response: Option<Ladder>,
    /// Service time, end − dispatch: the time of the target alone. Null when no call finished.
    pub service: Option<Ladder>,
    /// CO factor: corrected p99 / uncorrected p99, the error of a tool that waits for responses.
    /// Null in a closed loop, which has no schedule.
    pub co_factor: Option<f64>,
    /// Largest ratio of corrected to uncorrected, and its origin. Absent in a closed loop and by
    /// rules 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omission: Option<Omission>,
    /// Number of finished calls without a connection for a request: their latency is no server's.
    /// Absent: none, or rules 1.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unconnected: u64,
    /// Response time of the calls that were ok; a filtered subset is misleading by itself.
    pub response_ok: Option<Ladder>,
    /// Response time of the calls that were not ok.
    pub response_failed: Option<Ladder>,
    /// Whole distribution of the response time.
    pub response_histogram: EncodedHistogram,
    /// Whole distribution of the service time.
    pub service_histogram: EncodedHistogram,
}

/// Percentile with the largest ratio of corrected to uncorrected, and the shares of the time
/// between due and dispatch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Omission {
    /// Percentile, among those with a relevant difference if there are any.
    pub percentile: f64,
    /// Corrected / uncorrected at this percentile.
    pub factor: f64,
    /// Corrected latency at this percentile, in µs.
    pub response_us: u64,
    /// Uncorrected latency at this percentile, in µs.
    pub service_us: u64,
    /// Share of schedule lag in the time from due to dispatch of all calls, in percent.
    pub schedule_lag_pct: f64,
    /// Share of the wait for a slot in that time, in percent. Connecting has no share: it is in
    /// both latencies.
    pub queue_pct: f64,
    /// Origin of the difference.
    pub origin: OmissionOrigin,
}

/// Origin of the difference between corrected and uncorrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OmissionOrigin {
    /// The difference is too small to matter.
    Negligible,
    /// The load generator: most of the time was schedule lag.
    Generator,
    /// The target: calls waited for a slot because earlier calls had no response yet. Only this is
    /// coordinated omission.
    Target,
}

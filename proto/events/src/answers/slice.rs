//! Slices: the part of a run that a question is about, and its figures over time.
//!
//! Times are due times in µs after the start, in whole ticks: rows have no finer resolution.
//! Percentiles come from merged histograms.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::latency::Ladder;
use crate::id::{AgentId, RunId};
use crate::log::hist::EncodedHistogram;
use crate::log::outcome::Outcome;

/// Maximum number of values in one list of a slice.
pub const SLICE_NAMES_MAX: usize = 1_000;
/// Maximum number of percentiles of one answer.
pub const SLICE_PERCENTILES_MAX: usize = 20;
/// Maximum number of buckets of one answer.
pub const SLICE_BUCKETS_MAX: u64 = 100_000;
/// Maximum number of buckets of an answer whose question gives no bucket length.
pub const SLICE_BUCKETS: u64 = 600;

/// Part of a run. An absent field restricts nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// First due time, in µs after the start: a whole number of ticks. Absent: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_us: Option<u64>,
    /// End of the due time, exclusive, in µs after the start: a whole number of ticks. Absent: the
    /// end of the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_us: Option<u64>,
    /// Length of a bucket in µs: a whole number of ticks. Absent: the shortest with at most
    /// [`SLICE_BUCKETS`] buckets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket_us: Option<u64>,
    /// Names of the tasks to include.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<String>>,
    /// Names of the calls to include; figures of arrivals are those of their tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<String>>,
    /// Names of the agents to include.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<AgentId>>,
    /// Outcomes of the calls to include.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<Vec<Outcome>>,
    /// Percentiles to compute, above 0 and up to 100. Absent: 50, 95 and 99.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentiles: Option<Vec<f64>>,
    /// Instant of the run's clock, in µs after the start, whose state of the log is used. Absent:
    /// the whole log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of_us: Option<u64>,
}

/// Figures of a slice over time: each list has one value per bucket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Id of the run.
    pub run: RunId,
    /// Length of a tick of the log in µs.
    pub tick_us: u64,
    /// Length of a bucket in µs; the last bucket may be shorter.
    pub bucket_us: u64,
    /// Begin of each bucket, in µs after the start.
    pub from_us: Vec<u64>,
    /// Number of arrivals planned; null where agents, calls or outcomes are selected, which the
    /// plan does not know.
    pub planned: Vec<Option<u64>>,
    /// Number of arrivals started.
    pub started: Vec<u64>,
    /// Number of arrivals that agents dropped, for any reason.
    pub dropped: Vec<u64>,
    /// Number of finished calls; by rules 2, unless calls or outcomes are selected, plus one for
    /// each task that raised without a call.
    pub finished: Vec<u64>,
    /// Number of finished calls that were not ok; by the same rules including the last call of each
    /// task that raised, plus one for each that raised without a call.
    pub errors: Vec<u64>,
    /// Number of calls by outcome, unfinished ones included; only outcomes that occurred.
    pub outcomes: BTreeMap<Outcome, Vec<u64>>,
    /// Percentiles that were computed.
    pub percentiles: Vec<f64>,
    /// Response time in µs by percentile (`p50`, `p99_9`) and `max`; null when no call finished.
    pub response: BTreeMap<String, Vec<Option<u64>>>,
    /// Service time in µs by percentile and `max`; null when no call finished.
    pub service: BTreeMap<String, Vec<Option<u64>>>,
    /// The scenario's own metrics; null without any, and where agents, calls or outcomes are
    /// selected, which they are not recorded for.
    pub metrics: Option<MetricSeries>,
    /// Figures of the whole slice.
    pub total: SliceTotal,
}

/// Own metrics of a scenario over time, by name: each list has one value per bucket.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MetricSeries {
    /// Sum of what was added to a counter.
    pub counters: BTreeMap<String, Vec<f64>>,
    /// Share of true values of a rate in percent; null without values.
    pub rates: BTreeMap<String, Vec<Option<f64>>>,
    /// Values of a trend, in its own unit.
    pub trends: BTreeMap<String, TrendSeries>,
}

/// Values of a trend over time; null without values.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TrendSeries {
    /// Median.
    pub p50: Vec<Option<f64>>,
    /// 95th percentile.
    pub p95: Vec<Option<f64>>,
    /// Largest value.
    pub max: Vec<Option<f64>>,
}

/// Figures of a whole slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SliceTotal {
    /// Number of arrivals planned; null as in [`Series::planned`].
    pub planned: Option<u64>,
    /// Number of arrivals started.
    pub started: u64,
    /// Number of arrivals that agents dropped.
    pub dropped: u64,
    /// Number of finished calls; by rules 2, unless calls or outcomes are selected, plus one for
    /// each task that raised without a call.
    pub finished: u64,
    /// Number of finished calls that were not ok; by the same rules including the last call of each
    /// task that raised, plus one for each that raised without a call.
    pub errors: u64,
    /// Number of calls by outcome.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Response time; null when no call finished.
    pub response: Option<Ladder>,
    /// Service time; null when no call finished.
    pub service: Option<Ladder>,
    /// CO factor: corrected p99 / uncorrected p99; null in a closed loop and when no call finished.
    pub co_factor: Option<f64>,
}

/// Stored distributions of a slice: each list has one histogram per bucket of its series.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Histograms {
    /// Response times in µs.
    pub response: Vec<EncodedHistogram>,
    /// Service times in µs.
    pub service: Vec<EncodedHistogram>,
}

/// Heat map: finished calls by bucket and response time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Heat {
    /// Id of the run.
    pub run: RunId,
    /// Length of a tick of the log in µs.
    pub tick_us: u64,
    /// Length of a bucket in µs; the last bucket may be shorter.
    pub bucket_us: u64,
    /// Begin of each bucket, in µs after the start.
    pub from_us: Vec<u64>,
    /// Bounds of the bands in µs, four to each power of two: band b holds values from
    /// `bounds_us[b]` to below `bounds_us[b + 1]`. Empty when no call finished.
    pub bounds_us: Vec<u64>,
    /// Number of finished calls of each band, for each bucket.
    pub counts: Vec<Vec<u64>>,
}

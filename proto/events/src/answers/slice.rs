//! What part of a run somebody asks about, and the figures of it over time.
//!
//! Times are µs after the start, by due time, and whole ticks: rows know no more. Must never hold a
//! percentile that was not read from a merged histogram.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::latency::Ladder;
use crate::id::{AgentId, RunId};
use crate::log::outcome::Outcome;

/// Most values in one list of a slice.
pub const SLICE_NAMES_MAX: usize = 1_000;
/// Most percentiles that one answer has.
pub const SLICE_PERCENTILES_MAX: usize = 20;
/// Most buckets of one answer.
pub const SLICE_BUCKETS_MAX: u64 = 100_000;
/// Buckets that an answer has at most unless their length is asked for.
pub const SLICE_BUCKETS: u64 = 600;

/// A part of a run. What is absent leaves nothing out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// From this due time on: a whole number of ticks; absent: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_us: Option<u64>,
    /// Up to this due time, exclusive: a whole number of ticks; absent: the end of the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_us: Option<u64>,
    /// The grain of the answer: a whole number of ticks; absent: the least that gives no more than
    /// [`SLICE_BUCKETS`] buckets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket_us: Option<u64>,
    /// Of these tasks only, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<String>>,
    /// Of these calls only, by name: what is told of arrivals is that of their tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<String>>,
    /// What these agents did only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<AgentId>>,
    /// Calls that ended so only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<Vec<Outcome>>,
    /// Which percentiles are told, above 0 and up to 100; absent: 50, 95 and 99.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentiles: Option<Vec<f64>>,
    /// As the log was when the run's clock showed this; absent: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of_us: Option<u64>,
}

/// Figures of a slice, bucket by bucket: each list has one value a bucket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Of which run.
    pub run: RunId,
    /// The grain of the log in µs.
    pub tick_us: u64,
    /// The grain of this answer in µs; the last bucket may be shorter.
    pub bucket_us: u64,
    /// Where each bucket begins, in µs after the start.
    pub from_us: Vec<u64>,
    /// Arrivals planned; null where agents, calls or outcomes are picked out, which no plan knows.
    pub planned: Vec<Option<u64>>,
    /// Arrivals started.
    pub started: Vec<u64>,
    /// Arrivals dropped, for whatever reason, by agents.
    pub dropped: Vec<u64>,
    /// Finished calls; by rules 2 and unless calls or outcomes are picked out, also one for each
    /// task that raised without a call.
    pub finished: Vec<u64>,
    /// Finished calls that were not ok; by those rules also the last one of each task that raised,
    /// and one for each that raised without a call.
    pub errors: Vec<u64>,
    /// How calls ended, the unfinished ones too; only outcomes that happened.
    pub outcomes: BTreeMap<Outcome, Vec<u64>>,
    /// Which percentiles are told.
    pub percentiles: Vec<f64>,
    /// Response time in µs by percentile (`p50`, `p99_9`) and `max`; null when nothing finished.
    pub response: BTreeMap<String, Vec<Option<u64>>>,
    /// Service time, likewise.
    pub service: BTreeMap<String, Vec<Option<u64>>>,
    /// The whole slice as one.
    pub total: SliceTotal,
}

/// A whole slice as one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SliceTotal {
    /// Arrivals planned; null as in [`Series::planned`].
    pub planned: Option<u64>,
    /// Arrivals started.
    pub started: u64,
    /// Arrivals dropped by agents.
    pub dropped: u64,
    /// Finished calls; by rules 2 and unless calls or outcomes are picked out, also one for each
    /// task that raised without a call.
    pub finished: u64,
    /// Finished calls that were not ok; by those rules also the last one of each task that raised,
    /// and one for each that raised without a call.
    pub errors: u64,
    /// How calls ended.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Response time; null when nothing finished.
    pub response: Option<Ladder>,
    /// Service time.
    pub service: Option<Ladder>,
    /// Corrected p99 over uncorrected p99; null in a closed loop and when nothing finished.
    pub co_factor: Option<f64>,
}

/// How response times are spread over time: finished calls by bucket and latency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Heat {
    /// Of which run.
    pub run: RunId,
    /// The grain of the log in µs.
    pub tick_us: u64,
    /// The grain of this answer in µs; the last bucket may be shorter.
    pub bucket_us: u64,
    /// Where each bucket begins, in µs after the start.
    pub from_us: Vec<u64>,
    /// Edges of the bands of latency in µs, four to each power of two: band b holds what is at
    /// least `bounds_us[b]` and below `bounds_us[b + 1]`. Empty when nothing finished.
    pub bounds_us: Vec<u64>,
    /// For each bucket the finished calls of each band.
    pub counts: Vec<Vec<u64>>,
}

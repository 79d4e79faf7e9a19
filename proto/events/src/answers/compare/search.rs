//! A search for the highest rate at which a target works: its probes, its state, its result.
//!
//! Each probe is a run with a constant rate. The state of a search follows from its probes, in any
//! order, so that nothing else is stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::certificate::Grade;
use crate::answers::report::ThresholdResult;
use crate::id::RunId;
use crate::units::Rate;

/// Version of the format of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SearchSchema {
    /// The first version.
    #[serde(rename = "loadpilot.search/1")]
    V1,
}

/// What a search looks for, and how precisely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchSettings {
    /// Rate of the first probe, in millionths of an arrival per second.
    pub start_urps: Rate,
    /// Highest rate that is probed, in millionths of an arrival per second.
    pub limit_urps: Rate,
    /// Distance of the lowest rate that failed from the highest that passed, in millionths of the
    /// latter, at which the search ends.
    pub precision_ppm: u32,
    /// Number of further probes that the highest rate has to pass.
    pub confirm: u32,
}

/// A search before it is judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchProbes {
    /// Id of the search.
    pub id: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Target of the load.
    pub target_url: String,
    /// What it looks for.
    pub settings: SearchSettings,
    /// Its probes, in the order in which they were made.
    pub probes: Vec<Probe>,
}

/// A run of a search with the search that it belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeOfSearch {
    /// Id of the search.
    pub id: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Target of the load.
    pub target_url: String,
    /// What the search looks for.
    pub settings: SearchSettings,
    /// SHA-256 of the plan of the run, in lower-case hex.
    pub plan_hash: String,
    /// The probe.
    pub probe: Probe,
}

/// One run of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// Id of the run.
    pub run: RunId,
    /// Its planned rate, in millionths of an arrival per second.
    pub rate_urps: Rate,
    /// What it says about the rate.
    pub verdict: ProbeVerdict,
    /// Why it did not pass, as sentences for people. Empty: it passed.
    pub reasons: Vec<String>,
    /// What was the limit, where it failed.
    pub limited_by: Option<LoadLimit>,
    /// Started arrivals per second in the measured time.
    pub achieved_rps: f64,
    /// Median response time in ms; null when no call finished.
    pub p50_ms: Option<f64>,
    /// 95th percentile of the response time in ms; null when no call finished.
    pub p95_ms: Option<f64>,
    /// 99th percentile of the response time in ms; null when no call finished.
    pub p99_ms: Option<f64>,
    /// Errors in percent of finished calls; null without any.
    pub error_rate_pct: Option<f64>,
    /// Grade of the certificate.
    pub grade: Grade,
    /// Its gates, in the order of the plan.
    pub gates: Vec<ThresholdResult>,
}

/// What a probe says about its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeVerdict {
    /// The target works at this rate.
    Passed,
    /// It does not, or the load generator cannot offer it.
    Failed,
    /// Nothing: no server responded, so that the rate was not the reason.
    NoServer,
    /// Nothing: the run did not come to its end, users changed its rate, or too few calls ended.
    Unjudged,
}

/// What limits a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadLimit {
    /// The target.
    Target,
    /// The load generator: the target may do more.
    Generator,
}

/// Where a search stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchState {
    /// Another probe is needed.
    Searching,
    /// The highest rate is known and confirmed.
    Found,
    /// The limit of the search passed, and is confirmed.
    AtLimit,
    /// No rate passed.
    NoRate,
    /// The target passes and fails at the same rates: the search gave up.
    Unsettled,
}

/// Why a rate is probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbePurpose {
    /// It is the first.
    Start,
    /// All lower ones passed.
    Double,
    /// All higher ones failed.
    Halve,
    /// It lies between the highest that passed and the lowest that failed.
    Bisect,
    /// It is the highest that passed, and has to pass again.
    Confirm,
}

/// The next probe of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextProbe {
    /// Rate in millionths of an arrival per second.
    pub rate_urps: Rate,
    /// Why it is probed.
    pub purpose: ProbePurpose,
}

/// A search, as its probes say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Search {
    /// Version of this format.
    pub schema: SearchSchema,
    /// Id of the search.
    pub id: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Target of the load.
    pub target_url: String,
    /// What it looks for.
    pub settings: SearchSettings,
    /// Where it stands.
    pub state: SearchState,
    /// The next probe; null where none is needed.
    pub next: Option<NextProbe>,
    /// Maximum working rate in arrivals per second: it passed, it was confirmed, and it never
    /// failed. Null: it is not known, or there is none.
    pub max_rate_rps: Option<f64>,
    /// Highest rate that passed below every one that failed, in arrivals per second; null without
    /// one.
    pub lower_rps: Option<f64>,
    /// Lowest rate that failed, in arrivals per second; null without one.
    pub upper_rps: Option<f64>,
    /// What failed at that rate. Null: nothing failed.
    pub limited_by: Option<LoadLimit>,
    /// What a reader has to know besides, as sentences for people.
    pub remarks: Vec<String>,
    /// Its probes, in the order in which they were made.
    pub probes: Vec<Probe>,
}

/// Version of the format of a comparison of searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MaxRateSchema {
    /// The first version.
    #[serde(rename = "loadpilot.max-rate-comparison/1")]
    V1,
}

/// The maximum working rate of a search, for a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MaxRate {
    /// Id of the search.
    pub id: String,
    /// Its maximum working rate in arrivals per second; 0 where no rate passed. Null: it is not
    /// known.
    pub rate_rps: Option<f64>,
    /// Lowest rate that failed, in arrivals per second; null without one.
    pub upper_rps: Option<f64>,
}

/// The maximum working rate of a search beside that of an earlier one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MaxRateComparison {
    /// Version of this format.
    pub schema: MaxRateSchema,
    /// The search that is judged.
    pub current: MaxRate,
    /// The search that it is compared with.
    pub baseline: MaxRate,
    /// Decrease in percent from which on a lower rate is a regression.
    pub threshold_pct: f64,
    /// Difference in percent of the baseline; null where one of the rates is not known, or that of
    /// the baseline is 0.
    pub change_pct: Option<f64>,
    /// Whether the intervals from the maximum working rate to the lowest that failed overlap or
    /// touch.
    pub overlaps: bool,
    /// Why the searches cannot be compared, as sentences for people; then there is no judgement.
    pub obstacles: Vec<String>,
    /// What a reader has to know besides, as sentences for people.
    pub remarks: Vec<String>,
    /// Whether the rate is lower by more than the threshold, and the intervals do not overlap.
    /// False where there is an obstacle.
    pub regressed: bool,
}

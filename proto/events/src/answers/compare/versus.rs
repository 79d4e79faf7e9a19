//! A comparison of two targets that were under the same load at the same time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::arrival_counts::ArrivalCounts;
use crate::answers::certificate::Grade;
use crate::answers::compare::Change;
use crate::answers::latency::Ladder;
use crate::id::RunId;

/// Version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VersusSchema {
    /// The first version.
    #[serde(rename = "loadpilot.versus/1")]
    V1,
}

/// Two targets beside each other: every request of a run went to both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Versus {
    /// Version of this format.
    pub schema: VersusSchema,
    /// Id of the run.
    pub run: RunId,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the run.
    pub seed: u64,
    /// Grade of its certificate.
    pub grade: Grade,
    /// Number of parts of the measured time, of whole ticks, that the intervals are drawn from.
    pub parts: u32,
    /// Difference in percent up to which targets count as equal.
    pub threshold_pct: f64,
    /// Why the targets cannot be compared, as sentences for people; then there is no judgement.
    pub obstacles: Vec<String>,
    /// What a reader has to know besides, as sentences for people.
    pub remarks: Vec<String>,
    /// The first target, which the second is compared with, and the second.
    pub sides: [VersusSide; 2],
    /// Figures of the whole run, then of each task where there are several.
    pub figures: Vec<SideDifference>,
    /// Share of all pairs of one request to each target, in the same part of the run, of which the
    /// one to the second target took longer, in percent; equal ones count half. 50: none is slower.
    /// Null without requests.
    pub second_slower_pct: Option<f64>,
    /// Whether a latency, the error rate or the rate of the second target is worse, beyond the
    /// threshold and chance. False where there is an obstacle.
    pub is_worse: bool,
}

/// One target in the measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VersusSide {
    /// Name of the side.
    pub name: String,
    /// URL of the target.
    pub target: String,
    /// Number of its users in a closed loop; null where arrivals come on schedule.
    pub users: Option<u32>,
    /// Its arrivals in the whole run.
    pub arrivals: ArrivalCounts,
    /// Arrivals started per second.
    pub achieved_rps: f64,
    /// Number of finished requests.
    pub finished: u64,
    /// Number of errors.
    pub errors: u64,
    /// Percentage of finished requests that were errors.
    pub error_rate_pct: f64,
    /// Response time of its calls; null without any.
    pub response: Option<Ladder>,
    /// Bytes of requests.
    pub sent_bytes: u64,
    /// Bytes of responses.
    pub received_bytes: u64,
}

/// A figure of which two targets are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VersusFigure {
    /// Median response time in ms.
    P50Ms,
    /// 95th percentile of the response time in ms.
    P95Ms,
    /// 99th percentile of the response time in ms.
    P99Ms,
    /// Arithmetic mean of the response time in ms.
    MeanMs,
    /// Errors in percent of the finished calls.
    ErrorRatePct,
    /// Arrivals started per second, of a closed loop only: on schedule both targets have the same.
    AchievedRps,
}

impl VersusFigure {
    /// All figures, in the order in which they are shown.
    pub const ALL: [Self; 6] = [
        Self::P50Ms,
        Self::P95Ms,
        Self::P99Ms,
        Self::MeanMs,
        Self::ErrorRatePct,
        Self::AchievedRps,
    ];
}

/// One figure of the second target beside that of the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SideDifference {
    /// Name of the task; null for the whole run.
    pub task: Option<String>,
    /// The figure.
    pub figure: VersusFigure,
    /// Value of the first target; null without a value.
    pub first: Option<f64>,
    /// Value of the second target; null without a value.
    pub second: Option<f64>,
    /// Difference, second less first, in the unit of the figure.
    pub difference: Option<f64>,
    /// Interval of the difference at a confidence of 99 %. Null without enough parts.
    pub interval: Option<[f64; 2]>,
    /// Difference in percent of the first: the size of the effect. Null where that is absent or 0.
    pub change_pct: Option<f64>,
    /// Interval of that percentage at a confidence of 99 %. Null without enough parts.
    pub interval_pct: Option<[f64; 2]>,
    /// What the difference means for the second target.
    pub change: Change,
}

//! A comparison of runs: the data that it needs of each run, and its result.
//!
//! - [`search`]: the highest rate at which a target works, by many runs
//! - [`versus`]: two targets of one run

pub mod search;
pub mod versus;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::certificate::Grade;
use crate::id::RunId;
use crate::log::ctl::Ending;
use crate::log::delta::Phase;
use crate::log::hist::EncodedHistogram;

/// Maximum number of parts of the measured time.
pub const RUN_PARTS_MAX: u32 = 40;

/// Version of the format of run parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RunPartsSchema {
    /// The first version.
    #[serde(rename = "loadpilot.run-parts/1")]
    V1,
}

/// What a comparison needs of one run: its measured time in parts of equal length, whose spread
/// shows how far a figure varies within the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunParts {
    /// Version of this format.
    pub schema: RunPartsSchema,
    /// Id of the run.
    pub run: RunId,
    /// Name of the scenario.
    pub scenario: String,
    /// Target of the load.
    pub target: String,
    /// SHA-256 of the plan, in lower-case hex.
    pub plan_hash: String,
    /// How the run ended; null before its seal.
    pub ending: Option<Ending>,
    /// Grade of its certificate.
    pub grade: Grade,
    /// Whether a call reached a server; the latency of all others is that of the failure to.
    pub has_reached: bool,
    /// Figures of the whole run, then of each task in the order of the plan.
    pub groups: Vec<GroupParts>,
    /// Begin of the measured time, in µs after the start of the load.
    #[serde(default)]
    pub measured_from_us: u64,
    /// The highest rate of a level that the target held, in arrivals per second; 0 where it did not
    /// hold the lowest one. Null for a run with fewer than three different rates.
    #[serde(default)]
    pub held_rps: Option<f64>,
    /// Its calls, by task and name. A results file has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallParts>,
}

/// Figures of the whole run or of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupParts {
    /// Name of the task; null for the whole run.
    pub task: Option<String>,
    /// Parts of the measured time, in order. Of a results file there is one.
    pub parts: Vec<RunPart>,
}

/// Figures of one part of the measured time: of the arrivals that were due in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunPart {
    /// Length in µs.
    pub length_us: u64,
    /// Number of arrivals started.
    pub started: u64,
    /// Number of finished calls, plus one for each task that raised without a call: the whole of
    /// which `error_rate_pct` of a report is a share.
    pub finished: u64,
    /// Number of errors, counted as `errors_total` of a report.
    pub errors: u64,
    /// Distribution of the response time in µs.
    pub response: EncodedHistogram,
}

/// Response times and phases of one call of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallParts {
    /// Name of the task.
    pub task: String,
    /// Name of the call.
    pub call: String,
    /// Distribution of the response time in µs, in each part of the measured time.
    pub response: Vec<EncodedHistogram>,
    /// Distribution of the time in each phase in µs, in the whole measured time. Calls that had no
    /// such phase are not in it.
    pub phases: BTreeMap<Phase, EncodedHistogram>,
}

/// A figure that is compared.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ComparedFigure {
    /// Arrivals started per second.
    AchievedRps,
    /// Median response time in ms.
    P50Ms,
    /// 95th percentile of the response time in ms.
    P95Ms,
    /// 99th percentile of the response time in ms.
    P99Ms,
    /// Longest response time in ms. It is one call, and is not judged.
    MaxMs,
    /// Errors in percent of finished calls.
    ErrorRatePct,
    /// The highest rate of a level that the target held, in arrivals per second.
    HeldRps,
}

impl ComparedFigure {
    /// The figures of each part of a run, in the order in which they are shown.
    pub const ALL: [Self; 6] = [
        Self::AchievedRps,
        Self::P50Ms,
        Self::P95Ms,
        Self::P99Ms,
        Self::MaxMs,
        Self::ErrorRatePct,
    ];

    /// The percentage of a percentile that calls explain; `None` for another figure.
    #[must_use]
    pub fn percent(self) -> Option<f64> {
        match self {
            Self::P50Ms => Some(50.0),
            Self::P95Ms => Some(95.0),
            Self::P99Ms => Some(99.0),
            Self::AchievedRps | Self::MaxMs | Self::ErrorRatePct | Self::HeldRps => None,
        }
    }

    /// Whether a higher value is better.
    #[must_use]
    pub fn higher_is_better(self) -> bool {
        matches!(self, Self::AchievedRps | Self::HeldRps)
    }
}

/// What a difference means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Both values are equal.
    Equal,
    /// As large as differences that happen by chance.
    Noise,
    /// Not chance, and within the threshold.
    Small,
    /// Better, beyond the threshold and chance.
    Better,
    /// Worse, beyond the threshold and chance: a regression.
    Worse,
    /// The figure is shown only, or one of the values is absent.
    Unjudged,
}

/// One figure of the current run beside the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigureChange {
    /// Name of the task; null for the whole run.
    pub task: Option<String>,
    /// The figure.
    pub figure: ComparedFigure,
    /// Value of the baseline; of several runs the median. Null without a value.
    pub baseline: Option<f64>,
    /// Value of the current run; null without a value.
    pub current: Option<f64>,
    /// Difference in percent of the baseline; null where that is absent or 0.
    pub change_pct: Option<f64>,
    /// Difference in the unit of the figure: the range that holds 99 % of the differences between
    /// samples drawn again from the parts of both sides. Null without enough parts.
    pub interval: Option<[f64; 2]>,
    /// What the difference means.
    pub change: Change,
}

/// Version of the comparison format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ComparisonSchema {
    /// The first version.
    #[serde(rename = "loadpilot.comparison/1")]
    V1,
}

/// A run beside one or more earlier ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Version of this format.
    pub schema: ComparisonSchema,
    /// The run that is judged.
    pub current: RunId,
    /// The runs that it is compared with.
    pub baseline: Vec<RunId>,
    /// Difference in percent from which on a change for the worse is a regression.
    pub threshold_pct: f64,
    /// Why the runs cannot be compared, as sentences for people; then there is no judgement.
    pub obstacles: Vec<String>,
    /// What a reader has to know besides, as sentences for people.
    pub remarks: Vec<String>,
    /// Figures of the whole run, then of each task that both sides have.
    pub figures: Vec<FigureChange>,
    /// Whether a figure is worse, beyond the threshold and chance. False where there is an
    /// obstacle.
    pub regressed: bool,
    /// Where the change of each percentile comes from that is better or worse; those of a task only
    /// where the percentile of the whole run does not say the same. Empty without the calls of the
    /// runs.
    pub explained: Vec<Explanation>,
}

/// The change of a percentile, divided among calls. The contributions of the calls and of their mix
/// add up to the difference of the two values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Name of the task; null for the whole run.
    pub task: Option<String>,
    /// The percentile.
    pub figure: ComparedFigure,
    /// The run of the baseline beside which it is explained; of several the one whose value is
    /// nearest to their median.
    pub beside: RunId,
    /// Its value in ms.
    pub baseline_ms: f64,
    /// Value of the current run in ms.
    pub current_ms: f64,
    /// Contributions of the calls, the largest first.
    pub calls: Vec<CallShift>,
    /// Contribution of the mix in ms: of calls that became more or less frequent among all calls,
    /// or that only one of the runs has.
    pub mix_ms: f64,
}

/// The part of one call in the change of a percentile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallShift {
    /// Name of the task.
    pub task: String,
    /// Name of the call.
    pub call: String,
    /// Contribution in ms; of the opposite sign where this call changed the other way.
    pub ms: f64,
    /// Requests that moved beyond the better of the two values, in percent of all requests;
    /// negative where they moved below it.
    pub requests_pct: f64,
    /// The contribution by phase, in ms. Phases that changed the other way are left out.
    pub phases: BTreeMap<Phase, f64>,
    /// The rest of the contribution, in ms: time in no phase, such as that of a request which timed
    /// out before its first byte.
    pub other_ms: f64,
    /// When the requests that moved were due, from and to in µs after the start of the load; null
    /// for the whole measured time.
    pub during_us: Option<[u64; 2]>,
}

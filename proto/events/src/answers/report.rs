//! The report of a run: a fold of its log, closed. The results file *is* this type.
//!
//! Integers are µs and counts; the flat keys at the top keep the names, units and meaning that
//! earlier tools read (milliseconds, percent, per second). Latencies are corrected unless a name
//! says `service`. Must never hold a secret or anything that two folds of one log could disagree
//! about.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::answers::certificate::{Certificate, Finding, FindingKind, Grade};
pub use crate::answers::gaps::{Gaps, LostInterval, Quarantined};
pub use crate::answers::generator_health::GeneratorReport;
pub use crate::answers::latency::{Ladder, Latency, Omission, OmissionOrigin};
pub use crate::answers::streams::StreamReport;
pub use crate::answers::timeline::StoryLine;
pub use crate::log::metrics::{CounterReport, MetricsReport, RateReport, TrendReport};
pub use crate::plan::script::{Checks, FeedFacts, Raised, RaisedBy};

use crate::defaults::is_default;
use crate::id::{Holder, RunId};
use crate::log::assign::{Generation, LossReason, ShardMap};
use crate::log::cause::Cause;
use crate::log::ctl::{Ending, Unanswered};
use crate::log::delta::{Phase, TaskRaises};
use crate::log::evt::FailureCause;
use crate::log::exchange::ExchangeSeen;
use crate::log::outcome::{DropReason, Outcome};
use crate::log::steer::Steered;
use crate::plan::connections::Connections;
use crate::plan::threshold::{Metric, Operator};
use crate::plan::{Rest, Shape, Text};
use crate::refusal::Problem;
use crate::rules::Rules;
use crate::units::Timestamp;

/// The version of the report format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ReportSchema {
    /// The first one.
    #[serde(rename = "loadpilot.report/1")]
    V1,
}

/// What happened in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The version of this format.
    pub schema: ReportSchema,
    /// The scenario's name.
    pub scenario: String,
    /// Where the load went.
    pub target_url: String,
    /// The peak rate that was planned, per second.
    pub rps_target: f64,
    /// Started arrivals per second over the measured time (without warm-up).
    pub rps_actual: f64,
    /// Calls that ended, in the measured time.
    pub requests_total: u64,
    /// Finished calls that were not ok, in the measured time; by rules 2 also the last call of a
    /// task that raised, and one for each task that raised without a call.
    pub errors_total: u64,
    /// Errors in percent of finished calls, by rules 2 and of tasks that raised without a call;
    /// null when there were none of either.
    pub error_rate_pct: Option<f64>,
    /// Median response time in ms; null when nothing finished.
    pub p50_ms: Option<f64>,
    /// 95th percentile of the response time in ms.
    pub p95_ms: Option<f64>,
    /// 99th percentile of the response time in ms.
    pub p99_ms: Option<f64>,
    /// Longest response time in ms.
    pub max_ms: Option<f64>,
    /// Planned length of the run, or until it was stopped, in seconds.
    pub duration_secs: f64,

    /// What ran, when, and how it ended.
    pub run: RunFacts,
    /// Pass or fail of the thresholds.
    pub verdict: Verdict,
    /// Whether the run can be trusted at all.
    pub certificate: Certificate,
    /// Every planned arrival of the whole run, warm-up included.
    pub arrivals: ArrivalCounts,
    /// Every call of the whole run, warm-up included.
    pub calls: CallCounts,
    /// Offered against planned, in the measured time.
    pub rates: Rates,
    /// Latency of all finished calls in the measured time.
    pub latency: Latency,
    /// Answers by status code in the measured time.
    pub status: BTreeMap<u16, u64>,
    /// Bytes moved in the measured time.
    pub bytes: Bytes,
    /// What the warm-up left out.
    pub warm_up: WarmUp,
    /// Per task, in the order of the plan; calls, latency in the measured time.
    pub tasks: Vec<TaskReport>,
    /// Per due tick, warm-up included.
    pub series: Vec<TickReport>,
    /// How the generator itself fared.
    pub generator: GeneratorReport,
    /// Streamed answers of all tasks, in the measured time; null when there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamReport>,
    /// Arrivals of the measured time whose task raised an error; null when there were none, and by
    /// rules 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_raises: Option<TaskRaises>,
    /// Checks of all tasks, in the measured time; null when none looked at an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
    /// What the scenario measured itself, in the measured time; null when it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsReport>,
    /// What the log does not know.
    pub gaps: Gaps,
    /// Decisions and facts of the run in order, for people.
    pub story: Vec<StoryLine>,
    /// The first exchanges, where the plan asked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<ExchangeSeen>,
    /// SHA-256 in hex of the canonical JSON of this report with an empty digest.
    pub digest: String,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Asked for, not decided.
    Requested,
    /// Refused: nothing was started.
    Refused,
    /// Waiting for agents to offer.
    Gathering,
    /// Waiting for holders to be ready.
    Preparing,
    /// Scheduled or running.
    Running,
    /// Stopping: in-flight calls finish.
    Stopping,
    /// Over; the report is final.
    Sealed,
}

/// What ran, when, and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunFacts {
    /// Its id.
    pub id: RunId,
    /// Where it stands; anything but `sealed` and `refused` is an incomplete report.
    pub state: RunState,
    /// How it ended, once sealed.
    pub ending: Option<Ending>,
    /// Why it was refused or cancelled.
    pub refused: Vec<Problem>,
    /// SHA-256 of the plan's canonical JSON.
    pub plan_hash: String,
    /// By which rules it is judged. Absent: the first ones.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rules: Rules,
    /// Fixes, with the plan, every arrival.
    pub seed: u64,
    /// The shape of its profile.
    pub shape: Shape,
    /// Users of a closed loop, each starting its next task when its last one ended: its latency is
    /// not counted from a schedule. Absent: arrivals on schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<u32>,
    /// What they did between two tasks. Absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
    /// The length of its profile in µs.
    pub profile_us: u64,
    /// The grain of `series` in µs.
    pub tick_us: u64,
    /// Most arrivals in flight per agent that the plan allows; null: what each agent can hold.
    pub max_in_flight: Option<u32>,
    /// How the target was spoken to, where that is not the ordinary way.
    #[serde(default, skip_serializing_if = "is_default")]
    pub connections: Connections,
    /// What the scenario asked for by name, and what it was given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Text>,
    /// What people tell it from other runs by.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// The data of which its arrivals took rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feeds: Vec<FeedFacts>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it started, if it did.
    pub start_at: Option<Timestamp>,
    /// When it was stopped before its end, in µs after the start.
    pub stopped_at_us: Option<u64>,
    /// What was found where it was stopped because nothing answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<Unanswered>,
    /// What users changed while it ran, in order: its figures are not those of its plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steered: Vec<Steered>,
    /// What the first holder said that could not do its shards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Everybody who ever held shards.
    pub holders: Vec<HolderFacts>,
    /// The last assignment's number.
    pub generation: Generation,
    /// Who owned which shards when: the arrivals n with n mod shards in a list were the holder's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub maps: Vec<ShardMap>,
}

/// Why a holder could not do its shards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// What kind of reason it is.
    pub cause: FailureCause,
    /// Why, for people to read.
    pub reason: String,
}

/// What one process did in the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HolderFacts {
    /// Who.
    pub holder: Holder,
    /// The most shards it held at once.
    pub shards: u32,
    /// Arrivals it started.
    pub started: u64,
    /// Calls it ended.
    pub calls: u64,
    /// Deltas that were folded.
    pub deltas: u64,
    /// Whether it said its last words.
    pub finished: bool,
    /// Why it lost its shards, if it did.
    pub lost: Option<LossReason>,
    /// Its clock's distance from the coordinator's is known to within this many µs.
    pub clock_bound_us: Option<u64>,
    /// What it left when it was killed, as a later process of its agent reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<TailFacts>,
}

/// What a killed process left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TailFacts {
    /// Its calls that were in flight.
    pub indeterminate: u64,
    /// Why some of what it counted could not be read; null when all of it could.
    pub lost: Option<String>,
}

/// Pass or fail of the thresholds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Whether every threshold passed; a run without thresholds passes if it offered anything.
    pub passed: bool,
    /// One line per threshold, in the order of the plan.
    pub thresholds: Vec<ThresholdResult>,
    /// Why the verdict is a fail though no threshold failed (nothing was finished, …).
    pub reasons: Vec<String>,
}

/// How one threshold came out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdResult {
    /// As people write it.
    pub key: String,
    /// What was measured.
    pub metric: Metric,
    /// For one task only.
    pub task: Option<String>,
    /// Which side of the limit passes.
    pub operator: Operator,
    /// The limit.
    pub limit: f64,
    /// What was measured; null when there was nothing to measure, which never passes.
    pub actual: Option<f64>,
    /// Whether it passed.
    pub passed: bool,
    /// Why nothing was measured, where that needs words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Every planned arrival: `planned = started + Σ dropped + lost + waiting`. A closed loop plans
/// none: there `planned = started + Σ dropped` as reported, and what was not reported shows as
/// intervals in `gaps.lost`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalCounts {
    /// What the plan asked for, computed from the log and never summed from agents.
    pub planned: u64,
    /// Their first call was dispatched.
    pub started: u64,
    /// Never started, by reason.
    pub dropped: BTreeMap<DropReason, u64>,
    /// Held by somebody who did not report them: see `gaps.lost`.
    pub lost: u64,
    /// Not yet reported in a run that goes on; 0 once sealed.
    pub waiting: u64,
    /// Started, and not every call of it was ok, or it raised an error.
    pub task_errors: u64,
}

impl ArrivalCounts {
    /// All dropped arrivals.
    #[must_use]
    pub fn dropped_total(&self) -> u64 {
        self.dropped.values().sum()
    }
}

/// Every call: `attempted = Σ outcomes`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CallCounts {
    /// Calls that were dispatched.
    pub attempted: u64,
    /// How they ended.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Why those without a complete answer had none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub causes: BTreeMap<Outcome, BTreeMap<Cause, u64>>,
    /// In flight in a run that goes on; 0 once sealed.
    pub in_flight: u64,
}

/// Offered against planned, in the measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rates {
    /// Arrivals planned in the measured time; of a closed loop those reported.
    pub planned: u64,
    /// Arrivals started of those.
    pub started: u64,
    /// Length of the measured time in µs.
    pub measured_us: u64,
    /// Planned arrivals per second.
    pub planned_rps: f64,
    /// Started arrivals per second.
    pub achieved_rps: f64,
    /// How far started falls short of planned, in percent.
    pub shortfall_pct: f64,
}

/// Bytes moved.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Bytes {
    /// Written, headers included.
    pub sent: u64,
    /// Read, headers included where the engine sees them.
    pub received: u64,
    /// Read, per second of the measured time.
    pub received_per_sec: f64,
    /// Written, per second of the measured time.
    pub sent_per_sec: f64,
}

/// What the warm-up left out of thresholds, ladder, error rate and achieved rate.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// Its length in µs.
    pub warm_up_us: u64,
    /// Arrivals that were due in it.
    pub arrivals: u64,
    /// Calls of those that ended.
    pub calls: u64,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskReport {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: u32,
    /// Its arrivals in the whole run.
    pub arrivals: ArrivalCounts,
    /// Errors in the measured time, as in `errors_total`.
    pub errors: u64,
    /// Finished calls of it in the measured time, by rules 2 also one for each time that it raised
    /// without a call.
    pub finished: u64,
    /// Finished calls of it that had no connection over which a request could be sent, in the
    /// measured time. Absent: none, or judged by the first rules.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unconnected: u64,
    /// Its arrivals of the measured time that raised an error; null as in the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_raises: Option<TaskRaises>,
    /// Response time of all its calls, each on its own.
    pub response: Option<Ladder>,
    /// Service time of all its calls, each on its own.
    pub service: Option<Ladder>,
    /// Its streamed answers; null when it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamReport>,
    /// Its checks; null when none looked at an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
    /// What it measured itself; null when it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsReport>,
    /// What its checks and itself raised in Python, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raised: Vec<Raised>,
    /// Its calls, in order; those made in Python by name.
    pub calls: Vec<CallReport>,
}

/// One call of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallReport {
    /// Its name.
    pub name: String,
    /// How many times it was dispatched in the whole run, and how those ended.
    pub counts: CallCounts,
    /// Response time in the measured time.
    pub response: Option<Ladder>,
    /// Service time in the measured time.
    pub service: Option<Ladder>,
    /// Answers by status code in the measured time.
    pub status: BTreeMap<u16, u64>,
    /// Where its time went, in the measured time.
    pub anatomy: BTreeMap<Phase, Ladder>,
}

/// One due tick.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TickReport {
    /// Its number; it begins at `tick × tick_us` after the start.
    pub tick: u32,
    /// Arrivals planned.
    pub planned: u64,
    /// Arrivals started.
    pub started: u64,
    /// Arrivals dropped, for whatever reason, by agents.
    pub dropped: u64,
    /// Finished calls, as in [`TaskReport::finished`].
    pub finished: u64,
    /// Errors, as in `errors_total`.
    pub errors: u64,
    /// Median response time in µs; null when nothing finished.
    pub p50_us: Option<u64>,
    /// 90th percentile of the response time in µs.
    pub p90_us: Option<u64>,
    /// 95th percentile of the response time in µs.
    pub p95_us: Option<u64>,
    /// 99th percentile of the response time in µs.
    pub p99_us: Option<u64>,
    /// Longest response time in µs.
    pub max_us: Option<u64>,
}

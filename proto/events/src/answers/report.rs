//! The report of a run: the closed fold of its log. The results file contains this type.
//!
//! Integers are µs and counts; the flat keys at the top keep the names, units and meaning that
//! earlier tools read (milliseconds, percent, per second). Latencies are corrected unless a name
//! contains `service`. A report contains no secret, and two folds of one log give the same report.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::answers::arrival_counts::ArrivalCounts;
pub use crate::answers::certificate::{Certificate, Finding, FindingKind, Grade};
pub use crate::answers::gaps::{Gaps, LostInterval, Quarantined};
pub use crate::answers::generator_health::GeneratorReport;
pub use crate::answers::latency::{Ladder, Latency, Omission, OmissionOrigin};
pub use crate::answers::load_curve::{
    Knee, KneePoint, LevelLatency, LevelLimit, LoadCurve, LoadLevel, NoKnee,
};
pub use crate::answers::streams::StreamReport;
pub use crate::answers::timeline::StoryLine;
pub use crate::answers::user_types::UserTypeReport;
pub use crate::log::metrics::{CounterReport, MetricsReport, RateReport, TrendReport};
pub use crate::plan::script::{Checks, FeedFacts, Raised, RaisedBy, RowsUsedUp};

use crate::defaults::is_default;
use crate::id::{Holder, RunId};
use crate::log::assign::{Generation, LossReason, ShardMap};
use crate::log::cause::Cause;
use crate::log::ctl::{Ending, Unanswered};
use crate::log::delta::{Phase, TaskRaises};
use crate::log::evt::FailureCause;
use crate::log::exchange::ExchangeSeen;
use crate::log::outcome::Outcome;
use crate::log::req::Breach;
use crate::log::steer::Steered;
use crate::log::steer::hold::HoldWindow;
use crate::plan::connections::Connections;
use crate::plan::threshold::{Metric, Operator};
use crate::plan::{Rest, SessionLength, Shape, Text, UserStage};
use crate::refusal::Problem;
use crate::rules::Rules;
use crate::units::Timestamp;

/// Version of the report format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ReportSchema {
    /// The first version.
    #[serde(rename = "loadpilot.report/1")]
    V1,
}

/// Results of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Version of this format.
    pub schema: ReportSchema,
    /// Name of the scenario.
    pub scenario: String,
    /// Target of the load.
    pub target_url: String,
    /// Planned peak rate, in arrivals per second.
    pub rps_target: f64,
    /// Started arrivals per second over the measured time (without warm-up).
    pub rps_actual: f64,
    /// Number of calls that ended, in the measured time.
    pub requests_total: u64,
    /// Number of finished calls that were not ok, in the measured time. By rules 2 including the
    /// last call of each task that raised, plus one for each task that raised without a call.
    pub errors_total: u64,
    /// Errors in percent of finished calls; by rules 2 each task that raised without a call counts
    /// as one more finished call. Null without any.
    pub error_rate_pct: Option<f64>,
    /// Median response time in ms; null when no call finished.
    pub p50_ms: Option<f64>,
    /// 95th percentile of the response time in ms; null when no call finished.
    pub p95_ms: Option<f64>,
    /// 99th percentile of the response time in ms; null when no call finished.
    pub p99_ms: Option<f64>,
    /// Longest response time in ms; null when no call finished.
    pub max_ms: Option<f64>,
    /// Planned length of the run, or time until its stop, in seconds.
    pub duration_secs: f64,

    /// Identity, conditions and ending of the run.
    pub run: RunFacts,
    /// Pass or fail of the thresholds.
    pub verdict: Verdict,
    /// Whether the figures can be trusted.
    pub certificate: Certificate,
    /// Planned arrivals of the whole run, warm-up included.
    pub arrivals: ArrivalCounts,
    /// Calls of the whole run, warm-up included.
    pub calls: CallCounts,
    /// Offered against planned arrivals, in the measured time.
    pub rates: Rates,
    /// Latency of all finished calls in the measured time.
    pub latency: Latency,
    /// Number of responses by status code in the measured time.
    pub status: BTreeMap<u16, u64>,
    /// Bytes transferred in the measured time.
    pub bytes: Bytes,
    /// What the warm-up left out.
    pub warm_up: WarmUp,
    /// Results of each user type of a mix, in the order of the plan; calls and latency in the
    /// measured time. Absent: no mix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<UserTypeReport>,
    /// Results of each task, in the order of the plan; calls and latency in the measured time.
    pub tasks: Vec<TaskReport>,
    /// Results of each due tick, warm-up included.
    pub series: Vec<TickReport>,
    /// Latency by level of the load, and the knee; null when the plan holds fewer than two rates.
    /// Computed from the log, and outside of the digest: earlier versions did not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_curve: Option<LoadCurve>,
    /// The knee of the load curve as one object; null without a knee. Outside of the digest, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee_point: Option<KneePoint>,
    /// Health of the load generator.
    pub generator: GeneratorReport,
    /// Streamed responses of all tasks, in the measured time; null without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamReport>,
    /// Number of arrivals of the measured time that raised an error; null without any, and by rules
    /// 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_raises: Option<TaskRaises>,
    /// Checks of all tasks, in the measured time; null when no check examined a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
    /// Own metrics of the scenario, in the measured time; null without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsReport>,
    /// What the log does not contain, or contains and does not count.
    pub gaps: Gaps,
    /// Timeline: decisions and facts of the run in order, as text for people.
    pub story: Vec<StoryLine>,
    /// Debug exchanges, if the plan requests them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<ExchangeSeen>,
    /// SHA-256 of the canonical JSON of this report with an empty digest, in lower-case hex.
    pub digest: String,
}

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Requested, and not decided.
    Requested,
    /// Waiting until the shared fleet admits it.
    Waiting,
    /// Refused: nothing was started.
    Refused,
    /// Waiting for agents to offer capacity.
    Gathering,
    /// Waiting for holders to be ready.
    Preparing,
    /// Scheduled or running.
    Running,
    /// Stopping: calls in flight finish.
    Stopping,
    /// Over; the report is final.
    Sealed,
}

/// Identity, conditions and ending of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunFacts {
    /// Id of the run.
    pub id: RunId,
    /// State of the run; the report is complete only when `sealed` or `refused`.
    pub state: RunState,
    /// How it ended, once sealed.
    pub ending: Option<Ending>,
    /// Why it was refused or cancelled.
    pub refused: Vec<Problem>,
    /// SHA-256 of the plan's canonical JSON, in lower-case hex.
    pub plan_hash: String,
    /// Version of the rules by which the run is judged. Absent: rules 1.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rules: Rules,
    /// Random seed; with the plan it fixes every arrival.
    pub seed: u64,
    /// Shape of the profile.
    pub shape: Shape,
    /// Number of users of a closed loop, each of which starts its next task when its last one
    /// ended: latency is not counted from a schedule. Absent: arrivals on schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<u32>,
    /// Number of active users of that closed loop over time, of which `users` is the maximum.
    /// Absent: all are active for the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_stages: Option<Vec<UserStage>>,
    /// Think time of those users between two tasks. Absent: none, or a mix, whose types have their
    /// own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
    /// Length of the sessions of those users. Absent: each stays for the whole run, or a mix, whose
    /// types have their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionLength>,
    /// Length of the profile in µs; less where a feed without a row ends the run.
    pub profile_us: u64,
    /// Length of a tick of `series` in µs.
    pub tick_us: u64,
    /// Maximum number of arrivals in flight per agent by the plan; null: the agent's own default.
    pub max_in_flight: Option<u32>,
    /// Connection settings. Absent: the defaults.
    #[serde(default, skip_serializing_if = "is_default")]
    pub connections: Connections,
    /// Parameters that the scenario read when it was compiled, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Text>,
    /// Tags by which people distinguish runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Feeds of the scenario.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feeds: Vec<FeedFacts>,
    /// When the run was created.
    pub created_at: Timestamp,
    /// When the run started. Null: it did not.
    pub start_at: Option<Timestamp>,
    /// When the run was stopped before its end, in µs after the start. Null: it was not.
    pub stopped_at_us: Option<u64>,
    /// Feed without a row left, where it ended the run. Absent: no feed did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_used_up: Option<RowsUsedUp>,
    /// Gate whose breach stopped the run, at the request of `--abort-on-breach`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breach: Option<Breach>,
    /// Failed calls, where the run was stopped because no server responded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<Unanswered>,
    /// The rate that was held. Absent: the run holds no gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldRate>,
    /// Changes that users made while it ran, in order: its figures are not those of its plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steered: Vec<Steered>,
    /// Failure of the first holder that could not perform its shards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Every process that held shards.
    pub holders: Vec<HolderFacts>,
    /// Number of the last assignment.
    pub generation: Generation,
    /// Shard maps over time. A holder has the arrivals n whose `n mod shards` is in its list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub maps: Vec<ShardMap>,
}

/// Why a holder could not perform its shards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// Kind of the failure.
    pub cause: FailureCause,
    /// Why, as text for people.
    pub reason: String,
}

/// Work of one process in the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HolderFacts {
    /// The process.
    pub holder: Holder,
    /// Maximum number of shards that it held at once.
    pub shards: u32,
    /// Number of arrivals started.
    pub started: u64,
    /// Number of calls ended.
    pub calls: u64,
    /// Number of its deltas that were folded.
    pub deltas: u64,
    /// Whether it reported its final count.
    pub finished: bool,
    /// Why it lost its shards. Null: it did not.
    pub lost: Option<LossReason>,
    /// Maximum error of its clock's offset from the coordinator's, in µs.
    pub clock_bound_us: Option<u64>,
    /// Tail of a killed process, reported by a later process of its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<TailFacts>,
    /// Whether it is a development build, which runs slower than a release.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub development: bool,
}

/// Tail of a killed process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TailFacts {
    /// Number of its calls that were in flight.
    pub indeterminate: u64,
    /// Why some of its counts could not be read; null when all could.
    pub lost: Option<String>,
}

/// Pass or fail of the thresholds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Whether every threshold passed; a run without thresholds passes if it offered anything.
    pub passed: bool,
    /// Results of the thresholds, in the order of the plan.
    pub thresholds: Vec<ThresholdResult>,
    /// Why the verdict is a fail although no threshold failed (no call finished, …).
    pub reasons: Vec<String>,
}

/// Result of one threshold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdResult {
    /// Key as people write it.
    pub key: String,
    /// Metric that was measured.
    pub metric: Metric,
    /// Name of the task, or of the user type, that was measured. Null: the whole run.
    pub task: Option<String>,
    /// Which side of the limit passes.
    pub operator: Operator,
    /// Limit, in the unit of the metric.
    pub limit: f64,
    /// Measured value, in the unit of the metric; null without data, which never passes.
    pub actual: Option<f64>,
    /// Whether it passed.
    pub passed: bool,
    /// Why nothing was measured, as text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Calls: `attempted = Σ outcomes`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CallCounts {
    /// Number of calls dispatched.
    pub attempted: u64,
    /// Number of calls by outcome.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Number of calls without a complete response, by outcome and cause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub causes: BTreeMap<Outcome, BTreeMap<Cause, u64>>,
    /// Number of calls in flight in an unfinished run; 0 once sealed.
    pub in_flight: u64,
}

/// Offered against planned arrivals, in the measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rates {
    /// Number of arrivals planned; of a closed loop reported.
    pub planned: u64,
    /// Number of those that started.
    pub started: u64,
    /// Length of the measured time in µs.
    pub measured_us: u64,
    /// Planned arrivals per second.
    pub planned_rps: f64,
    /// Started arrivals per second.
    pub achieved_rps: f64,
    /// Share of planned arrivals that did not start, in percent.
    pub shortfall_pct: f64,
}

/// The highest rate at which the gates hold that a run holds, and how it was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldRate {
    /// The gates, such as `p99_ms <= 200`.
    pub gates: Vec<String>,
    /// The highest rate that passed, in arrivals per second, unless it failed later. Null: none.
    pub rps: Option<f64>,
    /// The lowest rate that failed, or what the target answered under more; null: none.
    pub failed_rps: Option<f64>,
    /// What was measured before each change of the rate, in order.
    pub steps: Vec<HoldWindow>,
}

/// Bytes transferred.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Bytes {
    /// Bytes written, headers included.
    pub sent: u64,
    /// Bytes read, headers included where the HTTP engine sees them.
    pub received: u64,
    /// Bytes read per second of the measured time.
    pub received_per_sec: f64,
    /// Bytes written per second of the measured time.
    pub sent_per_sec: f64,
}

/// Arrivals and calls of the warm-up. Thresholds, percentiles, error rate and achieved rate leave
/// them out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// Length of the warm-up in µs.
    pub warm_up_us: u64,
    /// Number of arrivals due in it.
    pub arrivals: u64,
    /// Number of calls of those that ended.
    pub calls: u64,
}

/// Results of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskReport {
    /// Name of the task.
    pub name: String,
    /// Weight of the task; in a mix among the tasks of its type.
    pub weight: u32,
    /// Its arrivals in the whole run.
    pub arrivals: ArrivalCounts,
    /// Number of errors in the measured time, counted as in `errors_total`.
    pub errors: u64,
    /// Number of its finished calls in the measured time; by rules 2 plus one for each time that it
    /// raised without a call.
    pub finished: u64,
    /// Number of its finished calls without a connection for a request, in the measured time.
    /// Absent: none, or rules 1.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unconnected: u64,
    /// Number of its arrivals of the measured time that raised an error; null without any, and by
    /// rules 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_raises: Option<TaskRaises>,
    /// Response time of its calls, each call by itself.
    pub response: Option<Ladder>,
    /// Service time of its calls, each call by itself.
    pub service: Option<Ladder>,
    /// Its streamed responses; null without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamReport>,
    /// Its checks; null when none examined a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
    /// Its own metrics; null without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsReport>,
    /// Errors that the task and its check raised in Python, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raised: Vec<Raised>,
    /// Calls in the order of the plan; those of a task in Python, by name.
    pub calls: Vec<CallReport>,
}

/// Results of one call of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallReport {
    /// Name of the call.
    pub name: String,
    /// Number of its calls in the whole run, by outcome.
    pub counts: CallCounts,
    /// Response time in the measured time.
    pub response: Option<Ladder>,
    /// Service time in the measured time.
    pub service: Option<Ladder>,
    /// Number of responses by status code in the measured time.
    pub status: BTreeMap<u16, u64>,
    /// Time by phase, in the measured time.
    pub anatomy: BTreeMap<Phase, Ladder>,
}

/// Results of one due tick.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TickReport {
    /// Number of the tick; it begins at `tick × tick_us` after the start.
    pub tick: u32,
    /// Number of arrivals planned.
    pub planned: u64,
    /// Number of arrivals started.
    pub started: u64,
    /// Number of arrivals that agents dropped, for any reason.
    pub dropped: u64,
    /// Number of finished calls, counted as in [`TaskReport::finished`].
    pub finished: u64,
    /// Number of errors, counted as in `errors_total`.
    pub errors: u64,
    /// Median response time in µs; null when no call finished.
    pub p50_us: Option<u64>,
    /// 90th percentile of the response time in µs; null when no call finished.
    pub p90_us: Option<u64>,
    /// 95th percentile of the response time in µs; null when no call finished.
    pub p95_us: Option<u64>,
    /// 99th percentile of the response time in µs; null when no call finished.
    pub p99_us: Option<u64>,
    /// Longest response time in µs; null when no call finished.
    pub max_us: Option<u64>,
}

//! A run judged again by other gates, or by another part of its time.
//!
//! Must never change what was measured: only what of it counts, and against which limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::certificate::Certificate;
use crate::answers::report::{ArrivalCounts, Latency, Rates, Verdict};
use crate::log::delta::TaskRaises;
use crate::plan::threshold::Threshold;
use crate::rules::Rules;

/// A question to the log of a run. What is absent stays as the plan has it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhatIf {
    /// The gates, as a plan has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thresholds: Option<Vec<Threshold>>,
    /// What is due before this is not judged; rounded up to a whole tick, as that of a plan is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_us: Option<u64>,
    /// What is due before this is not judged either: a whole number of ticks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_us: Option<u64>,
    /// Nor what is due from here on: a whole number of ticks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_us: Option<u64>,
    /// As the log was when the run's clock showed this; absent: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of_us: Option<u64>,
}

/// How the run would have been judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIfAnswer {
    /// Pass or fail of the gates.
    pub verdict: Verdict,
    /// Whether the run can be trusted at all.
    pub certificate: Certificate,
    /// Latency of all finished calls in the judged time.
    pub latency: Latency,
    /// Offered against planned, in the judged time.
    pub rates: Rates,
    /// Every planned arrival of the whole run, as in the report: gates of dropped arrivals look at
    /// all of them.
    pub arrivals: ArrivalCounts,
    /// Calls that ended, in the judged time.
    pub requests_total: u64,
    /// Errors in the judged time, as in the report.
    pub errors_total: u64,
    /// Errors in percent of finished calls, as in the report.
    #[serde(default)]
    pub error_rate_pct: Option<f64>,
    /// Arrivals of the judged time whose task raised an error; null when there were none. Of a log
    /// that does not tell how the calls before had ended, the least number that it proves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_raises: Option<TaskRaises>,
    /// By which rules it is judged here: always the newest.
    pub rules: Rules,
    /// By which rules its report is judged.
    pub rules_of_run: Rules,
    /// Where the judged time begins, in µs after the start.
    pub judged_from_us: u64,
    /// Where it ends.
    pub judged_to_us: u64,
    /// For each gate the due time, in µs after the start, from which on it did not hold any more
    /// over the judged time so far. Null where it holds in the end, and for gates that look at
    /// neither response time nor error rate.
    pub broke_at_us: Vec<Option<u64>>,
}

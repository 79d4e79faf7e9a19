//! A run judged by other thresholds, or over another part of its time.
//!
//! A what-if changes which measurements count and against which limits, never a measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::certificate::Certificate;
use crate::answers::report::{ArrivalCounts, Latency, Rates, Verdict};
use crate::log::delta::TaskRaises;
use crate::plan::threshold::Threshold;
use crate::rules::Rules;

/// Question how a run would have been judged. An absent field stays as in the plan.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhatIf {
    /// Thresholds, as in a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thresholds: Option<Vec<Threshold>>,
    /// Length of the warm-up in µs, rounded up to a whole tick as in a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_us: Option<u64>,
    /// Begin of the judged due time, in µs after the start: a whole number of ticks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_us: Option<u64>,
    /// End of the judged due time, exclusive, in µs after the start: a whole number of ticks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_us: Option<u64>,
    /// Instant of the run's clock, in µs after the start, whose state of the log is used. Absent:
    /// the whole log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of_us: Option<u64>,
}

/// How the run would have been judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIfAnswer {
    /// Pass or fail of the thresholds.
    pub verdict: Verdict,
    /// Whether the figures can be trusted.
    pub certificate: Certificate,
    /// Latency of all finished calls in the judged time.
    pub latency: Latency,
    /// Offered against planned arrivals, in the judged time.
    pub rates: Rates,
    /// Planned arrivals of the whole run, as in the report: thresholds on dropped arrivals use all
    /// of them.
    pub arrivals: ArrivalCounts,
    /// Number of calls that ended, in the judged time.
    pub requests_total: u64,
    /// Number of errors in the judged time, counted as in the report.
    pub errors_total: u64,
    /// Errors in percent of finished calls, as in the report.
    #[serde(default)]
    pub error_rate_pct: Option<f64>,
    /// Number of arrivals of the judged time that raised an error; null without any. Of a log
    /// without the outcomes of the calls before, the least number that it proves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_raises: Option<TaskRaises>,
    /// Version of the rules of this answer: always the newest.
    pub rules: Rules,
    /// Version of the rules of the run's report.
    pub rules_of_run: Rules,
    /// Begin of the judged time, in µs after the start.
    pub judged_from_us: u64,
    /// End of the judged time, in µs after the start.
    pub judged_to_us: u64,
    /// For each threshold the due time, in µs after the start, from which it no longer held over
    /// the judged time so far. Null for a threshold that holds in the end, and for one on neither
    /// response time nor error rate.
    pub broke_at_us: Vec<Option<u64>>,
}

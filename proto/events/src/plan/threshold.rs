//! Thresholds: what each measures, in which unit, and which side of the limit passes.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// A threshold names a figure of an own metric as the report of the metric does.
use crate::log::metrics::OwnMetric;

/// What a threshold measures. Latencies are corrected (counted from due) and cover every finished
/// call outside the warm-up, failures and timeouts included.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Median response time in ms.
    P50Ms,
    /// 75th percentile of the response time in ms.
    P75Ms,
    /// 90th percentile of the response time in ms.
    P90Ms,
    /// 95th percentile of the response time in ms.
    P95Ms,
    /// 99th percentile of the response time in ms.
    P99Ms,
    /// 99.9th percentile of the response time in ms.
    #[serde(rename = "p99_9_ms")]
    P999Ms,
    /// 99.99th percentile of the response time in ms.
    #[serde(rename = "p99_99_ms")]
    P9999Ms,
    /// Longest response time in ms.
    MaxMs,
    /// Arithmetic mean of the response time in ms.
    MeanMs,
    /// Median time from due to the first token of a streamed response, in ms.
    P50FirstTokenMs,
    /// 95th percentile of the time from due to the first token, in ms.
    P95FirstTokenMs,
    /// 99th percentile of the time from due to the first token, in ms.
    P99FirstTokenMs,
    /// Median time from one token of a streamed response to the next, in ms.
    P50TokenGapMs,
    /// 95th percentile of the time from one token to the next, in ms.
    P95TokenGapMs,
    /// 99th percentile of the time from one token to the next, in ms.
    P99TokenGapMs,
    /// Percentage of finished calls that were not ok. The last call of a task that raised counts as
    /// not ok; a task that raised without a call adds one such call.
    ErrorRate,
    /// Number of arrivals whose task raised an error.
    TaskErrors,
    /// Percentage of planned arrivals that were dropped, for any reason.
    DroppedRate,
    /// Percentage by which started arrivals fell short of planned ones.
    Shortfall,
    /// Started arrivals per second: more is better.
    AchievedRps,
    /// Percentage of checks that passed, of those that examined a response: more is better.
    Checks,
    /// Figure of an own metric, named by [`Threshold::own`].
    Own,
}

impl Metric {
    /// All built-in metrics, in the order in which help texts list them.
    pub const ALL: [Self; 21] = [
        Self::P50Ms,
        Self::P75Ms,
        Self::P90Ms,
        Self::P95Ms,
        Self::P99Ms,
        Self::P999Ms,
        Self::P9999Ms,
        Self::MaxMs,
        Self::MeanMs,
        Self::P50FirstTokenMs,
        Self::P95FirstTokenMs,
        Self::P99FirstTokenMs,
        Self::P50TokenGapMs,
        Self::P95TokenGapMs,
        Self::P99TokenGapMs,
        Self::ErrorRate,
        Self::TaskErrors,
        Self::DroppedRate,
        Self::Shortfall,
        Self::AchievedRps,
        Self::Checks,
    ];

    /// Key that people write and JSON stores.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::P50Ms => "p50_ms",
            Self::P75Ms => "p75_ms",
            Self::P90Ms => "p90_ms",
            Self::P95Ms => "p95_ms",
            Self::P99Ms => "p99_ms",
            Self::P999Ms => "p99_9_ms",
            Self::P9999Ms => "p99_99_ms",
            Self::MaxMs => "max_ms",
            Self::MeanMs => "mean_ms",
            Self::P50FirstTokenMs => "p50_first_token_ms",
            Self::P95FirstTokenMs => "p95_first_token_ms",
            Self::P99FirstTokenMs => "p99_first_token_ms",
            Self::P50TokenGapMs => "p50_token_gap_ms",
            Self::P95TokenGapMs => "p95_token_gap_ms",
            Self::P99TokenGapMs => "p99_token_gap_ms",
            Self::ErrorRate => "error_rate",
            Self::TaskErrors => "task_errors",
            Self::DroppedRate => "dropped_rate",
            Self::Shortfall => "shortfall",
            Self::AchievedRps => "achieved_rps",
            Self::Checks => "checks",
            Self::Own => "own",
        }
    }

    /// Whether the metric compares results with the plan. A closed loop plans nothing, so that such
    /// a threshold could pass there only by accident.
    #[must_use]
    pub fn needs_schedule(self) -> bool {
        matches!(self, Self::DroppedRate | Self::Shortfall)
    }

    /// Which side of the limit passes, unless a threshold has its own operator.
    #[must_use]
    pub fn operator(self) -> Operator {
        match self {
            Self::AchievedRps | Self::Checks => Operator::AtLeast,
            _ => Operator::AtMost,
        }
    }
}

/// Which side of the limit passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Operator {
    /// The measured value does not exceed the limit.
    #[serde(rename = "<=")]
    AtMost,
    /// The measured value reaches the limit.
    #[serde(rename = ">=")]
    AtLeast,
    /// The measured value is less than the limit.
    #[serde(rename = "<")]
    Below,
    /// The measured value is more than the limit.
    #[serde(rename = ">")]
    Above,
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
            Self::Below => "<",
            Self::Above => ">",
        })
    }
}

/// Limit on one measured figure of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// What is measured.
    pub metric: Metric,
    /// Name of the task, or of the user type, that is measured. Absent: the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Limit in milliseconds, percent or arrivals per second, depending on the metric; finite and ≥
    /// 0. Of an own metric: in its own unit, finite.
    pub limit: f64,
    /// Which side of the limit passes. Absent: the default of the metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<Operator>,
    /// Own metric and figure, if and only if `metric` is `own`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<OwnMetric>,
}

impl Threshold {
    /// Key as people write it: `p99_ms`, `browse:p99_ms` for one task, `cart_value.p95` for an own
    /// metric.
    #[must_use]
    pub fn key(&self) -> String {
        let metric = match &self.own {
            Some(own) => format!("{}.{}", own.name, own.figure.key()),
            None => self.metric.key().to_owned(),
        };
        match &self.task {
            Some(task) => format!("{task}:{metric}"),
            None => metric,
        }
    }

    /// Which side of the limit passes. Absent: the default of the metric.
    #[must_use]
    pub fn operator(&self) -> Operator {
        self.operator.unwrap_or_else(|| self.metric.operator())
    }
}

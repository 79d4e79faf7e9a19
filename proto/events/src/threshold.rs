//! Thresholds: what a gate measures, in which unit, and in which direction.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a threshold measures. Latencies are corrected (counted from due) and cover every finished
/// call outside the warm-up, failures and time-outs included.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "the names are the documentation; units are in the suffix"
)]
pub enum Metric {
    P50Ms,
    P75Ms,
    P90Ms,
    P95Ms,
    P99Ms,
    #[serde(rename = "p99_9_ms")]
    P999Ms,
    #[serde(rename = "p99_99_ms")]
    P9999Ms,
    MaxMs,
    MeanMs,
    /// From due to the first token of a streamed answer.
    P50FirstTokenMs,
    P95FirstTokenMs,
    P99FirstTokenMs,
    /// From one token of a streamed answer to the next.
    P50TokenGapMs,
    P95TokenGapMs,
    P99TokenGapMs,
    /// Percent of finished calls that were not ok.
    ErrorRate,
    /// Percent of planned arrivals that were dropped, for whatever reason.
    DroppedRate,
    /// Percent by which started arrivals fell short of planned ones.
    Shortfall,
    /// Started arrivals per second; the only metric where more is better.
    AchievedRps,
}

impl Metric {
    /// All metrics, in the order in which help texts list them.
    pub const ALL: [Self; 19] = [
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
        Self::DroppedRate,
        Self::Shortfall,
        Self::AchievedRps,
    ];

    /// The key that people write and JSON stores.
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
            Self::DroppedRate => "dropped_rate",
            Self::Shortfall => "shortfall",
            Self::AchievedRps => "achieved_rps",
        }
    }

    /// Whether it compares what was done with what was planned: a closed loop plans nothing, so
    /// that such a gate could pass there by accident only.
    #[must_use]
    pub fn needs_schedule(self) -> bool {
        matches!(self, Self::DroppedRate | Self::Shortfall)
    }

    /// Which side of the limit passes.
    #[must_use]
    pub fn operator(self) -> Operator {
        if self == Self::AchievedRps {
            Operator::AtLeast
        } else {
            Operator::AtMost
        }
    }
}

/// Which side of the limit passes; the limit itself passes too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Operator {
    /// The measured value must not exceed the limit.
    #[serde(rename = "<=")]
    AtMost,
    /// The measured value must reach the limit.
    #[serde(rename = ">=")]
    AtLeast,
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
        })
    }
}

/// One gate of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// What is measured.
    pub metric: Metric,
    /// For one task only; the whole run when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Milliseconds, percent or arrivals per second, as the metric says; finite and ≥ 0.
    pub limit: f64,
}

impl Threshold {
    /// The key as people write it: `p99_ms`, or `browse:p99_ms` for one task.
    #[must_use]
    pub fn key(&self) -> String {
        match &self.task {
            Some(task) => format!("{task}:{}", self.metric.key()),
            None => self.metric.key().to_owned(),
        }
    }
}

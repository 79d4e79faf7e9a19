//! What is read of metrics of a scenario's own: the figures that a report shows and a gate names.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A figure of a metric of the scenario's own.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Of a counter its sum; of a trend or a rate how many values it was given.
    Count,
    /// Of a counter its sum per second of the measured time; of a rate the percentage of true.
    Rate,
    /// The least value of a trend.
    Min,
    /// The arithmetic mean of a trend.
    Mean,
    /// Half of a trend's values are at most this.
    P50,
    /// 90 % of a trend's values are at most this.
    P90,
    /// 95 % of a trend's values are at most this.
    P95,
    /// 99 % of a trend's values are at most this.
    P99,
    /// The greatest value of a trend.
    Max,
}

impl Figure {
    /// All figures, in the order in which help texts list them.
    pub const ALL: [Self; 9] = [
        Self::Count,
        Self::Rate,
        Self::P50,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::Max,
        Self::Min,
        Self::Mean,
    ];

    /// The word behind the point that people write and JSON stores.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Rate => "rate",
            Self::Min => "min",
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::Max => "max",
        }
    }
}

/// A figure of a metric of the scenario's own, as a threshold names it: `cart_value.p95`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnMetric {
    /// The metric.
    pub name: String,
    /// What of it.
    pub figure: Figure,
}

/// What a scenario measured itself in the measured time, by name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MetricsReport {
    /// Its counters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, CounterReport>,
    /// Its trends.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trends: BTreeMap<String, TrendReport>,
    /// Its rates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<String, RateReport>,
}

/// One counter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterReport {
    /// The sum of what was added, each to a millionth.
    pub count: f64,
    /// That, per second of the measured time.
    pub rate: f64,
}

/// One trend: its values to four significant digits, in the unit of the scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendReport {
    /// How many values; at least one.
    pub count: u64,
    /// The least.
    pub min: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// 50 %.
    pub p50: f64,
    /// 90 %.
    pub p90: f64,
    /// 95 %.
    pub p95: f64,
    /// 99 %.
    pub p99: f64,
    /// The greatest.
    pub max: f64,
}

/// One rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateReport {
    /// How many values; at least one.
    pub count: u64,
    /// How many of them were true.
    pub trues: u64,
    /// That, in percent.
    pub rate: f64,
}

//! Figures of own metrics, as reports show them and thresholds name them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figure of an own metric.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Sum of a counter; number of values of a trend or a rate.
    Count,
    /// Sum of a counter per second of the measured time; percentage of true values of a rate.
    Rate,
    /// Smallest value of a trend.
    Min,
    /// Arithmetic mean of a trend.
    Mean,
    /// Median of a trend.
    P50,
    /// 90th percentile of a trend.
    P90,
    /// 95th percentile of a trend.
    P95,
    /// 99th percentile of a trend.
    P99,
    /// Largest value of a trend.
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

    /// Name of the figure after the point, as people write it and JSON stores it.
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

/// Figure of an own metric, as a threshold names it: `cart_value.p95`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnMetric {
    /// Name of the metric.
    pub name: String,
    /// Figure of the metric.
    pub figure: Figure,
}

/// Own metrics of a scenario in the measured time, by name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MetricsReport {
    /// Counters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, CounterReport>,
    /// Trends.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trends: BTreeMap<String, TrendReport>,
    /// Rate metrics.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<String, RateReport>,
}

/// One counter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterReport {
    /// Sum of the amounts added, each to a millionth.
    pub count: f64,
    /// Sum per second of the measured time.
    pub rate: f64,
}

/// One trend: its values to four significant digits, in the unit of the scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendReport {
    /// Number of values; at least 1.
    pub count: u64,
    /// Smallest value.
    pub min: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest value.
    pub max: f64,
}

/// One rate metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateReport {
    /// Number of values; at least 1.
    pub count: u64,
    /// Number of true values.
    pub trues: u64,
    /// Share of true values, in percent.
    pub rate: f64,
}

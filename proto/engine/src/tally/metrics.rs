//! Metrics of a scenario: counted, merged, written into rows and read from them, closed into
//! figures.
//!
//! Sums are of whole numbers, so that adding, in any order and grouping, gives the same. Must never
//! add up floats before the report is closed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use loadpilot_events::log::metrics::{
    Added, CounterReport, Figure, MetricRow, MetricValue, MetricsReport, OwnMetric, RateReport,
    Rounded, TrendReport,
};
use serde::{Deserialize, Serialize};

use crate::tally::ratio::percent;
use crate::tally::row_key::RowKey;

/// Maximum number of values of a trend in one row, so that a row fits into a delta.
const ROW_VALUES_MAX: usize = 4_096;
/// Maximum number of metrics that a message lists when one is unknown.
const NAMES_LISTED_MAX: usize = 20;
/// Number of millionths in one.
const MILLION: u128 = 1_000_000;

/// Sums of metrics, by name. The same name may be of two kinds if agents disagree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct MetricSums {
    /// In millionths.
    counters: BTreeMap<Arc<str>, u128>,
    trends: BTreeMap<Arc<str>, BTreeMap<Rounded, u64>>,
    rates: BTreeMap<Arc<str>, RateSums>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct RateSums {
    count: u64,
    trues: u64,
}

/// As rows in JSON; their tick and task are unused.
impl From<MetricSums> for String {
    fn from(sums: MetricSums) -> Self {
        let rows = sums.rows(RowKey {
            tick: 0,
            generation: 0,
            task: 0,
        });
        serde_json::to_string(&rows).expect("rows have a JSON form")
    }
}

impl TryFrom<String> for MetricSums {
    type Error = String;

    fn try_from(rows: String) -> Result<Self, String> {
        let rows: Vec<MetricRow> = serde_json::from_str(&rows).map_err(|e| e.to_string())?;
        let mut sums = Self::default();
        for row in &rows {
            sums.add(&Self::of_row(row)?);
        }
        Ok(sums)
    }
}

impl MetricSums {
    /// Adds one value.
    pub fn record(&mut self, name: &Arc<str>, value: MetricValue) {
        match value {
            MetricValue::Counter(amount) => {
                *of(&mut self.counters, name) += u128::from(amount.count());
            }
            MetricValue::Trend(value) => {
                *of(&mut self.trends, name).entry(value).or_default() += 1;
            }
            MetricValue::Rate(is_true) => {
                let sums = of(&mut self.rates, name);
                sums.count += 1;
                sums.trues += u64::from(is_true);
            }
        }
    }

    /// Adds `more`.
    pub fn add(&mut self, more: &Self) {
        for (name, millionths) in &more.counters {
            let sum = of(&mut self.counters, name);
            *sum = sum.saturating_add(*millionths);
        }
        for (name, values) in &more.trends {
            let sum = of(&mut self.trends, name);
            for (value, count) in values {
                let sum = sum.entry(*value).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
        for (name, more) in &more.rates {
            let sum = of(&mut self.rates, name);
            sum.count = sum.count.saturating_add(more.count);
            sum.trues = sum.trues.saturating_add(more.trues);
        }
    }

    /// The sums of a row.
    ///
    /// # Errors
    /// A value that no agent writes.
    pub fn of_row(row: &MetricRow) -> Result<Self, String> {
        let mut sums = Self::default();
        let name = Arc::from(row.name.as_str());
        match &row.added {
            Added::Counter { whole, millionths } => {
                let sum = u128::from(*whole) * MILLION + u128::from(*millionths);
                sums.counters.insert(name, sum);
            }
            Added::Trend { values } => {
                let of_trend = sums.trends.entry(name).or_default();
                for one in values {
                    let Some(value) = one.value() else {
                        return Err(format!("{one:?} is no value of a trend"));
                    };
                    let sum = of_trend.entry(value).or_default();
                    *sum = sum.saturating_add(one.2);
                }
            }
            &Added::Rate { count, trues } => {
                sums.rates.insert(name, RateSums { count, trues });
            }
        }
        Ok(sums)
    }

    /// The sums as rows: one for each metric, more where a trend has many values.
    #[must_use]
    pub fn rows(&self, key: RowKey) -> Vec<MetricRow> {
        let counters = self.counters.iter().map(|(name, sum)| {
            let added = Added::Counter {
                whole: u64::try_from(sum / MILLION).unwrap_or(u64::MAX),
                millionths: u32::try_from(sum % MILLION).unwrap_or_default(),
            };
            (name, added)
        });
        let trends = self.trends.iter().flat_map(|(name, values)| {
            let values = values.iter().map(|(value, count)| value.times(*count));
            let values: Vec<_> = values.collect();
            let rows = values.chunks(ROW_VALUES_MAX).map(|values| Added::Trend {
                values: values.to_vec(),
            });
            let rows: Vec<_> = rows.map(|added| (name, added)).collect();
            rows
        });
        let rates = self.rates.iter().map(|(name, &RateSums { count, trues })| {
            let added = Added::Rate { count, trues };
            (name, added)
        });
        let all = counters.chain(trends).chain(rates);
        let row = |(name, added): (&Arc<str>, Added)| MetricRow {
            tick: key.tick,
            generation: key.generation,
            task: key.task,
            name: name.to_string(),
            added,
        };
        all.map(row).collect()
    }

    /// The figures over `measured_us`; `None` when nothing was added.
    #[must_use]
    pub fn report(&self, measured_us: u64) -> Option<MetricsReport> {
        if *self == Self::default() {
            return None;
        }
        let counters = self.counters.iter().map(|(name, &sum)| {
            let count = as_units(sum);
            let rate = per_second(count, measured_us);
            (name.to_string(), CounterReport { count, rate })
        });
        let trends = self.trends.iter().filter_map(|(name, values)| {
            let trend = trend(values)?;
            Some((name.to_string(), trend))
        });
        let rates = self.rates.iter().map(|(name, &RateSums { count, trues })| {
            let rate = percent(trues, count);
            (name.to_string(), RateReport { count, trues, rate })
        });
        Some(MetricsReport {
            counters: counters.collect(),
            trends: trends.collect(),
            rates: rates.collect(),
        })
    }
}

/// The sums of a metric.
fn of<'s, S: Default>(sums: &'s mut BTreeMap<Arc<str>, S>, name: &Arc<str>) -> &'s mut S {
    sums.entry(Arc::clone(name)).or_default()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a sum for people and thresholds"
)]
fn as_units(millionths: u128) -> f64 {
    match millionths.is_multiple_of(MILLION) {
        true => (millionths / MILLION) as f64,
        false => millionths as f64 / 1e6,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a rate for people and thresholds"
)]
fn per_second(count: f64, us: u64) -> f64 {
    match us {
        0 => 0.0,
        us => count * 1e6 / us as f64,
    }
}

/// The figures of a trend. Nearest-rank percentiles: the smallest value that at least p % of the
/// values do not exceed.
fn trend(values: &BTreeMap<Rounded, u64>) -> Option<TrendReport> {
    let mut values: Vec<(f64, u64)> = values
        .iter()
        .map(|(value, count)| (value.value(), *count))
        .collect();
    values.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let total: u128 = values.iter().map(|(_, count)| u128::from(*count)).sum();
    let (&(min, _), &(max, _)) = (values.first()?, values.last()?);
    let point = |percent: u128| {
        let rank = (total * percent).div_ceil(100);
        let mut seen = 0;
        let found = values.iter().find(|(_, count)| {
            seen += u128::from(*count);
            seen >= rank
        });
        found.map_or(max, |(value, _)| *value)
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "a mean for people and thresholds"
    )]
    let mean = {
        let sum: f64 = values.iter().map(|(value, n)| value * *n as f64).sum();
        (sum / total as f64).clamp(min, max)
    };
    Some(TrendReport {
        count: u64::try_from(total).unwrap_or(u64::MAX),
        min,
        mean,
        p50: point(50),
        p90: point(90),
        p95: point(95),
        p99: point(99),
        max,
    })
}

/// The figure of a threshold.
///
/// # Errors
/// Why it was not measured, in words.
pub fn figure(own: &OwnMetric, measured: Option<&MetricsReport>) -> Result<f64, String> {
    let nothing = MetricsReport::default();
    let measured = measured.unwrap_or(&nothing);
    let OwnMetric { name, figure } = own;
    let counter = measured.counters.get(name);
    let trend = measured.trends.get(name);
    let rate = measured.rates.get(name);
    let lacks = |kind: &str, figures: &str| {
        Err(format!(
            "{name} is a {kind}: it has {figures}, and no {}",
            figure.key()
        ))
    };
    match (counter, trend, rate) {
        (None, None, None) => Err(never_added(name, measured)),
        (Some(counter), None, None) => match figure {
            Figure::Count => Ok(counter.count),
            Figure::Rate => Ok(counter.rate),
            _ => lacks("counter", "count and rate"),
        },
        (None, Some(trend), None) => {
            let of_trend = of_trend(*figure, trend);
            of_trend.map_or_else(
                || lacks("trend", "count, min, mean, p50 to p99 and max"),
                Ok,
            )
        }
        (None, None, Some(rate)) => match figure {
            Figure::Rate => Ok(rate.rate),
            #[expect(clippy::cast_precision_loss, reason = "compared with a limit")]
            Figure::Count => Ok(rate.count as f64),
            _ => lacks("rate", "rate and count"),
        },
        _ => Err(format!("{name} was used as metrics of more than one kind")),
    }
}

fn of_trend(figure: Figure, trend: &TrendReport) -> Option<f64> {
    Some(match figure {
        #[expect(clippy::cast_precision_loss, reason = "compared with a limit")]
        Figure::Count => trend.count as f64,
        Figure::Rate => return None,
        Figure::Min => trend.min,
        Figure::Mean => trend.mean,
        Figure::P50 => trend.p50,
        Figure::P90 => trend.p90,
        Figure::P95 => trend.p95,
        Figure::P99 => trend.p99,
        Figure::Max => trend.max,
    })
}

fn never_added(name: &str, measured: &MetricsReport) -> String {
    let counters = measured.counters.keys();
    let names = counters
        .chain(measured.trends.keys())
        .chain(measured.rates.keys());
    let names: BTreeSet<&str> = names.map(String::as_str).collect();
    let shown: Vec<&str> = names.iter().copied().take(NAMES_LISTED_MAX).collect();
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match shown.is_empty() {
        true => format!("nothing was added to {name} outside the warm-up, nor to any other metric"),
        false => format!(
            "nothing was added to {name} outside the warm-up, only to {}{more}",
            shown.join(", ")
        ),
    }
}

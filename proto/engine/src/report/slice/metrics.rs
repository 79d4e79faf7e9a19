//! The scenario's own metrics of a slice over time.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_events::answers::slice::{MetricSeries, TrendSeries};
use loadpilot_events::log::metrics::{MetricsReport, TrendReport};

use super::Query;
use super::indexed::Indexed;
use super::selection::Selection;
use crate::tally::metrics::MetricSums;

/// The metrics in each bucket of the query; `None` where there are none, or where the query selects
/// what metrics are not recorded for.
pub(super) fn metrics(
    run: Indexed<'_>,
    query: &Query,
    selection: &Selection,
) -> Option<MetricSeries> {
    let reports = query.buckets().map(|ticks| {
        let mut sums = MetricSums::default();
        for (task, more) in run.index.metrics(ticks) {
            if selection.wants_metrics_of(task) {
                sums.add(more);
            }
        }
        sums.report(query.bucket_us()).unwrap_or_default()
    });
    let reports: Vec<MetricsReport> = reports.collect();
    let counters = names(&reports, |report| &report.counters).map(|name| {
        let sums = column(&reports, |report| Some(report.counters.get(name)?.count));
        let sums = sums.into_iter().map(Option::unwrap_or_default);
        (name.clone(), sums.collect())
    });
    let rates = names(&reports, |report| &report.rates).map(|name| {
        let shares = column(&reports, |report| Some(report.rates.get(name)?.rate));
        (name.clone(), shares)
    });
    let trends = names(&reports, |report| &report.trends).map(|name| {
        let figure = |get: fn(&TrendReport) -> f64| {
            column(&reports, |report| report.trends.get(name).map(get))
        };
        let trend = TrendSeries {
            p50: figure(|trend| trend.p50),
            p95: figure(|trend| trend.p95),
            max: figure(|trend| trend.max),
        };
        (name.clone(), trend)
    });
    let series = MetricSeries {
        counters: counters.collect(),
        rates: rates.collect(),
        trends: trends.collect(),
    };
    (series != MetricSeries::default()).then_some(series)
}

/// The names of all metrics of one kind.
fn names<'a, V>(
    reports: &'a [MetricsReport],
    of_kind: fn(&'a MetricsReport) -> &'a BTreeMap<String, V>,
) -> impl Iterator<Item = &'a String> {
    let names = reports
        .iter()
        .flat_map(move |report| of_kind(report).keys());
    let names: BTreeSet<&String> = names.collect();
    names.into_iter()
}

/// One figure of each bucket.
fn column(
    reports: &[MetricsReport],
    figure: impl Fn(&MetricsReport) -> Option<f64>,
) -> Vec<Option<f64>> {
    reports.iter().map(figure).collect()
}

//! Figures of a part of a run over time, from its index.
//!
//! A query is checked against the run first; nothing is rounded or left out silently. Must never
//! read a percentile anywhere but in [`crate::report::figures::percentiles`].
//!
//! - `indexed`: a run, folded and indexed
//! - `query`: a slice, checked against its run
//! - `selection`: the entries of an index that a query is about
//! - `metrics`: the scenario's own metrics over time
//! - `histograms`: distributions of a slice, whole or by bucket
//! - `histogram_log`, `percentile_text`: distributions as text for other tools

mod histogram_log;
mod histograms;
mod indexed;
mod metrics;
mod percentile_text;
mod query;
mod selection;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use loadpilot_events::answers::slice::{Heat, Series, Slice, SliceTotal};
use loadpilot_events::log::delta::TaskRaises;
use loadpilot_events::log::hist::Hist;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::refusal::Refusal;

use crate::fold::index::{Entry, Key};
use crate::report::figures::percentiles::{co_factor, ladder, percentile_us};
use crate::tally::packed_histogram::{HistogramSum, Precision};

pub use histogram_log::histogram_log;
pub use histograms::{LatencyKind, histogram, histograms, percentile_of};
pub use indexed::Indexed;
pub use percentile_text::{distribution_text, percentile_text};
pub use query::Query;
pub(crate) use query::whole_ticks;
pub(crate) use selection::{CallPlaces, Selection};

/// The sums of one bucket.
pub(crate) struct Bucket {
    started: u64,
    dropped: u64,
    raises: TaskRaises,
    outcomes: BTreeMap<Outcome, u64>,
    response: HistogramSum,
    service: HistogramSum,
}

impl Bucket {
    pub(crate) fn new() -> Self {
        Self {
            started: 0,
            dropped: 0,
            raises: TaskRaises::default(),
            outcomes: BTreeMap::new(),
            response: HistogramSum::new(Precision::Latency),
            service: HistogramSum::new(Precision::Latency),
        }
    }

    pub(crate) fn add(&mut self, entry: &Entry<'_>) {
        match entry.key {
            Key::Arrivals { .. } => {
                self.started += entry.count;
                self.dropped += entry.dropped;
            }
            Key::Calls { outcome, .. } => {
                *self.outcomes.entry(outcome).or_default() += entry.count;
                if outcome.is_finished() {
                    self.response.add(entry.response());
                    self.service.add(entry.service());
                }
            }
            Key::Raises { last, .. } => self.raises.count(last, entry.count),
            Key::Phase { .. } => {}
        }
    }

    pub(crate) fn started(&self) -> u64 {
        self.started
    }

    pub(crate) fn response(&self) -> Hist {
        self.response.hist()
    }

    pub(crate) fn finished(&self) -> u64 {
        self.count(Outcome::is_finished) + self.raises.without_call
    }

    pub(crate) fn errors(&self) -> u64 {
        self.count(Outcome::is_error) + self.raises.more_errors()
    }

    fn count(&self, select: impl Fn(Outcome) -> bool) -> u64 {
        let selected = self
            .outcomes
            .iter()
            .filter(|(outcome, _)| select(**outcome));
        selected.map(|(_, count)| count).sum()
    }
}

/// A series being built.
struct Rows {
    series: Series,
    total: Bucket,
}

/// The figures of a slice over time.
///
/// # Errors
/// All problems of the slice.
pub fn series(run: Indexed<'_>, slice: &Slice) -> Result<Series, Refusal> {
    let query = Query::of(run, slice)?;
    let selection = Selection::new(run, &query);
    let offered = run.offered();
    let mut rows = Rows::new(run, &query);
    for ticks in query.buckets() {
        let mut bucket = Bucket::new();
        run.index.walk(ticks.clone(), |entry| {
            if selection.wants(&entry.key) {
                bucket.add(&entry);
            }
        });
        let planned = offered.as_ref().and_then(|offered| {
            let planned = selection.planned(&query, offered, ticks.clone());
            planned.map(|planned| planned.unwrap_or(bucket.started + bucket.dropped))
        });
        rows.push(&query, ticks.start, planned, bucket);
    }
    rows.series.metrics = metrics::metrics(run, &query, &selection);
    let is_closed_loop = offered.is_some_and(|offered| offered.workload.users().is_some());
    Ok(rows.close(is_closed_loop))
}

impl Rows {
    fn new(run: Indexed<'_>, query: &Query) -> Self {
        let points = || {
            let names = query.percentiles.iter().map(|percent| rung(*percent));
            let names = names.chain(["max".to_owned()]);
            names.map(|name| (name, Vec::new())).collect()
        };
        let total = SliceTotal {
            planned: Some(0),
            started: 0,
            dropped: 0,
            finished: 0,
            errors: 0,
            outcomes: BTreeMap::new(),
            response: None,
            service: None,
            co_factor: None,
        };
        let series = Series {
            run: run.control.run.clone(),
            tick_us: query.tick_us,
            bucket_us: query.bucket_us(),
            from_us: Vec::new(),
            planned: Vec::new(),
            started: Vec::new(),
            dropped: Vec::new(),
            finished: Vec::new(),
            errors: Vec::new(),
            outcomes: BTreeMap::new(),
            percentiles: query.percentiles.clone(),
            response: points(),
            service: points(),
            metrics: None,
            total,
        };
        Self {
            series,
            total: Bucket::new(),
        }
    }

    fn push(&mut self, query: &Query, tick: u32, planned: Option<u64>, bucket: Bucket) {
        let (series, total) = (&mut self.series, &mut self.total);
        let before = series.from_us.len();
        series.from_us.push(u64::from(tick) * query.tick_us);
        series.planned.push(planned);
        let sum = series.total.planned.zip(planned);
        series.total.planned = sum.map(|(sum, planned)| sum + planned);
        series.started.push(bucket.started);
        series.dropped.push(bucket.dropped);
        series.finished.push(bucket.finished());
        series.errors.push(bucket.errors());
        for &outcome in bucket.outcomes.keys() {
            let row = series.outcomes.entry(outcome);
            row.or_insert_with(|| vec![0; before]);
        }
        for (outcome, row) in &mut series.outcomes {
            row.push(bucket.outcomes.get(outcome).copied().unwrap_or(0));
        }
        let sides = [&mut series.response, &mut series.service];
        for (side, counts) in sides.into_iter().zip([&bucket.response, &bucket.service]) {
            let hist = counts.hist();
            for (percent, name) in query.percentiles.iter().map(|p| (*p, rung(*p))) {
                side.entry(name).or_default().push(point(&hist, percent));
            }
            let max = side.entry("max".to_owned()).or_default();
            max.push(point(&hist, 100.0));
        }
        total.started += bucket.started;
        total.dropped += bucket.dropped;
        total.raises.add(bucket.raises);
        for (outcome, count) in bucket.outcomes {
            *total.outcomes.entry(outcome).or_default() += count;
        }
        total.response.merge(&bucket.response);
        total.service.merge(&bucket.service);
    }

    fn close(mut self, is_closed_loop: bool) -> Series {
        let total = &mut self.series.total;
        total.started = self.total.started;
        total.dropped = self.total.dropped;
        total.finished = self.total.finished();
        total.errors = self.total.errors();
        total.response = ladder(&self.total.response.hist());
        total.service = ladder(&self.total.service.hist());
        total.co_factor = co_factor(total.response.as_ref(), total.service.as_ref());
        total.co_factor = total.co_factor.filter(|_| !is_closed_loop);
        total.outcomes = self.total.outcomes;
        self.series
    }
}

/// The name of a percentile: `p50`, `p99_9`.
#[must_use]
pub fn rung(percent: f64) -> String {
    format!("p{percent}").replace('.', "_")
}

fn point(hist: &Hist, percent: f64) -> Option<u64> {
    (!hist.is_empty()).then(|| percentile_us(hist, percent))
}

/// The distribution of response times of a slice over time.
///
/// # Errors
/// All problems of the slice.
pub fn heat(run: Indexed<'_>, slice: &Slice) -> Result<Heat, Refusal> {
    let query = Query::of(run, slice)?;
    let selection = Selection::new(run, &query);
    let mut from_us = Vec::new();
    let mut rows: Vec<BTreeMap<u32, u64>> = Vec::new();
    for ticks in query.buckets() {
        let mut response = HistogramSum::new(Precision::Latency);
        from_us.push(u64::from(ticks.start) * query.tick_us);
        run.index.walk(ticks, |entry| {
            let finished = matches!(entry.key, Key::Calls { outcome, .. } if outcome.is_finished());
            if finished && selection.wants(&entry.key) {
                response.add(entry.response());
            }
        });
        let mut row: BTreeMap<u32, u64> = BTreeMap::new();
        for (bucket, count) in response.iter() {
            *row.entry(band(Precision::Latency.least(bucket)))
                .or_default() += count;
        }
        rows.push(row);
    }
    let seen: BTreeSet<u32> = rows.iter().flat_map(|row| row.keys().copied()).collect();
    let bands: Range<u32> = match (seen.first(), seen.last()) {
        (Some(&first), Some(&last)) => first..last + 1,
        _ => 0..0,
    };
    let edges = match bands.is_empty() {
        true => 0..0,
        false => bands.start..bands.end + 1,
    };
    let counts = rows.iter().map(|row| {
        let row = bands.clone().map(|band| row.get(&band).copied());
        row.map(Option::unwrap_or_default).collect()
    });
    Ok(Heat {
        run: run.control.run.clone(),
        tick_us: query.tick_us,
        bucket_us: query.bucket_us(),
        from_us,
        bounds_us: edges.map(edge).collect(),
        counts: counts.collect(),
    })
}

/// The band of a latency: below 8 µs one per value, above four per power of two. Every bucket of a
/// histogram lies inside one band.
fn band(us: u64) -> u32 {
    let shift = (us | 7).ilog2() - 2;
    shift * 4 + u32::try_from(us >> shift).unwrap_or(u32::MAX)
}

/// The least latency of a band.
fn edge(band: u32) -> u64 {
    let shift = (band / 4).saturating_sub(1);
    u64::from(band - shift * 4) << shift
}

//! A delta, read and judged row by row before any of it is added up.

use std::borrow::Cow;

use loadpilot_events::id::Holder;
use loadpilot_events::limits::{HIST_COUNTS_PER_DELTA_MAX, HIST_FILLED_PER_BYTE_MAX};
use loadpilot_events::log::delta::{AnatomyRow, ArrivalRow, CallRow, Phase};
use loadpilot_events::log::hist::{EncodedHistogram, FilledBuckets};
use loadpilot_events::log::metrics::MetricRow;
use loadpilot_events::plan::script::Checks;

use super::standing::{Standing, standing};
use crate::control::Control;
use crate::fold::delta_record::ParsedDelta;
use crate::fold::delta_validation::counted;
use crate::tally::aggregates::ArrivalSums;
use crate::tally::metrics::MetricSums;

/// The histogram of a row.
pub(crate) type Filled<'a> = Cow<'a, FilledBuckets>;

/// A delta whose every row was read and judged, so that it is folded as a whole or not at all.
pub(crate) struct Prepared<'a> {
    /// Rows with their sums, and whether they are excess.
    pub(crate) arrivals: Vec<(&'a ArrivalRow, ArrivalSums, bool)>,
    /// Rows with their histograms, and whether they are excess.
    pub(crate) calls: Vec<(&'a CallRow, Latencies<'a>, bool)>,
    /// Rows with the histograms of their phases, without excess.
    pub(crate) anatomy: Vec<(&'a AnatomyRow, Vec<(Phase, Filled<'a>)>)>,
    /// Rows with their sums, without excess.
    pub(crate) metrics: Vec<(&'a MetricRow, MetricSums)>,
}

/// The histograms of a row of calls.
pub(crate) struct Latencies<'a> {
    pub(crate) response: Filled<'a>,
    pub(crate) service: Filled<'a>,
}

impl<'a> Prepared<'a> {
    pub(super) fn new(
        control: &Control,
        holder: &Holder,
        parsed: &'a ParsedDelta,
    ) -> Result<Self, String> {
        let delta = &parsed.delta;
        let excess = |tick, generation| match standing(control, holder, tick, generation) {
            Standing::Counts => Ok(false),
            Standing::Excess => Ok(true),
            Standing::Contradicts(reason) => Err(reason),
        };
        let mut histograms = Histograms::of(parsed);
        let mut prepared = Self {
            arrivals: Vec::new(),
            calls: Vec::new(),
            anatomy: Vec::new(),
            metrics: Vec::new(),
        };
        for row in &delta.arrivals {
            let sums = ArrivalSums {
                started: row.started,
                dropped: row.dropped.clone(),
                task_errors: row.task_errors,
                raises: row.raises,
                checks: Checks {
                    passed: row.checks_passed,
                    failed: row.checks_failed,
                },
                sessions: row.sessions,
            };
            let excess = excess(row.tick, row.generation)?;
            prepared.arrivals.push((row, sums, excess));
        }
        for row in &delta.calls {
            let response = histograms.next(&row.response)?;
            let service = histograms.next(&row.service)?;
            let latencies = latencies(row, response, service)?;
            let excess = excess(row.tick, row.generation)?;
            prepared.calls.push((row, latencies, excess));
        }
        for row in &delta.anatomy {
            if excess(row.tick, row.generation)? {
                histograms.skip(row.phases.len());
                continue;
            }
            let mut phases = Vec::with_capacity(row.phases.len());
            for (&phase, encoded) in &row.phases {
                let filled = histograms.next(encoded)?;
                counted(&filled)?;
                phases.push((phase, filled));
            }
            prepared.anatomy.push((row, phases));
        }
        for row in &delta.metrics {
            let sums = MetricSums::of_row(row)?;
            if !excess(row.tick, row.generation)? {
                prepared.metrics.push((row, sums));
            }
        }
        histograms.judge()?;
        Ok(prepared)
    }
}

/// The histograms of a row of calls.
///
/// # Errors
/// Histograms that disagree with its count.
fn latencies<'a>(
    row: &CallRow,
    response: Filled<'a>,
    service: Filled<'a>,
) -> Result<Latencies<'a>, String> {
    if response.len() != row.count || service.len() != row.count {
        return Err(format!(
            "call {} of tick {}: {} calls, histograms of {} and {}",
            row.call,
            row.tick,
            row.count,
            response.len(),
            service.len(),
        ));
    }
    Ok(Latencies { response, service })
}

/// The histograms of one delta, counted one by one.
struct Histograms<'a> {
    parsed: &'a ParsedDelta,
    /// Index of the next histogram.
    index: usize,
    counts: usize,
    /// The counts above zero.
    filled: usize,
}

impl<'a> Histograms<'a> {
    fn of(parsed: &'a ParsedDelta) -> Self {
        Self {
            parsed,
            index: 0,
            counts: 0,
            filled: 0,
        }
    }

    /// The next histogram, whose stored form is `encoded`.
    ///
    /// # Errors
    /// An unreadable histogram, or too many counts, in words.
    fn next(&mut self, encoded: &EncodedHistogram) -> Result<Filled<'a>, String> {
        let hist = self.parsed.histogram(self.index, encoded)?;
        self.index += 1;
        self.counts = self.counts.saturating_add(hist.buckets());
        self.filled = self.filled.saturating_add(hist.filled());
        match self.counts > HIST_COUNTS_PER_DELTA_MAX {
            true => Err(too_many("counts in its histograms")),
            false => Ok(hist),
        }
    }

    fn skip(&mut self, count: usize) {
        self.index += count;
    }

    /// Whether so many counts above zero fit into the bytes of the delta.
    ///
    /// # Errors
    /// Too many counts for the length, in words.
    fn judge(&self) -> Result<(), String> {
        let most = self.parsed.bytes.saturating_mul(HIST_FILLED_PER_BYTE_MAX);
        match self.filled > most {
            true => Err(too_many("counts for its length")),
            false => Ok(()),
        }
    }
}

pub(super) fn too_many(what: &str) -> String {
    format!("too_many: {what}")
}

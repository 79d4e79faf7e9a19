//! A delta, read and judged row by row before any of it is added up.

use std::collections::BTreeMap;

use loadpilot_events::id::Holder;
use loadpilot_events::limits::{HIST_COUNTS_PER_DELTA_MAX, HIST_FILLED_PER_BYTE_MAX};
use loadpilot_events::log::delta::{AnatomyRow, ArrivalRow, CallRow, DeltaReported};
use loadpilot_events::log::hist::{self, EncodedHistogram, Hist};
use loadpilot_events::log::metrics::MetricRow;
use loadpilot_events::plan::script::Checks;

use super::standing::{Standing, standing};
use crate::control::Control;
use crate::fold::delta_validation::counted;
use crate::tally::aggregates::{AnatomySums, ArrivalSums, CallSums};
use crate::tally::metrics::MetricSums;

/// A delta whose every row was read and judged, so that it is folded as a whole or not at all.
pub(crate) struct Prepared<'a> {
    /// Rows with their sums, and whether they are excess.
    pub(crate) arrivals: Vec<(&'a ArrivalRow, ArrivalSums, bool)>,
    /// Rows with their sums, and whether they are excess.
    pub(crate) calls: Vec<(&'a CallRow, CallSums, bool)>,
    /// Rows with their sums, without excess.
    pub(crate) anatomy: Vec<(&'a AnatomyRow, AnatomySums)>,
    /// Rows with their sums, without excess.
    pub(crate) metrics: Vec<(&'a MetricRow, MetricSums)>,
}

impl<'a> Prepared<'a> {
    pub(super) fn new(
        control: &Control,
        holder: &Holder,
        delta: &'a DeltaReported,
        bytes: usize,
    ) -> Result<Self, String> {
        let excess = |tick, generation| match standing(control, holder, tick, generation) {
            Standing::Counts => Ok(false),
            Standing::Excess => Ok(true),
            Standing::Contradicts(reason) => Err(reason),
        };
        let mut decoded = Decoded::default();
        let mut decode = |encoded: &EncodedHistogram| {
            let hist = hist::decode(encoded).map_err(|e| e.to_string())?;
            decoded.add(&hist).map(|()| hist)
        };
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
            };
            let excess = excess(row.tick, row.generation)?;
            prepared.arrivals.push((row, sums, excess));
        }
        for row in &delta.calls {
            let sums = call_sums(row, decode(&row.response)?, decode(&row.service)?)?;
            let excess = excess(row.tick, row.generation)?;
            prepared.calls.push((row, sums, excess));
        }
        for row in &delta.anatomy {
            if !excess(row.tick, row.generation)? {
                let phases = row.phases.iter();
                let read: Result<BTreeMap<_, _>, String> = phases
                    .map(|(&phase, hist)| counted(decode(hist)?).map(|hist| (phase, hist)))
                    .collect();
                let sums = AnatomySums {
                    phases: read?,
                    opened: row.connections_opened,
                    reused: row.connections_reused,
                    resent: row.resent,
                };
                prepared.anatomy.push((row, sums));
            }
        }
        for row in &delta.metrics {
            let sums = MetricSums::of_row(row)?;
            if !excess(row.tick, row.generation)? {
                prepared.metrics.push((row, sums));
            }
        }
        decoded.judge(&prepared, bytes)?;
        Ok(prepared)
    }
}

/// The sums of a row of calls.
///
/// # Errors
/// Histograms that disagree with its count.
fn call_sums(row: &CallRow, response: Hist, service: Hist) -> Result<CallSums, String> {
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
    Ok(CallSums {
        count: row.count,
        response,
        service,
        status: row.status.clone(),
        causes: row.causes.clone(),
        sent_bytes: row.sent_bytes,
        received_bytes: row.received_bytes,
    })
}

/// The histograms of one delta, counted while they are decoded.
#[derive(Debug, Default)]
struct Decoded {
    counts: usize,
    /// An upper bound of the counts above zero.
    filled: usize,
}

impl Decoded {
    /// Counts one more histogram.
    ///
    /// # Errors
    /// Too many counts, in words.
    fn add(&mut self, hist: &Hist) -> Result<(), String> {
        let counts = hist.distinct_values();
        let values = usize::try_from(hist.len()).unwrap_or(usize::MAX);
        self.counts = self.counts.saturating_add(counts);
        self.filled = self.filled.saturating_add(counts.min(values));
        match self.counts > HIST_COUNTS_PER_DELTA_MAX {
            true => Err(too_many("counts in its histograms")),
            false => Ok(()),
        }
    }

    /// Whether so many counts above zero fit into so many bytes.
    ///
    /// # Errors
    /// Too many counts for the length, in words.
    fn judge(&self, prepared: &Prepared<'_>, bytes: usize) -> Result<(), String> {
        let most = bytes.saturating_mul(HIST_FILLED_PER_BYTE_MAX);
        if self.filled <= most {
            return Ok(());
        }
        let calls = prepared.calls.iter();
        let calls = calls.flat_map(|(_, sums, _)| [&sums.response, &sums.service]);
        let phases = prepared.anatomy.iter();
        let phases = phases.flat_map(|(_, sums)| sums.phases.values());
        let filled: usize = calls.chain(phases).map(|h| h.iter_recorded().count()).sum();
        match filled > most {
            true => Err(too_many("counts for its length")),
            false => Ok(()),
        }
    }
}

pub(super) fn too_many(what: &str) -> String {
    format!("too_many: {what}")
}

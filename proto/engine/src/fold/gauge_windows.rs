//! The newest window of each process: what finished in it, and the state of the load generator
//! then. It is for gauges that people watch; must never be part of a report.

use std::collections::BTreeMap;

use loadpilot_events::id::Holder;
use loadpilot_events::log::delta::{DeltaReported, Gauges};

use crate::fold::delta_record::{DeltaRecord, ParsedDelta};
use crate::tally::packed_histogram::{PackedHistogram, Precision};

/// The newest window of one process.
#[derive(Debug, Clone, Default)]
pub struct NewestWindow {
    /// Begin in µs after the start.
    pub from_us: u64,
    /// End in µs after the start.
    pub to_us: u64,
    /// Number of calls that finished in it.
    pub finished: u64,
    /// Response times of these calls.
    pub responses: PackedHistogram,
    /// State of the load generator; values of an interval are those of the window.
    pub gauges: Gauges,
}

/// The newest window of each process.
#[derive(Debug, Clone, Default)]
pub struct NewestWindows(BTreeMap<Holder, NewestWindow>);

impl NewestWindows {
    /// Adds a delta that counts. An unreadable delta is left out.
    pub fn add(&mut self, record: &DeltaRecord) {
        let Ok(parsed) = &record.parsed else { return };
        let delta = &parsed.delta;
        let holder = Holder {
            agent: record.agent.clone(),
            boot_id: delta.boot_id.clone(),
        };
        let window = self.0.entry(holder).or_default();
        if delta.to_us < window.to_us {
            return;
        }
        if delta.to_us > window.to_us {
            *window = NewestWindow {
                from_us: delta.from_us,
                to_us: delta.to_us,
                ..NewestWindow::default()
            };
        }
        window.gauge(delta);
        window.add_calls(parsed);
    }

    /// All windows by process.
    pub fn iter(&self) -> impl Iterator<Item = (&Holder, &NewestWindow)> {
        self.0.iter()
    }
}

impl NewestWindow {
    fn gauge(&mut self, delta: &DeltaReported) {
        let (known, new) = (&self.gauges, &delta.gauges);
        // Of several deltas of one window only the first has the values of an interval.
        self.gauges = Gauges {
            cpu_millicores: known.cpu_millicores.max(new.cpu_millicores),
            busiest_core_permille: known.busiest_core_permille.max(new.busiest_core_permille),
            stall_us: known.stall_us.max(new.stall_us),
            ..new.clone()
        };
    }

    fn add_calls(&mut self, parsed: &ParsedDelta) {
        for (row_number, row) in parsed.delta.calls.iter().enumerate() {
            if !row.outcome.is_finished() {
                continue;
            }
            self.finished += row.count;
            // Each row has two histograms, the first of which is that of the response.
            if let Ok(filled) = parsed.histogram(2 * row_number, &row.response) {
                let responses = PackedHistogram::of_filled(&filled, Precision::Latency);
                self.responses.add(&responses);
            }
        }
    }

    /// Finished calls per second.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    pub fn finished_per_sec(&self) -> f64 {
        match self.to_us.saturating_sub(self.from_us) {
            0 => 0.0,
            us => self.finished as f64 * 1e6 / us as f64,
        }
    }
}

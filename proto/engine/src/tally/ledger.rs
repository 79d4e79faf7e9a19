//! Closes rows into deltas: numbered, split by length, with the totals so far.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_events::id::BootId;
use loadpilot_events::limits::DELTA_BYTES_MAX;
use loadpilot_events::log::delta::{
    AnatomyRow, ArrivalRow, CallRow, DeltaReported, Gauges, Totals,
};
use loadpilot_events::log::exchange::ExchangeSeen;
use loadpilot_events::log::metrics::{Added, MetricRow};
use loadpilot_events::log::samples::{self, EncodedSamples, Sample};
use loadpilot_events::plan::script::{CallName, RaisedRow};

use crate::tally::aggregates::add_counts;
use crate::tally::rows::Rows;

/// Closes rows into deltas of one process in one run: numbers them and keeps the totals.
#[derive(Debug)]
pub struct Ledger {
    boot_id: BootId,
    last_seq: u64,
    totals: Totals,
}

impl Ledger {
    /// The ledger of a process that has sent nothing yet.
    #[must_use]
    pub fn new(boot_id: BootId) -> Self {
        Self::resume(boot_id, 0, Totals::default())
    }

    /// The ledger of a process that has sent deltas up to `last_seq`, with these totals.
    #[must_use]
    pub fn resume(boot_id: BootId, last_seq: u64, totals: Totals) -> Self {
        Self {
            boot_id,
            last_seq,
            totals,
        }
    }

    /// Totals of all deltas so far.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The sequence number of the last delta; 0 before the first.
    #[must_use]
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// Closes `rows`, which finished from `from_us` to `to_us` after the start, into one or more
    /// deltas, each with at most [`DELTA_BYTES_MAX`] of rows.
    #[must_use]
    pub fn close(
        &mut self,
        rows: Rows,
        from_us: u64,
        to_us: u64,
        gauges: Gauges,
    ) -> Vec<DeltaReported> {
        let parts = split(rows);
        let mut gauges = gauges;
        let mut deltas = Vec::with_capacity(parts.len());
        for part in parts {
            deltas.push(self.number(part, from_us, to_us, &gauges));
            // Counters are reported once.
            (gauges.retransmits, gauges.listen_overflows) = (0, 0);
        }
        deltas
    }

    fn number(
        &mut self,
        part: OpenDelta,
        from_us: u64,
        to_us: u64,
        gauges: &Gauges,
    ) -> DeltaReported {
        for row in &part.arrivals {
            self.totals.started += row.started;
            add_counts(&mut self.totals.dropped, &row.dropped);
        }
        for row in &part.calls {
            *self.totals.calls.entry(row.outcome).or_default() += row.count;
        }
        self.last_seq += 1;
        DeltaReported {
            boot_id: self.boot_id.clone(),
            seq: self.last_seq,
            from_us,
            to_us,
            arrivals: part.arrivals,
            calls: part.calls,
            anatomy: part.anatomy,
            names: part.names,
            raised: part.raised,
            metrics: part.metrics,
            exchanges: part.exchanges,
            failures: part.failures,
            samples: part.samples,
            samples_dropped: part.samples_dropped,
            totals: self.totals.clone(),
            gauges: gauges.clone(),
        }
    }
}

/// Splits rows into parts that fit one delta each.
fn split(rows: Rows) -> Vec<OpenDelta> {
    let (mut open, mut parts) = (OpenDelta::default(), Vec::new());
    for (key, sums) in rows.arrivals {
        let row = sums.row(key);
        open.make_room(arrival_bytes(&row), &mut parts);
        open.arrivals.push(row);
    }
    for (key, sums) in rows.calls {
        let row = sums.row(key);
        let bytes = call_bytes(&row, rows.names.get(&row.call));
        open.make_room(bytes, &mut parts);
        open.calls.push(row);
    }
    for (key, sums) in rows.anatomy {
        let row = sums.row(key);
        open.make_room(anatomy_bytes(&row), &mut parts);
        open.anatomy.push(row);
    }
    let mut traces = rows.traces;
    for (key, count) in rows.raised {
        let trace = traces.remove(&key);
        let (task, by, text) = key;
        let row = RaisedRow {
            task,
            by,
            text,
            count,
            trace,
        };
        open.make_room(raised_bytes(&row), &mut parts);
        open.raised.push(row);
    }
    for row in rows.metrics.iter().flat_map(|(key, sums)| sums.rows(*key)) {
        open.make_room(metric_bytes(&row), &mut parts);
        open.metrics.push(row);
    }
    for seen in rows.exchanges {
        open.make_room(exchange_bytes(&seen), &mut parts);
        open.exchanges.push(seen);
    }
    for seen in rows.failures {
        open.make_room(exchange_bytes(&seen), &mut parts);
        open.failures.push(seen);
    }
    open.samples_dropped = rows.samples_dropped;
    let sampled: BTreeSet<u16> = rows.samples.iter().map(|sample| sample.call).collect();
    for text in encoded(rows.samples) {
        if !open.samples.is_empty() {
            parts.push(std::mem::take(&mut open));
        }
        open.make_room(text.0.len(), &mut parts);
        open.sampled.clone_from(&sampled);
        open.samples = text;
    }
    parts.push(open);
    for part in &mut parts {
        part.names = part.used(&rows.names);
    }
    parts
}

// Length of a row in JSON, estimated from above.

fn arrival_bytes(row: &ArrivalRow) -> usize {
    80 + 20 * row.dropped.len()
}

/// With the name of the call, if it has one.
fn call_bytes(row: &CallRow, named: Option<&CallName>) -> usize {
    let maps = 12 * row.status.len() + 40 * row.causes.len();
    let name = named.map_or(0, |named| 60 + named.name.len());
    200 + maps + row.response.0.len() + row.service.0.len() + name
}

fn anatomy_bytes(row: &AnatomyRow) -> usize {
    let hists = row.phases.values().map(|hist| 24 + hist.0.len());
    80 + hists.sum::<usize>()
}

fn raised_bytes(row: &RaisedRow) -> usize {
    80 + row.text.len() + row.trace.as_ref().map_or(0, String::len)
}

fn metric_bytes(row: &MetricRow) -> usize {
    let values = match &row.added {
        Added::Trend { values } => values.len(),
        Added::Counter { .. } | Added::Rate { .. } => 1,
    };
    120 + row.name.len() + 20 * values
}

fn exchange_bytes(seen: &ExchangeSeen) -> usize {
    let lines = seen.request.iter().chain(&seen.answer);
    // A control character in JSON takes six bytes.
    200 + 6 * seen.body.len() + lines.map(|line| 4 + line.len()).sum::<usize>()
}

/// The rows of a delta that is still being filled.
#[derive(Debug, Default)]
struct OpenDelta {
    bytes: usize,
    arrivals: Vec<ArrivalRow>,
    calls: Vec<CallRow>,
    anatomy: Vec<AnatomyRow>,
    names: Vec<CallName>,
    raised: Vec<RaisedRow>,
    metrics: Vec<MetricRow>,
    exchanges: Vec<ExchangeSeen>,
    failures: Vec<ExchangeSeen>,
    sampled: BTreeSet<u16>,
    samples: EncodedSamples,
    samples_dropped: u64,
}

/// Sorted, which is the most compact order.
fn encoded(mut samples: Vec<Sample>) -> Vec<EncodedSamples> {
    samples.sort_unstable_by_key(|call| (call.due_us, call.user, call.number, call.call));
    samples::encode(&samples)
}

impl OpenDelta {
    /// The names that the rows of this delta need.
    fn used(&self, names: &BTreeMap<u16, CallName>) -> Vec<CallName> {
        if names.is_empty() {
            return Vec::new();
        }
        let calls = self.calls.iter().map(|row| row.call);
        let anatomy = self.anatomy.iter().map(|row| row.call);
        let exchanges = self.exchanges.iter().chain(&self.failures);
        let exchanges = exchanges.map(|seen| seen.call);
        let used = calls.chain(anatomy).chain(exchanges);
        let used: BTreeSet<u16> = used.chain(self.sampled.iter().copied()).collect();
        let used = used.iter().filter_map(|call| names.get(call));
        used.cloned().collect()
    }

    /// Moves itself to `parts` and starts anew when `bytes` more would exceed the limit.
    fn make_room(&mut self, bytes: usize, parts: &mut Vec<Self>) {
        if self.bytes > 0 && self.bytes + bytes > DELTA_BYTES_MAX {
            parts.push(std::mem::take(self));
        }
        self.bytes += bytes;
    }
}

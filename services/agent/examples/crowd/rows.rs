//! The rows that a light agent reports of a tick. Counts are those of the arrivals that it holds.
//! The shipped tally makes the histograms, a few for each count, and they are reused: making those
//! of a thousand agents anew each second would be the work of a thousand agents on one machine.

use std::collections::BTreeMap;

use loadpilot_engine::schedule::hash::{Purpose, below, draw};
use loadpilot_engine::schedule::share::Share;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::{CallEnd, ConnectionUse, Ledger, Phases, RowKey, Tally};
use loadpilot_events::log::delta::{
    AnatomyRow, ArrivalRow, CallRow, DeltaReported, Gauges, SessionCounts, TaskRaises, Totals,
};
use loadpilot_events::log::samples::EncodedSamples;
use loadpilot_events::{BootId, Outcome};

/// Number of different rows for one count.
const VARIANTS: u64 = 16;

/// The rows made so far, by count and variant.
#[derive(Debug, Default)]
pub(crate) struct Rows(BTreeMap<(u64, u64), (CallRow, AnatomyRow)>);

/// The totals of one agent so far.
#[derive(Debug)]
pub(crate) struct Books {
    boot_id: BootId,
    pub(crate) seq: u64,
    pub(crate) totals: Totals,
}

impl Books {
    pub(crate) fn new(boot_id: BootId) -> Self {
        Self {
            boot_id,
            seq: 0,
            totals: Totals::default(),
        }
    }
}

impl Rows {
    /// The delta of a tick for the holder of these shards; `window_us` is its duration.
    pub(crate) fn delta(
        &mut self,
        books: &mut Books,
        (workload, shards): (&Workload, u32),
        tick: u32,
        (generation, held): (u32, &[u32]),
        window_us: (u64, u64),
    ) -> DeltaReported {
        books.seq += 1;
        let mut delta = DeltaReported {
            boot_id: books.boot_id.clone(),
            seq: books.seq,
            from_us: window_us.0,
            to_us: window_us.1,
            arrivals: Vec::new(),
            calls: Vec::new(),
            anatomy: Vec::new(),
            names: Vec::new(),
            raised: Vec::new(),
            metrics: Vec::new(),
            exchanges: Vec::new(),
            failures: Vec::new(),
            samples: EncodedSamples::default(),
            samples_dropped: 0,
            totals: Totals::default(),
            gauges: Gauges::default(),
        };
        for (task, count) in arrivals(workload, shards, tick, held) {
            let key = RowKey {
                tick,
                generation,
                task,
            };
            let variant = below(VARIANTS, draw(3, Purpose::TaskKey, books.seq, task.into()));
            let made = self.0.entry((count, variant));
            let (call, anatomy) = made.or_insert_with(|| made_of(count, variant, key));
            delta.arrivals.push(ArrivalRow {
                tick,
                generation,
                task,
                started: count,
                dropped: BTreeMap::new(),
                task_errors: 0,
                sessions: SessionCounts::default(),
                raises: TaskRaises::default(),
                checks_passed: 0,
                checks_failed: 0,
            });
            delta.calls.push(CallRow {
                tick,
                generation,
                call: task,
                ..call.clone()
            });
            delta.anatomy.push(AnatomyRow {
                tick,
                generation,
                call: task,
                ..anatomy.clone()
            });
            books.totals.started += count;
            *books.totals.calls.entry(Outcome::Ok).or_default() += count;
        }
        delta.totals = books.totals.clone();
        delta
    }
}

/// Number of arrivals of each task that are due in a tick, of the shards in `held`.
fn arrivals(workload: &Workload, shards: u32, tick: u32, held: &[u32]) -> BTreeMap<u16, u64> {
    let range = workload.arrivals_in_tick(tick);
    let share = Share::new(shards, held.to_vec());
    let mut counts = BTreeMap::new();
    let mut next = share.next_at_or_after(range.start);
    while let Some(n) = next.filter(|n| range.contains(n)) {
        *counts.entry(workload.task_of(n)).or_default() += 1;
        next = share.next_at_or_after(n + 1);
    }
    counts
}

fn made_of(count: u64, variant: u64, key: RowKey) -> (CallRow, AnatomyRow) {
    let mut tally = Tally::new();
    for number in 0..count {
        tally.call(&call(key, variant * 1_000_000 + number));
    }
    let boot_id = BootId::from_ulid(ulid::Ulid::nil());
    let deltas = Ledger::new(boot_id).close(tally.take(), 0, 1, Gauges::default());
    let delta = deltas.into_iter().next();
    let rows = delta.and_then(|mut delta| Some((delta.calls.pop()?, delta.anatomy.pop()?)));
    rows.expect("calls make a row of each")
}

/// A call that took some ms, as most do, or much longer, as a few do.
fn call(key: RowKey, n: u64) -> CallEnd {
    let dice = |index: u64, most: u64| below(most, draw(7, Purpose::TaskKey, n, index));
    let slow = if dice(0, 100) == 0 { 20 } else { 1 };
    let service_us = 800 + slow * (dice(1, 4_000) + dice(2, 4_000));
    let lag_us = dice(3, 200);
    CallEnd {
        tick: key.tick,
        generation: key.generation,
        call: key.task,
        outcome: Outcome::Ok,
        response_us: service_us + lag_us,
        service_us,
        status: Some(200),
        cause: None,
        sent_bytes: 90,
        received_bytes: 240,
        phases: Phases {
            schedule_lag_us: Some(lag_us),
            queue_us: Some(1),
            first_byte_us: Some(service_us - 100),
            last_byte_us: Some(20),
            connection: Some(ConnectionUse::Reused),
            ..Phases::default()
        },
    }
}

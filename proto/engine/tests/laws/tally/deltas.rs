//! Counting: rows add up in any order, and everything that was recorded is in exactly one delta.

use std::collections::BTreeMap;

use loadpilot_engine::tally::{CallEnd, ConnectionUse, Ledger, Phases, RowKey, Rows, Tally};
use loadpilot_events::id::BootId;
use loadpilot_events::limits::{self, DELTA_BYTES_MAX};
use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::delta::{DeltaReported, Gauges};
use loadpilot_events::log::hist;
use loadpilot_events::log::outcome::{DropReason, Outcome};
use proptest::prelude::*;

use crate::rules::dice::Dice;

/// A record of a core.
#[derive(Debug, Clone, Copy)]
enum Entry {
    Started(RowKey),
    Dropped(RowKey, DropReason),
    TaskError(RowKey),
    Call(CallEnd),
}

fn entries(dice: &mut Dice, count: u64) -> Vec<Entry> {
    (0..count).map(|_| entry(dice)).collect()
}

fn entry(dice: &mut Dice) -> Entry {
    let key = RowKey {
        tick: dice.pick(0..4) as u32,
        generation: dice.pick(1..3) as u32,
        task: dice.pick(0..3) as u16,
    };
    match dice.pick(0..6) {
        0 => Entry::Dropped(key, dice.one_of(&[DropReason::Late, DropReason::NoSlot])),
        1 => Entry::TaskError(key),
        2 | 3 => Entry::Started(key),
        _ => Entry::Call(call(dice, key.tick, key.generation, key.task)),
    }
}

fn call(dice: &mut Dice, tick: u32, generation: u32, call: u16) -> CallEnd {
    CallEnd {
        tick,
        generation,
        call,
        outcome: dice.one_of(&[Outcome::Ok, Outcome::Timeout, Outcome::Cancelled]),
        // Sometimes beyond the range that a histogram covers from the start.
        response_us: dice.one_of(&[0, 1, 999, 44_444, 3_000_000_000]),
        service_us: dice.pick(0..2_000_000),
        status: dice.chance(50).then_some(200),
        cause: dice.one_of(&[None, Some(Cause::Reset), Some(Cause::BeforeFirstByte)]),
        sent_bytes: dice.pick(0..1_000),
        received_bytes: dice.pick(0..1_000),
        phases: Phases {
            queue_us: Some(dice.pick(0..1_000)),
            connection: dice.one_of(&[Some(ConnectionUse::Opened), None]),
            ..Phases::default()
        },
    }
}

fn rows(entries: &[Entry]) -> Rows {
    let mut tally = Tally::new();
    for entry in entries {
        match entry {
            Entry::Started(key) => tally.started(*key),
            Entry::Dropped(key, reason) => tally.dropped(*key, *reason),
            Entry::TaskError(key) => tally.task_error(*key),
            Entry::Call(end) => tally.call(end),
        }
    }
    tally.take()
}

fn ledger() -> Ledger {
    Ledger::new(BootId::parse("boot").expect("a token"))
}

/// The content of a delta, with its histograms as their values: two encodings may have the same
/// content.
fn content(delta: &DeltaReported) -> String {
    let values = |encoded| {
        let hist = hist::decode(encoded).expect("our own histogram");
        let values = hist
            .iter_recorded()
            .map(|v| (v.value_iterated_to(), v.count_at_value()));
        format!("{:?}", values.collect::<Vec<_>>())
    };
    let calls = delta.calls.iter().map(|row| {
        let key = (row.tick, row.generation, row.call, row.outcome, row.count);
        let (response, service) = (values(&row.response), values(&row.service));
        let rest = (&row.status, row.sent_bytes, row.received_bytes);
        format!("{key:?} {response} {service} {rest:?}")
    });
    let anatomy = delta.anatomy.iter().map(|row| {
        let phases: Vec<_> = row
            .phases
            .iter()
            .map(|(p, hist)| (p, values(hist)))
            .collect();
        let key = (row.tick, row.generation, row.call);
        format!(
            "{key:?} {phases:?} {} {}",
            row.connections_opened, row.connections_reused
        )
    });
    let (calls, anatomy) = (calls.collect::<Vec<_>>(), anatomy.collect::<Vec<_>>());
    format!(
        "{:?} {calls:?} {anatomy:?} {:?}",
        delta.arrivals, delta.totals
    )
}

fn closed(rows: Rows) -> String {
    let deltas = ledger().close(rows, 0, 1, Gauges::default());
    deltas.iter().map(content).collect()
}

/// Sums over entries, written without the shipped arithmetic.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    started: BTreeMap<(u32, u32, u16), u64>,
    dropped: BTreeMap<(u32, u32, u16, DropReason), u64>,
    errors: BTreeMap<(u32, u32, u16), u64>,
    /// Count, bytes sent, opened connections.
    calls: BTreeMap<(u32, u32, u16, Outcome), u64>,
    bytes: u64,
    opened: u64,
}

impl Sums {
    fn entry(&mut self, entry: &Entry) {
        let place = |key: &RowKey| (key.tick, key.generation, key.task);
        match entry {
            Entry::Started(key) => *self.started.entry(place(key)).or_default() += 1,
            Entry::TaskError(key) => *self.errors.entry(place(key)).or_default() += 1,
            Entry::Dropped(key, reason) => {
                let key = (key.tick, key.generation, key.task, *reason);
                *self.dropped.entry(key).or_default() += 1;
            }
            Entry::Call(end) => {
                let key = (end.tick, end.generation, end.call, end.outcome);
                *self.calls.entry(key).or_default() += 1;
                self.bytes += end.sent_bytes + end.received_bytes;
                self.opened += u64::from(end.phases.connection.is_some());
            }
        }
    }

    fn delta(&mut self, delta: &DeltaReported) {
        for row in &delta.arrivals {
            let key = (row.tick, row.generation, row.task);
            if row.started > 0 {
                *self.started.entry(key).or_default() += row.started;
            }
            if row.task_errors > 0 {
                *self.errors.entry(key).or_default() += row.task_errors;
            }
            for (&reason, count) in &row.dropped {
                *self
                    .dropped
                    .entry((key.0, key.1, key.2, reason))
                    .or_default() += count;
            }
        }
        for row in &delta.calls {
            let key = (row.tick, row.generation, row.call, row.outcome);
            *self.calls.entry(key).or_default() += row.count;
            self.bytes += row.sent_bytes + row.received_bytes;
        }
        self.opened += delta
            .anatomy
            .iter()
            .map(|row| row.connections_opened)
            .sum::<u64>();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Cores are harvested in any order: a merge that depends on it would make reports differ.
    #[test]
    fn merging_is_commutative_and_associative(seed: u64) {
        let dice = &mut Dice::new(seed);
        let parts = [entries(dice, 20), entries(dice, 20), entries(dice, 20)];
        let [a, b, c] = &parts;
        let sum = |mut one: Rows, other: Rows| { one.merge(other); one };
        let left = sum(sum(rows(a), rows(b)), rows(c));
        let right = sum(rows(a), sum(rows(b), rows(c)));
        let turned = sum(rows(c), sum(rows(b), rows(a)));
        let at_once = rows(&parts.concat());
        let left = closed(left);
        prop_assert_eq!(&left, &closed(right));
        prop_assert_eq!(&left, &closed(turned));
        prop_assert_eq!(&left, &closed(at_once));
    }

    /// A row in two deltas would be counted twice; a row in none would be lost silently.
    #[test]
    fn what_was_recorded_is_in_exactly_one_delta(seed: u64, windows in 1..6_u64) {
        let dice = &mut Dice::new(seed);
        let mut ledger = ledger();
        let (mut recorded, mut reported) = (Sums::default(), Sums::default());
        let mut last_seq = 0;
        for window in 0..windows {
            let count = dice.pick(0..40);
            let entries = entries(dice, count);
            entries.iter().for_each(|entry| recorded.entry(entry));
            let (from_us, to_us) = (window, window + 1);
            for delta in ledger.close(rows(&entries), from_us, to_us, Gauges::default()) {
                prop_assert_eq!(delta.seq, last_seq + 1);
                last_seq = delta.seq;
                reported.delta(&delta);
                prop_assert_eq!(delta.totals.started, reported.started.values().sum::<u64>());
                let dropped = reported.dropped.values().sum::<u64>();
                prop_assert_eq!(delta.totals.dropped_total(), dropped);
                prop_assert_eq!(delta.totals.calls_total(), reported.calls.values().sum::<u64>());
            }
            prop_assert!(last_seq > window, "every window sends at least one");
        }
        prop_assert_eq!(&recorded, &reported);
        prop_assert_eq!(ledger.last_seq(), last_seq);
    }
}

/// A delta that no server accepts would block all deltas after it.
#[test]
fn a_great_tick_is_split_and_keeps_its_sums() {
    let dice = &mut Dice::new(7);
    let mut entries = Vec::new();
    for number in 0..900 {
        let key = RowKey {
            tick: number % 3,
            generation: 1,
            task: (number % 1_000) as u16,
        };
        entries.push(Entry::Started(key));
        for _ in 0..12 {
            let mut end = call(dice, key.tick, 1, key.task);
            end.response_us = dice.pick(1..30_000_000);
            entries.push(Entry::Call(end));
        }
    }
    let mut sums = Sums::default();
    entries.iter().for_each(|entry| sums.entry(entry));
    let deltas = ledger().close(rows(&entries), 0, 1, Gauges::default());
    assert!(deltas.len() > 2, "{} parts", deltas.len());
    let mut reported = Sums::default();
    for delta in &deltas {
        let bytes = serde_json::to_vec(delta)
            .expect("a delta has a JSON form")
            .len();
        assert!(bytes <= DELTA_BYTES_MAX * 5 / 4, "{bytes} bytes");
        reported.delta(delta);
    }
    assert_eq!(sums, reported);
}

/// The largest row: every bucket of both histograms is used, with counts that do not compress.
#[test]
fn the_greatest_single_row_fits_a_message() {
    let dice = &mut Dice::new(3);
    let mut tally = Tally::new();
    let mut value_us: u64 = 1;
    while value_us < limits::TIMEOUT_US_MAX {
        for _ in 0..dice.pick(1..3) {
            let mut end = call(dice, 0, 1, 0);
            end.outcome = Outcome::Ok;
            (end.response_us, end.service_us) = (value_us, value_us);
            tally.call(&end);
        }
        value_us += (value_us / 1_000).max(1);
    }
    let deltas = ledger().close(tally.take(), 0, 1, Gauges::default());
    for delta in deltas {
        let bytes = serde_json::to_vec(&delta)
            .expect("a delta has a JSON form")
            .len();
        assert!(bytes < 512 * 1024, "{bytes} bytes");
    }
}

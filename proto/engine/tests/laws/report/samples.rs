//! Calls one by one: decoding gives what was encoded, within its limits, and agrees with the
//! counts.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_engine::fold::project::Projection;
use loadpilot_engine::report::report;
use loadpilot_engine::report::samples::{DueOrder, NoSamples, SampleRow, SampleTable, SampleText};
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::{Ledger, Rows, Tally};
use loadpilot_events::answers::slice::Slice;
use loadpilot_events::id::BootId;
use loadpilot_events::limits::{
    DELTA_BYTES_MAX, SAMPLES_BYTES_MAX, SAMPLES_PER_DELTA_MAX, SAMPLES_PER_TICK_MAX,
};
use loadpilot_events::log::delta::Gauges;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::log::samples::{EncodedSamples, Sample, decode, encode};
use loadpilot_events::plan::Plan;
use loadpilot_events::wire::subject::Kind;
use proptest::option;
use proptest::prelude::*;

use crate::fold::projection::control;
use crate::rules::{dice::Dice, plans};
use crate::support::history::History;

fn any_sample() -> impl Strategy<Value = Sample> {
    let arrival = (
        option::of(0_u32..u32::MAX),
        any::<u64>(),
        any::<u32>(),
        any::<u32>(),
    );
    let how = (
        any::<u16>(),
        0..Outcome::ALL.len(),
        option::of(any::<u16>()),
    );
    let times = (
        any::<u64>(),
        any::<u64>(),
        any::<u64>(),
        option::of(any::<u64>()),
    );
    let bytes = (any::<u64>(), any::<u64>(), option::of(any::<bool>()));
    (arrival, how, times, bytes).prop_map(|(arrival, how, times, bytes)| Sample {
        user: arrival.0,
        number: arrival.1,
        generation: arrival.2,
        tick: arrival.3,
        call: how.0,
        outcome: Outcome::ALL[how.1],
        status: how.2,
        due_us: times.0,
        response_us: times.1,
        service_us: times.2,
        first_byte_us: times.3,
        sent_bytes: bytes.0,
        received_bytes: bytes.1,
        reused: bytes.2,
    })
}

/// The calls that an agent with a share of a steady load reports, in the order of their ends.
fn usual(calls: u64) -> Vec<Sample> {
    let mut dice = Dice::new(calls);
    let call = |n: u64| {
        let service_us = dice.pick(300..3_000);
        Sample {
            user: None,
            number: n * 2,
            generation: 1,
            tick: 4,
            call: 0,
            outcome: Outcome::Ok,
            status: Some(200),
            due_us: 4_000_000 + n * 333 + n / 3,
            response_us: service_us + dice.pick(10..90),
            service_us,
            first_byte_us: Some(service_us - dice.pick(20..60)),
            sent_bytes: 120,
            received_bytes: 240 + dice.pick(0..4),
            reused: Some(true),
        }
    };
    (0..calls).map(call).collect()
}

fn ledger() -> Ledger {
    Ledger::new(BootId::parse("boot").expect("a token"))
}

/// Passes the rows of a history to `each`, and folds its deltas.
fn each_row(
    history: &History,
    table: &SampleTable,
    mut each: impl FnMut(&SampleRow<'_>),
) -> Projection {
    let mut data = Projection::default();
    for record in &history.data {
        let Kind::Delta(agent) = &record.kind else {
            panic!("only deltas")
        };
        let (subject, payload) = (&record.subject, &record.payload);
        let delta = data.add(table.control(), agent, subject, record.seq, payload);
        if let Some(delta) = delta {
            table.rows(agent, &delta, &mut each).expect("ours");
        }
    }
    data
}

/// The calls of a history as text.
fn written(history: &History, table: &SampleTable, mut form: SampleText) -> (String, Projection) {
    if form.needs_order() {
        each_row(history, table, |row| form.announce(row));
        form.announced();
    }
    let mut text = form.header().to_owned();
    let data = each_row(history, table, |row| form.line(table, row, &mut text));
    (text, data)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Broken if a column loses a value, or if one is read into the next: the decoded calls would
    /// be others.
    #[test]
    fn calls_come_back(
        some in prop::collection::vec(any_sample(), 0..80), times in 1_usize..40,
    ) {
        let samples: Vec<Sample> = some.iter().flat_map(|call| vec![*call; times]).collect();
        let texts = encode(&samples);
        let fits = |text: &EncodedSamples| (1..=SAMPLES_BYTES_MAX).contains(&text.0.len());
        prop_assert!(texts.iter().all(fits));
        let back = texts.iter().flat_map(|text| decode(text).expect("what was written is read"));
        prop_assert_eq!(back.collect::<Vec<_>>(), samples);
    }

    /// A log may contain any bytes: they are read or refused, without a crash and within the limit.
    #[test]
    fn foreign_text_is_refused(noise in "[A-Za-z0-9+/]{0,40}", at in 0_usize..200, with: u8) {
        if let Ok(calls) = decode(&EncodedSamples(noise)) {
            prop_assert!(calls.len() <= SAMPLES_PER_DELTA_MAX);
        }
        let mut text = encode(&usual(20)).remove(0).0.into_bytes();
        let place = at % text.len();
        text[place] = with & 0x7f;
        let text = String::from_utf8(text).expect("ASCII");
        if let Ok(calls) = decode(&EncodedSamples(text)) {
            prop_assert!(calls.len() <= SAMPLES_PER_DELTA_MAX);
        }
    }

    /// The table contains each call of the report once, even if deltas were lost, came twice, or
    /// contain excess arrivals.
    #[test]
    fn the_table_agrees_with_the_report(seed: u64) {
        let history = History::new(seed);
        let control = control(&history, &history.control);
        let table = match SampleTable::new(control.clone()) {
            Ok(table) => table,
            Err(none) => {
                prop_assert_eq!(none, NoSamples::NeverStarted);
                return Ok(());
            }
        };
        let (text, data) = written(&history, &table, SampleText::Table);
        let report = report(&control, &data).expect("the run is known");
        let rows = text.split_terminator("\r\n");
        let rows: Vec<Vec<&str>> = rows.map(|row| row.split(',').collect()).collect();
        prop_assert_eq!(rows.len() as u64, report.calls.attempted + 1);
        prop_assert!(rows.iter().all(|row| row.len() == 15));
        let calls: BTreeSet<_> = rows[1..].iter().map(|row| (row[1], row[2], row[3])).collect();
        prop_assert_eq!(calls.len() as u64, report.calls.attempted);
    }

    /// Broken if vegeta gets other calls than the report counts, or plots the calls of a task in
    /// another order than they were due, or not at all because a number is missing.
    #[test]
    fn calls_of_a_task_are_numbered_as_they_were_due(seed: u64) {
        let history = History::new(seed);
        let control = control(&history, &history.control);
        let Ok(table) = SampleTable::new(control.clone()) else { return Ok(()) };
        let (text, data) = written(&history, &table, SampleText::Vegeta(DueOrder::default()));
        let report = report(&control, &data).expect("the run is known");
        let mut tasks: BTreeMap<&str, BTreeMap<u64, u64>> = BTreeMap::new();
        for line in text.split_terminator('\n') {
            let cells: Vec<&str> = line.split(',').collect();
            prop_assert_eq!(cells.len(), 12, "{}", line);
            let number = |place: usize| cells[place].parse::<u64>().expect("a number");
            let of_task = tasks.entry(cells[7]).or_default();
            prop_assert_eq!(of_task.insert(number(8), number(0)), None, "{}", line);
        }
        let rows = tasks.values().map(|of_task| of_task.len() as u64).sum::<u64>();
        prop_assert_eq!(rows, report.calls.attempted);
        for of_task in tasks.values() {
            prop_assert!(of_task.keys().copied().eq(0..of_task.len() as u64));
            prop_assert!(of_task.values().is_sorted());
        }
    }

    /// Broken if a part of the calls contains a call that does not belong to it, or lacks one that
    /// does.
    #[test]
    fn a_part_of_the_calls_is_by_time_and_task(seed: u64) {
        let history = History::new(seed);
        let control = control(&history, &history.control);
        let Ok(whole) = SampleTable::new(control.clone()) else { return Ok(()) };
        let dice = &mut Dice::new(!seed);
        let (ticks, tick_us) = (u64::from(history.workload.ticks()), history.plan.tick_us);
        let from = dice.pick(0..ticks);
        let names: Vec<String> = history.plan.tasks.iter().map(|task| task.name.clone()).collect();
        let task = dice.one_of(&names);
        let slice = Slice {
            from_us: Some(from * tick_us),
            to_us: Some(dice.pick(from + 1..ticks + 1) * tick_us),
            tasks: Some(vec![task.clone()]),
            ..Slice::default()
        };
        let rows = |table: &SampleTable| {
            let mut rows = Vec::new();
            each_row(&history, table, |row| {
                rows.push((row.sample.tick, row.task.to_owned(), *row.sample));
            });
            rows
        };
        let wanted = rows(&whole).into_iter().filter(|(tick, name, _)| {
            let due_us = u64::from(*tick) * tick_us;
            *name == task && slice.from_us <= Some(due_us) && Some(due_us) < slice.to_us
        });
        let part = SampleTable::new(control).expect("it was started");
        let part = part.within(&slice).expect("it is sound");
        prop_assert_eq!(rows(&part), wanted.collect::<Vec<_>>());
    }

    /// The sampled calls depend only on plan and seed, and their number follows the plan's share.
    #[test]
    fn a_share_is_drawn_from_the_seed(seed in 0_u64..1 << 53, share_ppm in 1_u32..=1_000_000) {
        let mut plan = plans::plan(&mut Dice::new(seed));
        plan.samples_ppm = Some(share_ppm);
        let sampled = |plan: &Plan| {
            let workload = Workload::new(plan, seed);
            (0..10_000).filter(|n| workload.is_sampled(*n, 0, 3)).collect::<Vec<u64>>()
        };
        let first = sampled(&plan);
        prop_assert_eq!(&first, &sampled(&plan));
        let expected = 10_000.0 * f64::from(share_ppm) / 1e6;
        prop_assert!((first.len() as f64 - expected).abs() <= 6.0 * expected.sqrt() + 6.0);
        plan.samples_ppm = None;
        prop_assert!(sampled(&plan).is_empty());
    }
}

/// Broken if a spreadsheet takes the name of a task for a formula and executes it.
#[test]
fn names_are_no_formulas() {
    let mut history = History::new(3);
    let names = [
        "=1+1",
        "+cmd",
        "-2",
        "@sum",
        "\t=1",
        "a,b",
        "say \"hi\"",
        "a\r\nb",
        "plain",
    ];
    for name in names {
        for record in &mut history.control {
            let text = String::from_utf8(record.payload.clone()).expect("JSON");
            let mut value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            if let Some(tasks) = value
                .pointer_mut("/event/plan/tasks")
                .and_then(|t| t.as_array_mut())
            {
                for task in tasks {
                    task["name"] = name.into();
                }
            }
            record.payload = serde_json::to_vec(&value).expect("JSON");
        }
        let control = control(&history, &history.control);
        let table = SampleTable::new(control).expect("it was started");
        let (text, _) = written(&history, &table, SampleText::Table);
        let (vegeta, _) = written(&history, &table, SampleText::Vegeta(DueOrder::default()));
        let cell = match name {
            "plain" => "plain".to_owned(),
            "a,b" | "a\r\nb" => format!("\"{name}\""),
            "say \"hi\"" => "\"say \"\"hi\"\"\"".to_owned(),
            _ => format!("\"'{name}\""),
        };
        for text in [text, vegeta] {
            assert!(text.contains(&format!(",{cell},")), "{name:?}: {text:.400}");
        }
    }
}

/// A delta beyond its limit is refused by the log; a call beyond the limits must be counted.
#[test]
fn many_calls_are_split_and_too_many_are_counted() {
    let mut sum = Rows::default();
    let mut stored = Vec::new();
    for _ in 0..3 {
        let mut tally = Tally::new();
        for call in usual(40_000) {
            tally.sample(call);
        }
        sum.merge(tally.take());
    }
    let mut ledger = ledger();
    let deltas = ledger.close(sum, 0, 1, Gauges::default());
    assert_eq!(ledger.last_seq(), deltas.len() as u64);
    for delta in &deltas {
        let json = serde_json::to_string(delta).expect("JSON");
        assert!(json.len() < DELTA_BYTES_MAX + 4_096, "{} bytes", json.len());
        stored.extend(decode(&delta.samples).expect("ours"));
    }
    assert_eq!(stored.len(), SAMPLES_PER_TICK_MAX);
    let dropped: u64 = deltas.iter().map(|delta| delta.samples_dropped).sum();
    assert_eq!(dropped, 120_000 - SAMPLES_PER_TICK_MAX as u64);
    let mut alone = Tally::new();
    for call in usual(SAMPLES_PER_TICK_MAX as u64 + 7) {
        alone.sample(call);
    }
    let deltas = ledger.close(alone.take(), 1, 2, Gauges::default());
    let dropped: u64 = deltas.iter().map(|delta| delta.samples_dropped).sum();
    assert_eq!(dropped, 7);
}

/// The log has to store all calls: the handbook states what one call costs there.
#[test]
fn a_usual_call_costs_some_ten_bytes() {
    let calls = usual(1_000);
    let bytes: usize = encode(&calls).iter().map(|text| text.0.len()).sum();
    assert!(
        bytes < 12 * calls.len(),
        "{bytes} bytes for {} calls",
        calls.len()
    );
}

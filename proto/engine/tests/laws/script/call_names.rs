//! Calls made in Python: identified by their names, whatever numbers the deltas give them.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_engine::check;
use loadpilot_engine::tally::{CallEnd, Ledger, Phases, RowKey, Tally};
use loadpilot_events::answers::report::{CallReport, Report};
use loadpilot_events::id::BootId;
use loadpilot_events::limits::RAISED_MAX;
use loadpilot_events::log::delta::Gauges;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::plan::script::{CallName, RaisedBy};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fold::projection::{balances, fold};
use crate::rules::dice::Dice;
use crate::rules::plans;
use crate::support::history::{History, Record};

/// Calls `change` for every plan in a record.
fn each_plan(value: &mut Value, change: &dyn Fn(&mut Value)) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields.iter_mut() {
                match name == "plan" {
                    true => change(inner),
                    false => each_plan(inner, change),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each_plan(item, change)),
        _ => {}
    }
}

fn rewritten(record: &Record, change: impl FnOnce(&mut Value)) -> Record {
    let mut value: Value = serde_json::from_slice(&record.payload).expect("JSON");
    change(&mut value);
    let payload = serde_json::to_vec(&value).expect("JSON");
    Record {
        payload,
        ..record.clone()
    }
}

/// The same log as if the scenario had run in Python: no steps in the plan, and in each delta other
/// numbers for the calls.
fn in_python(history: &History, dice: &mut Dice) -> (Vec<Record>, Vec<Record>) {
    let script = json!({
        "bundle": {"sha256": "0".repeat(64), "bytes": 1},
        "file": "laws.py",
        "users": 5,
    });
    let to_python = |plan: &mut Value| {
        plan["script"] = script.clone();
        for task in plan["tasks"].as_array_mut().expect("tasks") {
            task["steps"] = json!([]);
        }
    };
    let control = history.control.iter();
    let control = control.map(|record| rewritten(record, |value| each_plan(value, &to_python)));
    let tasks: Vec<usize> = history.plan.calls().map(|(task, _)| task).collect();
    let (mut deltas, mut firsts) = (Vec::new(), BTreeMap::new());
    for record in &history.data {
        // A delta that is stored twice is one delta.
        let first = firsts.entry(record.payload.clone());
        let first = *first.or_insert_with(|| dice.pick(0..30_000));
        deltas.push(rewritten(record, |value| {
            let mut named = BTreeSet::new();
            for rows in ["calls", "anatomy"] {
                let rows = value["event"].get_mut(rows).and_then(Value::as_array_mut);
                for row in rows.into_iter().flatten() {
                    let call = row["call"].as_u64().expect("a number");
                    named.insert(call);
                    row["call"] = json!(first + 7 * call);
                }
            }
            let name = |&call: &u64| {
                let task = tasks[usize::try_from(call).expect("small")];
                json!({"call": first + 7 * call, "task": task, "name": format!("call {call}")})
            };
            value["event"]["names"] = named.iter().map(name).collect();
        }));
    }
    (control.collect(), deltas)
}

/// The report of each call that was made, by its number in the compiled plan.
fn by_number(report: &Report, named: bool) -> BTreeMap<usize, CallReport> {
    let calls = report.tasks.iter().flat_map(|task| &task.calls);
    let number = |(place, call): (usize, &CallReport)| {
        let number = match named {
            true => call
                .name
                .trim_start_matches("call ")
                .parse()
                .expect("a number"),
            false => place,
        };
        let name = String::new();
        (
            number,
            CallReport {
                name,
                ..call.clone()
            },
        )
    };
    let made = calls.enumerate().map(number);
    made.filter(|(_, call)| call.counts.attempted > 0).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// Broken if a call made in Python is counted as another call, twice, or not at all.
    #[test]
    fn names_say_what_numbers_say(seed: u64) {
        // Not a mix: a mix never runs in Python.
        let history = History::of(seed, plans::plan);
        let compiled = fold(&history, &history.control, &history.data);
        let dice = &mut Dice::new(!seed);
        let (control, mut data) = in_python(&history, dice);
        let python = fold(&history, &control, &data);
        balances(&python);
        prop_assert_eq!(&python.gaps, &compiled.gaps);
        prop_assert_eq!(&python.calls, &compiled.calls);
        prop_assert_eq!(&python.latency, &compiled.latency);
        prop_assert_eq!(by_number(&python, true), by_number(&compiled, false));
        for (one, other) in python.tasks.iter().zip(&compiled.tasks) {
            prop_assert_eq!(&one.arrivals, &other.arrivals);
            prop_assert_eq!(&one.response, &other.response);
            prop_assert_eq!((one.errors, one.finished), (other.errors, other.finished));
        }
        dice.shuffle(&mut data);
        prop_assert_eq!(fold(&history, &control, &data).digest, python.digest);
    }
}

fn end(call: u16) -> CallEnd {
    CallEnd {
        tick: 0,
        generation: 1,
        call,
        outcome: Outcome::Ok,
        response_us: 10,
        service_us: 10,
        status: Some(200),
        cause: None,
        sent_bytes: 0,
        received_bytes: 0,
        phases: Phases::default(),
    }
}

fn name(call: u16, name: &str) -> CallName {
    CallName {
        call,
        task: 0,
        name: name.to_owned(),
    }
}

/// Broken if a delta lacks the name of one of its calls, or contains a name that it does not use.
#[test]
fn each_part_of_a_delta_names_its_own_calls() {
    let mut tally = Tally::new();
    let long = "x".repeat(100);
    for call in 10..3_010 {
        tally.name(&name(call, &format!("{long} {call}")));
        tally.call(&end(call));
    }
    tally.name(&name(9, "never made"));
    let mut ledger = Ledger::new(BootId::parse("b").expect("a token"));
    let deltas = ledger.close(tally.take(), 0, 1, Gauges::default());
    assert!(deltas.len() > 1, "it was to be split");
    let mut all_named = BTreeSet::new();
    for delta in &deltas {
        let calls = delta.calls.iter().map(|row| row.call);
        let used: BTreeSet<u16> = calls
            .chain(delta.anatomy.iter().map(|row| row.call))
            .collect();
        let named: BTreeSet<u16> = delta.names.iter().map(|named| named.call).collect();
        assert_eq!(named, used);
        all_named.extend(named);
    }
    assert_eq!(all_named.len(), 3_000);
    let idle = ledger.close(tally.take(), 1, 2, Gauges::default());
    assert!(idle[0].names.is_empty());
}

/// Broken if errors whose texts are all different fill the log.
#[test]
fn errors_beyond_the_limit_go_together() {
    let mut tally = Tally::new();
    let key = RowKey {
        tick: 0,
        generation: 1,
        task: 0,
    };
    tally.started(key);
    for n in 0..1_000 {
        tally.raised(0, RaisedBy::Check, &format!("AssertionError: {}", n % 100));
        tally.raised(1, RaisedBy::Task, "KeyError: 'id'");
    }
    tally.traced(1, RaisedBy::Task, "KeyError: 'id'", "shop.py:3 in buy");
    tally.traced(0, RaisedBy::Check, "beyond the limit", "shop.py:9 in look");
    let mut ledger = Ledger::new(BootId::parse("b").expect("a token"));
    let deltas = ledger.close(tally.take(), 0, 1, Gauges::default());
    let rows: Vec<_> = deltas.into_iter().flat_map(|delta| delta.raised).collect();
    let of = |task: u16| rows.iter().filter(move |row| row.task == task);
    assert_eq!(of(0).count(), RAISED_MAX + 1);
    assert_eq!(of(0).map(|row| row.count).sum::<u64>(), 1_000);
    let others = of(0).find(|row| row.text == "(other errors)");
    assert_eq!(others.map(|row| row.count), Some(800));
    assert_eq!(of(1).map(|row| row.count).collect::<Vec<_>>(), [1_000]);
    let traces: Vec<&str> = rows.iter().filter_map(|row| row.trace.as_deref()).collect();
    assert_eq!(traces, ["shop.py:3 in buy"]);
}

/// Broken if a run with more agents than prepared users is accepted, or one without a key or states
/// to fetch.
#[test]
fn prepared_users_are_checked_before_the_run() {
    let golden = include_str!("../../../../golden/plan-prepared.v1.json");
    let fields = |change: fn(&mut Value)| {
        let plan: Value = serde_json::from_str(golden).expect("JSON");
        let mut request = json!({"plan": plan, "seed": 1, "lead_us": 0,
            "agents": {"want": 20, "min": 1, "wait_us": 0}});
        change(&mut request);
        let request: RunRequested = serde_json::from_value(request).expect("a request");
        let found = check::request(&request).into_iter();
        found.map(|problem| problem.field).collect::<Vec<_>>()
    };
    assert_eq!(fields(|_| {}), [""; 0]);
    assert_eq!(fields(|r| r["agents"]["want"] = json!(21)), ["agents.want"]);
    let shared_only = |r: &mut Value| {
        r["agents"]["want"] = json!(21);
        r["plan"]["script"]["prepared"]["users"] = json!(false);
    };
    assert_eq!(fields(shared_only), [""; 0], "agents prepare their own");
    assert_eq!(
        fields(|r| r["plan"]["script"]["prepared"]["key_secret"] = json!("")),
        ["script.prepared.key_secret"]
    );
    assert_eq!(
        fields(|r| r["plan"]["script"]["prepared"]["states"]["bytes"] = json!(0)),
        ["script.prepared.states.bytes"]
    );
}

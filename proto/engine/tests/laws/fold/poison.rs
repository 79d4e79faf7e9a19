//! Poison: a record that the product did not write is set aside and changes nothing else.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use loadpilot_engine::control::ControlLog;
use loadpilot_engine::fold::project::{Projection, SeqSet};
use loadpilot_engine::report::live::LiveView;
use loadpilot_engine::report::report;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::answers::report::{Grade, Report, RunState};
use loadpilot_events::id::AgentId;
use loadpilot_events::log::hist::{self, EncodedHistogram};
use loadpilot_events::units::Timestamp;
use loadpilot_events::wire::subject::Kind;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fold::projection::{add, balances, control, fold};
use crate::support::history::{History, Record, encode};
use crate::support::naive::set_aside;

/// One history for all tests of this file.
fn history() -> &'static History {
    static HISTORY: LazyLock<History> = LazyLock::new(|| History::new(5));
    &HISTORY
}

fn histogram(value_us: u64) -> EncodedHistogram {
    let mut one = hist::latency();
    hist::record(&mut one, value_us);
    hist::encode(&one)
}

/// A histogram with as many values as it can count.
fn crowded() -> EncodedHistogram {
    let mut all = hist::latency();
    for value_us in 1..4 {
        all.record_n(value_us, i64::MAX as u64).expect("in range");
    }
    hist::encode(&all)
}

/// A delta as its holder could have sent it; `change` then damages it.
fn delta(history: &History, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let boot = &history.maps[0].holdings[0].holder.boot_id;
    let hist = histogram(5);
    let mut delta = json!({
        "boot_id": boot.as_str(), "seq": 900, "from_us": 0, "to_us": 1,
        "arrivals": [{"tick": 0, "generation": 1, "task": 0, "started": 1}],
        "calls": [{"tick": 0, "generation": 1, "call": 0, "outcome": "ok", "count": 1,
                   "response": hist, "service": hist}],
        "anatomy": [{"tick": 0, "generation": 1, "call": 0, "phases": {}}],
        "totals": {"started": 1, "calls": {"ok": 1}}, "gauges": {
            "in_flight": 0, "waiting": 0, "oldest_us": 0, "cpu_millicores": 0,
            "busiest_core_permille": 0, "stall_us": 0, "open_fds": 0},
    });
    change(&mut delta);
    encode(&delta)
}

type Damage = fn(&mut Value);

const MAX: u64 = u64::MAX;

const DAMAGES: [(&str, Damage); 43] = [
    ("no number", |d| d["seq"] = json!("one")),
    ("sequence 0", |d| d["seq"] = json!(0)),
    ("sequence beyond reason", |d| d["seq"] = json!(MAX)),
    ("a stranger's boot", |d| d["boot_id"] = json!("stranger")),
    ("a generation that never was", |d| {
        d["arrivals"][0]["generation"] = json!(77)
    }),
    ("generation 0", |d| d["calls"][0]["generation"] = json!(0)),
    ("a tick beyond the run", |d| {
        d["arrivals"][0]["tick"] = json!(u32::MAX)
    }),
    ("a call in such a tick", |d| {
        d["calls"][0]["tick"] = json!(u32::MAX)
    }),
    ("no such task", |d| d["arrivals"][0]["task"] = json!(9)),
    ("no such call", |d| d["calls"][0]["call"] = json!(u16::MAX)),
    ("no such call's anatomy", |d| {
        d["anatomy"][0]["call"] = json!(u16::MAX)
    }),
    ("too many started", |d| {
        d["arrivals"][0]["started"] = json!(MAX)
    }),
    ("too many dropped", |d| {
        d["arrivals"][0]["dropped"] = json!({"late": MAX})
    }),
    ("too many errors", |d| {
        d["arrivals"][0]["task_errors"] = json!(MAX)
    }),
    ("more calls than values", |d| {
        d["calls"][0]["count"] = json!(2)
    }),
    ("too many calls", |d| d["calls"][0]["count"] = json!(MAX)),
    ("too many bytes", |d| {
        d["calls"][0]["sent_bytes"] = json!(MAX)
    }),
    ("too many connections", |d| {
        d["anatomy"][0]["connections_opened"] = json!(MAX)
    }),
    ("more tokens than can be added", |d| {
        let phases = json!({"first_token": crowded(), "token_gap": crowded()});
        d["anatomy"][0]["phases"] = phases;
    }),
    ("histograms that unpack to too much", |d| {
        let row = wide(&mut d["calls"][0], 1);
        d["calls"] = json!(vec![row; 600]);
    }),
    ("full histograms in few bytes", |d| {
        let row = wide(&mut d["calls"][0], hist::HIST_COUNTS_MAX as u64 / 2);
        d["calls"] = json!(vec![row; 20]);
    }),
    ("no histogram", |d| {
        d["calls"][0]["response"] = json!("AAAA")
    }),
    ("no base64", |d| d["calls"][0]["service"] = json!("%")),
    ("totals beyond reason", |d| {
        d["totals"] = json!({"started": MAX})
    }),
    ("gauges beyond reason", |d| {
        d["gauges"]["waiting"] = json!(MAX)
    }),
    ("another name for a call of the plan", |d| {
        d["names"] = json!([{"call": 0, "task": 0, "name": "GET /"}])
    }),
    ("a name for a call of a task with steps", |d| {
        d["names"] = json!([{"call": 60_000, "task": 0, "name": "GET /"}])
    }),
    ("a name for a call of an unknown task", |d| {
        d["names"] = json!([{"call": 60_000, "task": 9_999, "name": "GET /"}])
    }),
    ("a name without an end", |d| {
        let name = "x".repeat(10_000);
        d["names"] = json!([{"call": 60_000, "task": 0, "name": name}])
    }),
    ("an error without an end", |d| {
        let text = "x".repeat(10_000);
        d["raised"] = json!([{"task": 0, "by": "task", "text": text, "count": 1}])
    }),
    (
        "too many errors raised",
        |d| d["raised"] = json!([{"task": 0, "by": "check", "text": "x", "count": MAX}]),
    ),
    ("too many checks", |d| {
        d["arrivals"][0]["checks_failed"] = json!(MAX)
    }),
    ("too many sessions", |d| {
        d["arrivals"][0]["sessions"] = json!({"started": MAX, "ended": 0})
    }),
    ("a metric without a name", |d| {
        added(d, "", 0, counter(1, 0))
    }),
    ("a metric of no task", |d| {
        added(d, "m", 9_999, counter(1, 0))
    }),
    ("a sum beyond reason", |d| added(d, "m", 0, counter(MAX, 0))),
    ("more than a million millionths", |d| {
        added(d, "m", 0, counter(0, 1_000_000))
    }),
    ("a value in another form", |d| {
        added(d, "m", 0, json!({"trend": {"values": [[25, 1, 1]]}}))
    }),
    ("too many values", |d| {
        added(d, "m", 0, json!({"trend": {"values": [[2500, -1, MAX]]}}))
    }),
    ("a trend of nothing", |d| {
        added(d, "m", 0, json!({"trend": {"values": []}}))
    }),
    ("a value that never was", |d| {
        added(d, "m", 0, json!({"trend": {"values": [[2500, -1, 0]]}}))
    }),
    ("a rate of nothing", |d| {
        added(d, "m", 0, json!({"rate": {"count": 0, "trues": 0}}))
    }),
    ("more true than there are", |d| {
        added(d, "m", 0, json!({"rate": {"count": 1, "trues": 2}}))
    }),
];

/// A row whose histograms contain `count` values and have the widest range that a reader accepts.
fn wide(row: &mut Value, count: u64) -> Value {
    let mut values = hist::latency();
    hist::record(&mut values, hist::HIST_US_MAX);
    let mut value_us = 1;
    for _ in 1..count {
        hist::record(&mut values, value_us);
        // One value in each bucket.
        value_us += 1 << value_us.ilog2().saturating_sub(10);
    }
    let values = json!(hist::encode(&values));
    row["count"] = json!(count);
    (row["response"], row["service"]) = (values.clone(), values);
    row.clone()
}

/// Adds a row of a metric to a delta.
fn added(delta: &mut Value, name: &str, task: u16, added: Value) {
    let row = json!({"tick": 0, "generation": 1, "task": task, "name": name, "added": added});
    delta["metrics"] = json!([row]);
}

fn counter(whole: u64, millionths: u32) -> Value {
    json!({"counter": {"whole": whole, "millionths": millionths}})
}

/// The reports without and with `payload` as a first delta of the first holder, read twice.
fn reports(payload: Vec<u8>) -> (Report, Report) {
    let history = history();
    let agent = &history.maps[0].holdings[0].holder.agent;
    let poison = Record {
        subject: history.subjects.delta(&history.run, agent),
        kind: Kind::Delta(agent.clone()),
        seq: 0,
        payload,
    };
    let clean = fold(history, &history.control, &history.data);
    let control = control(history, &history.control);
    let mut data = Projection::default();
    add(&mut data, &control, &[poison.clone(), poison]);
    add(&mut data, &control, &history.data);
    (clean, report(&control, &data).expect("the run is known"))
}

/// One impossible delta must neither stop the fold nor change a figure.
#[test]
fn every_damaged_delta_is_set_aside_by_name() {
    let history = history();
    for (what, damage) in DAMAGES {
        let (clean, found) = reports(delta(history, damage));
        let set_aside: Vec<_> = set_aside(&found).collect();
        assert_eq!(set_aside.len(), 1, "{what}: {set_aside:?}");
        assert!(
            !set_aside[0].reason.is_empty() && set_aside[0].seq == 0,
            "{what}"
        );
        assert_eq!(found.arrivals, clean.arrivals, "{what}");
        assert_eq!(found.calls, clean.calls, "{what}");
        assert_eq!(found.latency, clean.latency, "{what}");
        assert_eq!(found.run.holders, clean.run.holders, "{what}");
    }
}

/// The undamaged delta must count; otherwise the table above would prove nothing.
#[test]
fn the_same_delta_undamaged_counts() {
    let (clean, found) = reports(delta(history(), |_| {}));
    assert_eq!(found.calls.attempted, clean.calls.attempted + 1);
    assert!(found.calls.attempted > 1);
}

/// A forged delta whose sums are consistent counts row by row, so that the accounting has to name
/// the impossible figures.
#[test]
fn figures_that_contradict_the_plan_are_named() {
    let history = history();
    let names = |found: &Report, part: &str| {
        let set_aside = &found.gaps.quarantined;
        assert!(
            set_aside.iter().any(|q| q.reason.contains(part)),
            "{set_aside:?}"
        );
        assert_ne!(found.certificate.grade, Grade::Valid);
    };
    let too_many = delta(history, |d| d["arrivals"][0]["started"] = json!(1_000_000));
    names(&reports(too_many).1, "planned");
    let wrong_totals = delta(history, |d| {
        d["seq"] = json!(1);
        d["totals"] = json!({"started": 7});
    });
    let alone = Record {
        payload: wrong_totals,
        subject: "delta".to_owned(),
        kind: Kind::Delta(history.maps[0].holdings[0].holder.agent.clone()),
        seq: 1,
    };
    names(&fold(history, &history.control, &[alone]), "totals say");
}

/// In a log without last words a delta of any number counts; the figures that it adds are
/// impossible.
#[test]
fn more_calls_than_started_arrivals_can_make_invalidate() {
    let forged = delta(history(), |d| {
        let mut many = hist::latency();
        many.record_n(5, 655_760).expect("in range");
        let many = hist::encode(&many);
        d["calls"][0]["count"] = json!(655_760);
        (d["calls"][0]["response"], d["calls"][0]["service"]) = (json!(many), json!(many));
        d["totals"]["calls"]["ok"] = json!(655_760);
    });
    let (clean, found) = reports(forged);
    assert_eq!(clean.gaps.surplus_pct, None);
    assert!(
        found.gaps.surplus_pct > Some(1.0),
        "{:?}",
        found.gaps.surplus_pct
    );
    assert_eq!(found.certificate.grade, Grade::Invalid);
    let findings = found.certificate.findings.iter();
    let mut more = findings.filter(|finding| finding.evidence.contains("than can have been"));
    assert_eq!(
        more.next().map(|finding| finding.grade),
        Some(Grade::Invalid)
    );
}

/// Totals that shrink, or are less than the rows, are named even if a delta in between is missing.
#[test]
fn totals_are_compared_beyond_a_hole() {
    let history = history();
    let holder = &history.maps[0].holdings[0].holder;
    let record = |seq: u64, started: u64| Record {
        subject: "delta".to_owned(),
        kind: Kind::Delta(holder.agent.clone()),
        seq,
        payload: delta(history, |d| {
            d["seq"] = json!(seq);
            d["totals"] = json!({"started": started, "calls": {"ok": 10 * seq}});
        }),
    };
    let named = |totals: [u64; 2]| {
        let [first, second] = totals;
        let mut data = [record(2, first), record(4, second)];
        let report = fold(history, &history.control, &data);
        data.reverse();
        let turned = fold(history, &history.control, &data);
        assert_eq!(report.digest, turned.digest, "the order matters");
        let reasons = report.gaps.quarantined.iter().map(|one| one.reason.clone());
        reasons
            .filter(|why| why.contains("totals of delta"))
            .collect::<Vec<_>>()
    };
    assert_eq!(named([1, 2]), [""; 0]);
    assert!(
        named([5, 5])[0].contains("totals of delta 4"),
        "less than before and the row"
    );
    assert!(
        named([0, 9])[0].contains("totals of delta 2"),
        "less than the row"
    );
}

/// The fold does not guess the meaning of a message of a newer version or of another kind.
#[test]
fn control_poison_is_set_aside_by_name() {
    let history = history();
    let clean = fold(history, &history.control, &history.data);
    let good: Value = serde_json::from_slice(&history.control[1].payload).expect("JSON");
    let mut newer = good.clone();
    newer["v"] = json!(99);
    let mut unknown = good;
    unknown["event"] = json!({"type": "RunDoubled"});
    let payloads = [
        b"{".to_vec(),
        newer.to_string().into(),
        unknown.to_string().into(),
    ];
    for (place, payload) in payloads.into_iter().enumerate() {
        let mut ctl = history.control.clone();
        let poison = Record {
            seq: 0,
            payload,
            ..ctl[1].clone()
        };
        ctl.push(poison);
        let found = fold(history, &ctl, &history.data);
        assert_eq!(
            found.gaps.quarantined.len(),
            clean.gaps.quarantined.len() + 1,
            "poison {place}"
        );
        assert_eq!(found.arrivals, clean.arrivals, "poison {place}");
    }
}

/// The log contains requests that no check has examined: the report of an invalid one shows the
/// refusal.
#[test]
fn a_refused_plan_of_any_shape_has_a_report() {
    let history = history();
    let good: Value = serde_json::from_slice(&history.control[0].payload).expect("JSON");
    let damages: [Damage; 6] = [
        |plan| plan["tick_us"] = json!(0),
        |plan| plan["profile"]["pieces"] = json!([]),
        |plan| plan["profile"]["pieces"][0]["duration_us"] = json!(0),
        |plan| plan["profile"]["pieces"][0]["from"] = json!(MAX),
        |plan| plan["tasks"] = json!([]),
        |plan| plan["tasks"][0]["weight"] = json!(0),
    ];
    for (place, damage) in damages.into_iter().enumerate() {
        let mut request = good.clone();
        damage(&mut request["event"]["plan"]);
        let mut ctl = vec![history.control[0].clone()];
        ctl[0].payload = request.to_string().into();
        let found = fold(history, &ctl, &[]);
        assert_eq!(found.run.state, RunState::Requested, "plan {place}");
        assert_eq!(
            found.arrivals.planned, 0,
            "nothing is planned before it is accepted"
        );
        assert!(!found.verdict.passed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever bytes the log contains, every fold of it ends.
    #[test]
    fn no_bytes_stop_a_fold(place: usize, byte: u8, cut: usize, low: bool) {
        let history = history();
        let mut payload = delta(history, |_| {});
        let place = place % payload.len();
        payload[place] = if low { payload[place] ^ 1 } else { byte };
        payload.truncate(if cut % 4 == 0 { cut % payload.len() } else { payload.len() });
        let agent = &history.maps[0].holdings[0].holder.agent;
        let control = control(history, &history.control);
        let (mut data, mut live) = (Projection::default(), LiveView::default());
        for _ in 0..2 {
            data.add(&control, agent, "subject", 1, &payload);
            live.add(agent, &payload);
        }
        let workload = Workload::new(&history.plan, 1);
        let snapshot = live.snapshot(&control, &workload, Timestamp(u64::MAX));
        prop_assert!(snapshot.requests_total <= 1 << 36);
        report(&control, &data).expect("the run is known");
        let mut log = ControlLog::new(history.run.clone());
        log.add("subject", &Kind::Ctl, 1, &payload);
        prop_assert_eq!(log.close().quarantined.len(), 1);
    }

    /// The set of seen numbers behaves as a set, whatever the numbers.
    #[test]
    fn seen_numbers_are_a_set(seqs in prop::collection::vec(
        prop_oneof![0..20_u64, Just(u64::MAX), Just(u64::MAX - 1)], 0..40))
    {
        let (mut set, mut naive) = (SeqSet::default(), BTreeSet::new());
        for seq in seqs {
            prop_assert_eq!(set.insert(seq), naive.insert(seq));
            prop_assert_eq!(set.count(), naive.len() as u64);
            prop_assert_eq!(set.last(), naive.last().copied().unwrap_or(0));
            for to in [0, 1, 7, 30] {
                let missing = (1..=to).filter(|seq| !naive.contains(seq)).count();
                prop_assert_eq!(set.missing_up_to(to), missing as u64);
            }
        }
    }
}

/// A holder that held nothing cannot have counted anything; its gauges do not count either.
#[test]
fn the_delta_of_an_agent_that_held_nothing_is_set_aside() {
    let history = history();
    let clean = fold(history, &history.control, &history.data);
    let damages: [Damage; 2] = [
        |_| {},
        |d| {
            (d["arrivals"], d["calls"], d["anatomy"]) = (json!([]), json!([]), json!([]));
            d["gauges"]["busiest_core_permille"] = json!(1_000);
        },
    ];
    for damage in damages {
        let mut stranger = history.data[0].clone();
        stranger.kind = Kind::Delta(AgentId::parse("stranger").expect("a token"));
        stranger.payload = delta(history, damage);
        stranger.seq = 0;
        let mut deltas = history.data.clone();
        deltas.push(stranger);
        let found = fold(history, &history.control, &deltas);
        let set_aside: Vec<_> = set_aside(&found).collect();
        assert_eq!(set_aside.len(), 1);
        assert!(set_aside[0].reason.contains("never held shards"));
        assert_eq!(found.generator, clean.generator);
        balances(&found);
    }
}

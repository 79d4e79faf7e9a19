//! What the log of a run that holds gates says about its rate.

use loadpilot_engine::report::what_if::next_change;
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::steer::hold::HoldWindow;
use loadpilot_events::log::steer::{Paused, Resumed};
use loadpilot_events::plan::threshold::{Metric, Threshold};
use loadpilot_events::plan::{Piece, Plan, PlanSchema, Profile, Shape};
use loadpilot_events::units::{Rate, SECOND_US};
use loadpilot_events::wire::subject::Kind;

use crate::report::slices::{Whole, parsed};
use crate::rules::plans;
use crate::support::history::{History, Record, encode};

/// Time of the run at which these tests judge it.
const REACHED_US: u64 = 8 * SECOND_US;

fn gate(metric: Metric, limit: f64) -> Threshold {
    Threshold {
        metric,
        task: None,
        limit,
        operator: None,
        own: None,
    }
}

/// The history of a running run with a constant rate.
fn going(seed: u64, hold: Vec<Threshold>) -> History {
    let rate = Rate::per_second(40);
    let piece = Piece {
        duration_us: 20 * SECOND_US,
        from: rate,
        to: rate,
    };
    let mut history = History::of(seed, |dice| Plan {
        schema: PlanSchema::V2,
        profile: Profile {
            shape: Shape::Constant,
            pieces: vec![piece],
        },
        warm_up_us: 0,
        tick_us: SECOND_US,
        hold,
        ..plans::plan(dice)
    });
    let is_end = |record: &Record| {
        let text = String::from_utf8_lossy(&record.payload);
        ["RunSealed", "StopScheduled"]
            .iter()
            .any(|kind| text.contains(kind))
    };
    history.control.retain(|record| !is_end(record));
    let is_there = |record: &Record| {
        let record = parsed(record.seq, &record.payload);
        let delta = record.delta();
        delta.is_some_and(|(_, delta)| delta.to_us <= REACHED_US)
    };
    history.data.retain(is_there);
    history
}

/// Appends a decision to the log.
fn decided(history: &mut History, decision: &Decision) {
    let last = history.control.last().map_or(0, |record| record.seq);
    history.control.push(Record {
        subject: history.subjects.ctl(&history.run),
        kind: Kind::Ctl,
        seq: last + 1,
        payload: encode(decision),
    });
}

/// The window of figures that the next change of the rate is based on.
fn measured(history: &History) -> Option<HoldWindow> {
    let whole = Whole::of(history, &history.data);
    next_change(whole.run()).map(|(_, window)| window)
}

/// Seeds of runs that can be judged up to [`REACHED_US`]: no holder was silent in the last tick.
fn seeds(hold: &[Threshold]) -> impl Iterator<Item = u64> {
    (1..).filter(|seed| {
        let window = measured(&going(*seed, hold.to_vec()));
        window.is_some_and(|window| window.to_us == REACHED_US)
    })
}

/// Broken if a target that rejects requests quickly passes at any rate, or if a gate on errors is
/// overruled.
#[test]
fn errors_fail_a_rate_unless_a_gate_for_them_is_held() {
    let fast = gate(Metric::P50Ms, 10_000.0);
    let hold = vec![fast.clone(), gate(Metric::ErrorRate, 100.0)];
    for seed in seeds(&hold).take(4) {
        let window = measured(&going(seed, vec![fast.clone()])).expect("it fails");
        let failed = (window.key.as_str(), window.limit, window.passed);
        assert_eq!(failed, ("error_rate", 1.0, false), "seed {seed}");
        assert!(window.actual.is_some_and(|actual| actual > 1.0));
        let window = measured(&going(seed, hold.clone())).expect("arrivals were dropped");
        assert_eq!(window.key, "p50_ms", "seed {seed}: no gate failed");
    }
}

/// Broken if arrivals that a pause dropped make the rate fail.
#[test]
fn a_pause_is_in_no_measurement() {
    let hold = [gate(Metric::P50Ms, 1.0)];
    let seed = seeds(&hold).next().expect("holders are seldom silent");
    let history = going(seed, hold.to_vec());
    let from_us = |history: &History| measured(history).map(|window| window.from_us);
    assert_eq!(from_us(&history), Some(3 * SECOND_US), "the last ticks");
    let start = Whole::of(&history, &[]).control.state.start;
    let start_at = start.expect("it started").start_at;
    for (resumed_us, expected) in [
        (1_900_000, Some(3 * SECOND_US)),
        (3_200_000, Some(5 * SECOND_US)),
        (REACHED_US - 1, None),
    ] {
        let mut history = going(seed, hold.to_vec());
        let paused = Decision::Paused(Paused {
            request: 98,
            by: "a user".to_owned(),
            paused_at: start_at.plus_us(1_500_000),
        });
        decided(&mut history, &paused);
        assert_eq!(from_us(&history), None, "while it is paused");
        let resumed = Decision::Resumed(Resumed {
            request: 99,
            by: "a user".to_owned(),
            resumed_at: start_at.plus_us(resumed_us),
        });
        decided(&mut history, &resumed);
        assert_eq!(from_us(&history), expected, "resumed at {resumed_us}");
    }
}

//! Explanations of changed percentiles: they name the call, phase and time that were made slower,
//! and their contributions add up.

use std::collections::BTreeMap;
use std::ops::Range;

use loadpilot_engine::report::compare::compare;
use loadpilot_events::answers::certificate::Grade;
use loadpilot_events::answers::compare::{
    CallParts, CallShift, Comparison, Explanation, GroupParts, RunPart, RunParts,
};
use loadpilot_events::log::delta::Phase;
use loadpilot_events::log::hist;

use crate::rules::dice::Dice;
use crate::support::run_parts::completed;

const PARTS: usize = 40;
const PART_US: u64 = 1_000_000;
const WARM_UP_US: u64 = 3_000_000;
/// Task, name and usual time to the first byte of each call, in µs.
const CALLS: [(&str, &str, u64); 3] = [
    ("browse", "home", 4_000),
    ("browse", "search", 9_000),
    ("buy", "pay", 14_000),
];
const PHASES: [Phase; 5] = [
    Phase::Queue,
    Phase::Connect,
    Phase::Tls,
    Phase::FirstByte,
    Phase::LastByte,
];

/// The part of a run that is slower than usual.
#[derive(Clone)]
struct Slowed {
    call: usize,
    phase: Phase,
    by_us: u64,
    percent: u64,
    parts: Range<usize>,
}

/// 40 % of the requests of one call are slower, in all parts.
const SLOWER: Slowed = Slowed {
    call: 1,
    phase: Phase::FirstByte,
    by_us: 30_000,
    percent: 40,
    parts: 0..PARTS,
};

/// A run of which every request is known.
struct Known {
    parts: RunParts,
    /// Call and response time of each request, in µs.
    requests: Vec<(usize, u64)>,
}

fn run(seed: u64, slowed: Option<&Slowed>, weights: [u64; 3]) -> Known {
    let dice = &mut Dice::new(seed);
    let mut requests = Vec::new();
    let mut whole = Vec::new();
    let mut calls: Vec<(Vec<hist::Hist>, BTreeMap<Phase, hist::Hist>)> = CALLS
        .iter()
        .map(|_| (Vec::new(), BTreeMap::new()))
        .collect();
    for part in 0..PARTS {
        let mut all = hist::latency();
        for (place, (sums, phases)) in calls.iter_mut().enumerate() {
            let mut own = hist::latency();
            for _ in 0..weights[place] {
                let mut response_us = 0;
                for phase in PHASES {
                    let is_slow = slowed.is_some_and(|slowed| {
                        (slowed.call, slowed.phase) == (place, phase)
                            && slowed.parts.contains(&part)
                    }) && slowed.is_some_and(|slowed| dice.chance(slowed.percent));
                    let usual_us = match phase {
                        Phase::Queue => dice.pick(1..50),
                        Phase::Connect | Phase::Tls if !dice.chance(10) => 0,
                        Phase::Connect | Phase::Tls => dice.pick(200..600),
                        Phase::FirstByte => CALLS[place].2 * dice.pick(80..140) / 100,
                        _ => dice.pick(50..400),
                    };
                    let us = usual_us + slowed.filter(|_| is_slow).map_or(0, |slowed| slowed.by_us);
                    if us > 0 {
                        hist::record(phases.entry(phase).or_insert_with(hist::anatomy), us);
                    }
                    response_us += us;
                }
                requests.push((place, response_us));
                hist::record(&mut own, response_us);
            }
            all.add(&own).expect("it grows");
            sums.push(own);
        }
        whole.push(RunPart {
            length_us: PART_US,
            started: weights.iter().sum(),
            finished: weights.iter().sum(),
            errors: 0,
            response: hist::encode(&all),
        });
    }
    let calls = CALLS
        .iter()
        .zip(calls)
        .map(|((task, call, _), (sums, phases))| CallParts {
            task: (*task).to_owned(),
            call: (*call).to_owned(),
            response: sums.iter().map(hist::encode).collect(),
            phases: phases
                .iter()
                .map(|(phase, hist)| (*phase, hist::encode(hist)))
                .collect(),
        });
    let group = GroupParts {
        task: None,
        parts: whole,
    };
    let parts = RunParts {
        measured_from_us: WARM_UP_US,
        calls: calls.collect(),
        ..completed(vec![group])
    };
    Known { parts, requests }
}

fn compared(current: &Known, baseline: &Known) -> Comparison {
    let baseline = std::slice::from_ref(&baseline.parts);
    compare(&current.parts, baseline, 5.0).expect("both can be compared")
}

fn adds_up(explained: &Explanation) {
    let shift = explained.current_ms - explained.baseline_ms;
    let sum = explained.calls.iter().map(|call| call.ms).sum::<f64>() + explained.mix_ms;
    assert!(
        (sum - shift).abs() < 1e-6,
        "{sum} of {shift} ms: {explained:?}"
    );
    for call in &explained.calls {
        let sum = call.phases.values().sum::<f64>() + call.other_ms;
        assert!((sum - call.ms).abs() < 1e-6, "{call:?}");
    }
}

fn main_phase(call: &CallShift) -> Option<Phase> {
    let phases = call
        .phases
        .iter()
        .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    phases.map(|(phase, _)| *phase)
}

/// Percentile by sorting: the nearest rank.
fn percentile_us(requests: &[(usize, u64)], percent: u64) -> u64 {
    let mut all: Vec<u64> = requests.iter().map(|(_, us)| *us).collect();
    all.sort_unstable();
    all[(all.len() * usize::try_from(percent).expect("small")).div_ceil(100) - 1]
}

/// Broken if an explanation names another call, phase or time than the one that was made slower, in
/// either direction, or if contributions are lost.
#[test]
fn what_was_made_slower_is_named() {
    let mut wrong = Vec::new();
    for seed in 0..20 {
        let dice = &mut Dice::new(seed);
        let phase = PHASES[usize::try_from(seed).expect("small") % PHASES.len()];
        let (start, whole) = (dice.pick(8..25) as usize, dice.chance(50));
        let slowed = Slowed {
            call: dice.pick(0..3) as usize,
            phase,
            by_us: dice.pick(25_000..60_000),
            percent: dice.pick(30..90),
            parts: if whole { 0..PARTS } else { start..PARTS },
        };
        let usual = run(1_000 + seed, None, [100, 80, 60]);
        let slow = run(2_000 + seed, Some(&slowed), [100, 80, 60]);
        for (current, baseline) in [(&slow, &usual), (&usual, &slow)] {
            let found = compared(current, baseline);
            // If only a few parts are slow, p95 may differ by chance.
            let is_tail = |one: &&Explanation| one.figure.percent() >= Some(95.0);
            let explained = found.explained.iter().find(is_tail);
            let explained = explained.expect("p95 or p99 differs");
            adds_up(explained);
            let call = &explained.calls[0];
            let named = (&*call.task, &*call.call, main_phase(call));
            let (task, name, _) = CALLS[slowed.call];
            if named != (task, name, Some(phase)) {
                wrong.push(format!(
                    "seed {seed}: {task}/{name} {phase:?}, named {named:?}"
                ));
            }
            // The parts of the current run show the time of the change; an improvement has no such
            // time.
            let expected = (std::ptr::eq(current, &raw const slow) && !whole).then_some([
                WARM_UP_US + start as u64 * PART_US,
                WARM_UP_US + PARTS as u64 * PART_US,
            ]);
            let off = |found: [u64; 2], expected: [u64; 2]| {
                found
                    .iter()
                    .zip(expected)
                    .any(|(one, other)| one.abs_diff(other) > PART_US)
            };
            let is_off = match (call.during_us, expected) {
                (Some(found), Some(expected)) => off(found, expected),
                (found, expected) => found != expected,
            };
            if is_off {
                wrong.push(format!(
                    "seed {seed}: {:?}, found {:?}",
                    expected, call.during_us
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Broken if the share of requests differs from a count of them.
#[test]
fn the_share_of_requests_is_counted() {
    let (usual, slow) = (run(1, None, [100; 3]), run(2, Some(&SLOWER), [100; 3]));
    let found = compared(&slow, &usual);
    for explained in &found.explained {
        let percent = explained.figure.percent().expect("a percentile") as u64;
        let value_us = percentile_us(&usual.requests, percent);
        for call in &explained.calls {
            let place = CALLS
                .iter()
                .position(|(_, name, _)| *name == call.call)
                .expect("ours");
            // Buckets are a thousandth wide: this counts requests above the bucket of the
            // percentile.
            let beyond = |requests: &[(usize, u64)]| {
                let beyond = requests
                    .iter()
                    .filter(|(of, us)| *of == place && *us > value_us);
                beyond.count() as f64 * 100.0 / requests.len() as f64
            };
            let counted = beyond(&slow.requests) - beyond(&usual.requests);
            assert!(
                (counted - call.requests_pct).abs() < 0.3,
                "{counted} % for {call:?}"
            );
        }
    }
    assert!(
        found
            .explained
            .iter()
            .any(|one| one.calls[0].requests_pct > 3.0)
    );
}

/// Broken if a call that is only more frequent is called slower, or if a call that only one run has
/// is lost.
#[test]
fn another_mix_is_no_slower_call() {
    let (usual, other) = (run(1, None, [200, 50, 50]), run(2, None, [50, 50, 200]));
    let found = compared(&other, &usual);
    let explained = found.explained.first().expect("the median rose");
    adds_up(explained);
    let shift = explained.current_ms - explained.baseline_ms;
    assert!(explained.mix_ms > 0.9 * shift, "{explained:?}");
    let mut without = run(3, None, [100, 100, 0]);
    without.parts.calls.pop();
    let found = compared(&usual, &without);
    found.explained.iter().for_each(adds_up);
}

/// Broken if figures are explained that did not change, or that cannot be judged.
#[test]
fn nothing_is_explained_without_a_change() {
    let (usual, same) = (run(1, None, [100; 3]), run(2, None, [100; 3]));
    assert!(compared(&same, &usual).explained.is_empty());
    let mut invalid = run(2, Some(&SLOWER), [100; 3]);
    invalid.parts.grade = Grade::Invalid;
    assert!(compared(&invalid, &usual).explained.is_empty());
    let mut slow = run(2, Some(&SLOWER), [100; 3]);
    assert!(!compared(&slow, &usual).explained.is_empty());
    slow.parts.calls.clear();
    assert!(
        compared(&slow, &usual).explained.is_empty(),
        "results files have no calls"
    );
}

//! The workload is a pure function: any split and any order of computation give the same arrivals.

use std::sync::Arc;

use loadpilot_engine::schedule::due_times::DueTimes;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::plan::{Arrivals, Plan};
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::rules::plans;

fn plan(seed: u64) -> Plan {
    plans::plan(&mut Dice::new(seed))
}

/// A plan of several Poisson blocks.
fn long_plan(seed: u64, arrivals: Arrivals) -> Plan {
    let mut plan = plan(seed);
    plan.arrivals = arrivals;
    for piece in &mut plan.profile.pieces {
        piece.from.0 *= 40;
        piece.to.0 *= 40;
    }
    plan
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Broken if an arrival's number does not determine its due time: it would be sent twice or
    /// never.
    #[test]
    fn due_times_rise_and_stay_inside_the_profile(seed: u64, poisson: bool) {
        let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Uniform };
        let workload = Workload::new(&long_plan(seed, arrivals), seed);
        let other = Arc::new(Workload::new(&long_plan(seed, arrivals), seed));
        let mut due_times = DueTimes::new(other);
        let dues: Vec<u64> = (0..workload.planned()).map(|n| due_times.due_us(n)).collect();
        prop_assert!(dues.is_sorted());
        prop_assert!(dues.last().is_some_and(|&last| last < workload.duration_us()));
        let mut dice = Dice::new(seed);
        for _ in 0..50 {
            // Computed out of order, without the arrivals before it.
            let n = dice.pick(0..workload.planned());
            prop_assert_eq!(workload.due_us(n), dues[n as usize]);
        }
    }

    /// Both kinds of arrivals offer exactly the integral of the rate, rounded up.
    #[test]
    fn poisson_offers_exactly_as_much_as_uniform(seed: u64) {
        let planned = [Arrivals::Poisson, Arrivals::Uniform]
            .map(|arrivals| Workload::new(&long_plan(seed, arrivals), seed).planned());
        prop_assert_eq!(planned[0], planned[1]);
        let micro: u128 = plan(seed).profile.pieces.iter()
            .map(|p| u128::from(p.from.0 + p.to.0) * 40 * u128::from(p.duration_us)).sum();
        prop_assert_eq!(u128::from(planned[0]), micro.div_ceil(2_000_000_000_000));
    }

    /// Takeovers, ticks and the warm-up all cut the arrivals by time: each cut must be exact.
    #[test]
    fn cutting_by_time_agrees_with_walking(seed: u64, poisson: bool) {
        let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Uniform };
        let workload = Workload::new(&long_plan(seed, arrivals), seed);
        let other = Arc::new(Workload::new(&long_plan(seed, arrivals), seed));
        let mut due_times = DueTimes::new(other);
        let dues: Vec<u64> = (0..workload.planned()).map(|n| due_times.due_us(n)).collect();
        let mut dice = Dice::new(seed);
        for _ in 0..40 {
            let near = dues[dice.pick(0..workload.planned()) as usize];
            for t_us in [near, near + 1, dice.pick(0..workload.duration_us() + 10)] {
                let walked = dues.iter().filter(|&&due| due < t_us).count() as u64;
                prop_assert_eq!(workload.first_at_or_after(t_us), walked, "at {} µs", t_us);
            }
        }
        let mut next = 0;
        for tick in 0..workload.ticks() {
            let range = workload.arrivals_in_tick(tick);
            prop_assert_eq!(range.start, next);
            next = range.end;
            for n in range {
                prop_assert_eq!(workload.tick_of(dues[n as usize]), tick);
            }
        }
        prop_assert_eq!(next, workload.planned());
    }

    /// Broken if weights hold only on average: every short window and every shard's share would be
    /// off.
    #[test]
    fn weights_hold_in_every_block(seed: u64, block in 0..1_000_u64) {
        let plan = plan(seed);
        let workload = Workload::new(&plan, seed);
        let weights: Vec<u64> = plan.tasks.iter().map(|task| task.weight.into()).collect();
        let len: u64 = weights.iter().sum();
        let mut counts = vec![0; weights.len()];
        for n in block * len..(block + 1) * len {
            counts[usize::from(workload.task_of(n))] += 1;
        }
        prop_assert_eq!(counts, weights);
    }

    /// Planned arrivals per task are computed in blocks; this test counts them one by one.
    #[test]
    fn counting_tasks_agrees_with_walking(seed: u64, from in 0..5_000_u64, len in 0..200_u64) {
        let plan = plan(seed);
        let workload = Workload::new(&plan, seed);
        let mut walked = vec![0; plan.tasks.len()];
        for n in from..from + len {
            walked[usize::from(workload.task_of(n))] += 1;
        }
        prop_assert_eq!(workload.count_per_task(from..from + len), walked);
    }
}

/// Broken if two seeds permute alike: every run would have the pattern of every other.
#[test]
fn the_seed_changes_the_order_of_tasks() {
    let plan = (0..)
        .map(plan)
        .find(|plan| plan.tasks.len() == 3)
        .expect("some plan");
    let tasks = |seed| {
        let workload = Workload::new(&plan, seed);
        (0..100).map(|n| workload.task_of(n)).collect::<Vec<_>>()
    };
    assert_ne!(tasks(1), tasks(2));
    assert_eq!(tasks(1), tasks(1));
}

/// A stored run is folded again for ever: these values are part of the format.
#[test]
fn arrivals_never_change() {
    let text = r#"{
        "schema": "loadpilot.plan/1", "scenario": "Frozen", "target": "http://127.0.0.1:1",
        "profile": {"shape": "ramp", "pieces": [
            {"duration_us": 2000000, "from": 0, "to": 700000000},
            {"duration_us": 1000000, "from": 700000000, "to": 700000000}]},
        "arrivals": "poisson", "warm_up_us": 0, "timeout_us": 1000000, "max_wait_us": 0,
        "max_lateness_us": 500000, "tick_us": 1000000,
        "tasks": [
            {"name": "a", "weight": 3, "steps": [{"name": "s", "method": "GET", "path": "/"}]},
            {"name": "b", "weight": 2, "steps": [{"name": "s", "method": "GET", "path": "/"}]}]
    }"#;
    let plan: Plan = serde_json::from_str(text).expect("a plan");
    let workload = Workload::new(&plan, 42);
    assert_eq!(workload.planned(), 1_400);
    let seen: Vec<(u64, u16)> = [0, 1, 7, 500, 1_023, 1_024, 1_399]
        .map(|n| (workload.due_us(n), workload.task_of(n)))
        .to_vec();
    assert_eq!(seen, FROZEN);
}

const FROZEN: [(u64, u16); 7] = [
    (99_777, 0),
    (104_245, 0),
    (265_776, 1),
    (1_692_629, 1),
    (2_462_592, 0),
    (2_463_714, 1),
    (2_995_781, 1),
];

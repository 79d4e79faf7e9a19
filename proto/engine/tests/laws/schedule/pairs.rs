//! Pairs: each target gets what a run of it alone would get, whichever agent computes it.

use std::sync::Arc;

use loadpilot_engine::check;
use loadpilot_engine::check::pairs::paired;
use loadpilot_engine::schedule::feed::Feeder;
use loadpilot_engine::schedule::random::DrawScope;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::plan::script::Feed;
use loadpilot_events::plan::threshold::{Metric, Threshold};
use loadpilot_events::plan::{Arrivals, Plan, PlanSchema, Rest};
use proptest::prelude::*;

use crate::fold::closed_loop;
use crate::rules::dice::Dice;
use crate::rules::plans::{self, sides};

/// A plan of one target, and the plan that compares two targets by it.
fn open(seed: u64) -> (Plan, Plan) {
    let plan = plans::plan(&mut Dice::new(seed));
    let both = paired(&plan, &sides()).expect("it can be compared");
    (plan, both)
}

/// The same for a closed loop.
fn closed(seed: u64, users: u32) -> (Plan, Plan) {
    let mut plan = closed_loop::plan(&mut Dice::new(seed), users, 9);
    plan.rest = Some(Rest::Wait {
        from_us: 5,
        to_us: 90_000,
    });
    let both = paired(&plan, &sides()).expect("it can be compared");
    (plan, both)
}

fn feed(rows: u64) -> Feed {
    Feed {
        name: "rows".to_owned(),
        rows,
        tasks: vec![0],
        prepares: true,
        cycles: true,
        unique: false,
        stops: false,
        shuffled: true,
        file: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Broken if a target gets another task, row or value than in a run of its own, or if only one
    /// half of a pair is offered.
    #[test]
    fn each_side_gets_what_it_gets_alone(seed: u64, from in 0..1_000_000_u64) {
        let (plan, both) = open(seed);
        let side = plan.tasks.len() as u16;
        let [alone, both] = [plan, both].map(|plan| Arc::new(Workload::new(&plan, seed)));
        let [mut own, mut rows] =
            [&alone, &both].map(|workload| Feeder::new(Arc::clone(workload), 0, &feed(30)));
        for pair in from..from + 100 {
            let task = alone.task_of(pair);
            let mut tasks = [both.task_of(2 * pair), both.task_of(2 * pair + 1)];
            tasks.sort_unstable();
            prop_assert_eq!(tasks, [task, task + side]);
            for half in [2 * pair, 2 * pair + 1] {
                let scope = both.draws_of(DrawScope::Arrival(half));
                prop_assert_eq!(scope, DrawScope::Arrival(pair));
                prop_assert_eq!(rows.row(scope), own.row(DrawScope::Arrival(pair)));
                prop_assert_eq!(both.reuse_draw_ppm(half, 0, 1), alone.reuse_draw_ppm(pair, 0, 1));
            }
        }
    }

    /// Broken if a pair is due at another time than the same arrival in a run of one target, or if
    /// its halves are apart.
    #[test]
    fn the_first_half_is_due_when_its_arrival_is(seed: u64) {
        let (mut plan, _) = open(seed);
        plan.arrivals = Arrivals::Uniform;
        let both = paired(&plan, &sides()).expect("it can be compared");
        let [alone, both] = [plan, both].map(|plan| Workload::new(&plan, seed));
        prop_assert!(both.planned().abs_diff(2 * alone.planned()) <= 1);
        for pair in 0..alone.planned() {
            prop_assert!(both.due_us(2 * pair).abs_diff(alone.due_us(pair)) <= 1);
        }
    }

    /// Broken if the first half of every pair goes to the same target.
    #[test]
    fn the_seed_draws_which_half_is_first(seed: u64) {
        let (_, both) = open(seed);
        let second = both.second_from().expect("two sides");
        let workload = Workload::new(&both, seed);
        let firsts = (0..1_000).filter(|pair| workload.task_of(2 * pair) < second).count();
        prop_assert!((400..=600).contains(&firsts), "{firsts} of 1000");
    }

    /// Broken if the planned arrivals of a task differ from those that are offered.
    #[test]
    fn tasks_are_counted_as_they_are_offered(seed: u64, from in 0..300_u64, length in 0..90_u64) {
        let (_, both) = open(seed);
        let workload = Workload::new(&both, seed);
        let mut counts = vec![0; both.tasks.len()];
        for n in from..from + length {
            counts[usize::from(workload.task_of(n))] += 1;
        }
        prop_assert_eq!(workload.count_per_task(from..from + length), counts);
    }

    /// Broken if halves of a pair are dealt to different agents, or an arrival to none.
    #[test]
    fn a_pair_is_in_one_shard(
        seed: u64,
        shards in 1..64_u32,
        owners in prop::collection::vec(0..3_u8, 64),
    ) {
        let (_, both) = open(seed);
        let workload = Workload::new(&both, seed);
        let mut seen = vec![None; 400];
        for owner in 0..3 {
            let owned: Vec<u32> = (0..shards).filter(|&s| owners[s as usize] == owner).collect();
            let share = workload.share_of(shards, owned.clone());
            for n in (0..400).filter(|&n| share.owns(n)) {
                prop_assert!(owned.contains(&workload.shard_of(n, shards)));
                prop_assert_eq!(seen[n as usize].replace(owner), None);
            }
        }
        for pair in seen.chunks(2) {
            prop_assert!(pair[0].is_some() && pair[0] == pair[1]);
        }
    }

    /// Broken if one user of a pair performs other tasks, has other think times or takes other rows
    /// than the other user.
    #[test]
    fn paired_users_do_what_one_does_alone(seed: u64, user in 0..20_u32) {
        let (plan, both) = closed(seed, 20);
        let side = plan.tasks.len() as u16;
        let [alone, both] = [plan, both].map(|plan| Arc::new(Workload::new(&plan, seed)));
        let [mut own, mut rows] =
            [&alone, &both].map(|workload| Feeder::new(Arc::clone(workload), 0, &feed(77)));
        let halves = [2 * user, 2 * user + 1];
        let mut types = halves.map(|half| both.type_of_user(half));
        types.sort_unstable();
        prop_assert_eq!(types, [0, 1]);
        for (half, k) in halves.into_iter().flat_map(|half| (0..30).map(move |k| (half, k))) {
            let of_side = if both.type_of_user(half) == 0 { 0 } else { side };
            prop_assert_eq!(both.task_of_user(half, k), alone.task_of_user(user, k) + of_side);
            prop_assert_eq!(both.next_start_us(half, k, 1, 2), alone.next_start_us(user, k, 1, 2));
            let scope = both.draws_of(DrawScope::Iteration { user: half, k });
            prop_assert_eq!(scope, DrawScope::Iteration { user, k });
            prop_assert_eq!(rows.row(scope), own.row(DrawScope::Iteration { user, k }));
            let start = both.draws_of(DrawScope::Start { user: half, session: 0 });
            prop_assert_eq!(rows.row(start), own.row(DrawScope::Start { user, session: 0 }));
        }
    }

    /// Broken if the comparison plan made from a sound plan is not sound.
    #[test]
    fn what_can_run_can_be_compared(seed: u64, users in 1..30_u32) {
        for (plan, both) in [open(seed), closed(seed, users)] {
            prop_assert_eq!(check::plan(&both), []);
            prop_assert_eq!(both.tasks.len(), 2 * plan.tasks.len());
        }
    }
}

/// Broken if a gate of the scenario is judged for both targets together, where one could hide the
/// other.
#[test]
fn a_gate_holds_for_each_side() {
    let (mut plan, _) = open(1);
    let gate = |metric, task: Option<&str>| Threshold {
        metric,
        task: task.map(str::to_owned),
        limit: 5.0,
        operator: None,
        own: None,
    };
    plan.thresholds = vec![
        gate(Metric::P95Ms, None),
        gate(Metric::P95Ms, Some("task-0")),
        gate(Metric::Shortfall, None),
    ];
    let both = paired(&plan, &sides()).expect("it can be compared");
    let keys: Vec<String> = both.thresholds.iter().map(Threshold::key).collect();
    let expected = [
        "A:p95_ms",
        "B:p95_ms",
        "A/task-0:p95_ms",
        "B/task-0:p95_ms",
        "shortfall",
    ];
    assert_eq!(keys, expected);
    assert_eq!(check::plan(&both), []);
}

/// Broken if sides that differ in anything but the target are compared.
#[test]
fn sides_that_differ_are_refused() {
    let (_, both) = open(1);
    let changes: [fn(&mut Plan); 6] = [
        |plan| plan.tasks[0].weight += 1,
        |plan| plan.tasks[0].steps[0].path = "/other".to_owned(),
        |plan| plan.types[1].share = 2,
        |plan| plan.connections.other_targets.clear(),
        |plan| plan.schema = PlanSchema::V1,
        |plan| plan.types[0].name = "C".to_owned(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut plan = both.clone();
        change(&mut plan);
        assert_ne!(check::plan(&plan), [], "change {number}");
    }
}

/// Broken if a scenario in Python, a mix or several targets are taken for one that can be compared.
#[test]
fn what_knows_one_target_cannot_be_compared() {
    let (plan, both) = open(1);
    let mut several = plan;
    several.connections.other_targets = vec!["http://127.0.0.1:9".to_owned()];
    for plan in [both, several] {
        let refused = paired(&plan, &sides()).expect_err("it cannot be compared");
        assert!(!refused.problems.is_empty());
    }
}

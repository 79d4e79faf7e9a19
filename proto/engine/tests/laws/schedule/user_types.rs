//! A mix of user types: shares hold among arrivals and among users, whichever agent computes them.

use std::collections::BTreeSet;
use std::sync::Arc;

use loadpilot_engine::check;
use loadpilot_engine::schedule::feed::Feeder;
use loadpilot_engine::schedule::random::DrawScope;
use loadpilot_engine::schedule::share::Share;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::plan::script::Feed;
use loadpilot_events::plan::user_types::UserType;
use loadpilot_events::plan::{Plan, PlanSchema, Rest, Shape};
use loadpilot_events::units::Rate;
use proptest::prelude::*;

use crate::fold::closed_loop;
use crate::rules::dice::Dice;
use crate::rules::plans;

/// A mix whose arrivals come on schedule.
fn open(seed: u64) -> Plan {
    let dice = &mut Dice::new(seed);
    let plan = plans::plan(dice);
    plans::mixed(plan, dice)
}

/// A mix of a closed loop in which every type has a user.
fn closed(seed: u64, users: u32) -> Plan {
    let dice = &mut Dice::new(seed);
    let plan = closed_loop::plan(dice, users, 5);
    plans::mixed(plan, dice)
}

/// A stored mix of a closed loop.
fn golden() -> Plan {
    let text = include_str!("../../../../golden/plan-user-types.v2.json");
    serde_json::from_str(text).expect("a plan")
}

/// The same types with 1,000 arrivals per second.
fn on_schedule(mut plan: Plan) -> Plan {
    (plan.users, plan.profile.shape) = (None, Shape::Constant);
    for piece in &mut plan.profile.pieces {
        (piece.from, piece.to) = (Rate(1_000_000_000), Rate(1_000_000_000));
    }
    plan.types.iter_mut().for_each(|one| one.rest = None);
    plan
}

/// The type of each task, by number.
fn type_of_task(plan: &Plan) -> Vec<usize> {
    let types = plan.tasks_of_types().enumerate();
    types
        .flat_map(|(number, (_, tasks))| tasks.map(move |_| number))
        .collect()
}

/// The sum of the shares, and the sum of the weights of each type.
fn sums(plan: &Plan) -> (u64, Vec<u64>) {
    let shares = plan.types.iter().map(|one| u64::from(one.share)).sum();
    let mut weights = vec![0; plan.types.len()];
    for (task, of) in plan.tasks.iter().zip(type_of_task(plan)) {
        weights[of] += u64::from(task.weight);
    }
    (shares, weights)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Broken if a task is drawn more or less often than share × weight / weights of its type,
    /// within the smallest number of arrivals in which all shares can be exact.
    #[test]
    fn shares_and_weights_hold_among_arrivals(seed: u64, block in 0..50_u64) {
        let plan = open(seed);
        let workload = Workload::new(&plan, seed);
        let (shares, weights) = sums(&plan);
        let of = type_of_task(&plan);
        // A multiple of the length of every possible block.
        let len = shares * weights.iter().product::<u64>();
        let counts = workload.count_per_task(block * len..(block + 1) * len);
        for ((task, of), count) in plan.tasks.iter().zip(of).zip(counts) {
            let exact = u64::from(plan.types[of].share) * u64::from(task.weight);
            prop_assert_eq!(count * shares * weights[of], len * exact, "{}", &task.name);
        }
    }

    /// Broken if a part of a run has another mix: 20,000 arrivals from anywhere deviate no more
    /// than independent draws (chi-square; one of a million exceeds the limit).
    #[test]
    fn any_long_part_has_the_mix(seed: u64, from in 0..1_000_000_u64) {
        let plan = open(seed);
        let workload = Workload::new(&plan, seed);
        let (shares, _) = sums(&plan);
        let of = type_of_task(&plan);
        let mut counts = vec![0.0; plan.types.len()];
        let len = 20_000;
        for (count, of) in workload.count_per_task(from..from + len).into_iter().zip(of) {
            counts[of] += count as f64;
        }
        let distance: f64 = plan.types.iter().zip(counts).map(|(one, count)| {
            let expected = len as f64 * f64::from(one.share) / shares as f64;
            (count - expected).powi(2) / expected
        }).sum();
        prop_assert!(distance < 30.7, "chi-square {distance}");
    }

    /// Broken if the set of arrivals depends on how the load is split.
    #[test]
    fn any_split_has_the_same_arrivals(seed: u64, owners in prop::collection::vec(0..4_usize, 16)) {
        let plan = open(seed);
        let planned = Workload::new(&plan, seed).planned();
        let mut seen = vec![None; planned as usize];
        for owner in 0..4 {
            let workload = Workload::new(&plan, seed);
            let owned = (0..16).filter(|shard| owners[*shard as usize] == owner).collect();
            let share = Share::new(16, owned);
            for n in (0..planned).rev().filter(|&n| share.owns(n)) {
                seen[n as usize] = Some(workload.task_of(n));
            }
        }
        let mut counts = vec![0; plan.tasks.len()];
        for task in seen {
            counts[usize::from(task.expect("every arrival is owned"))] += 1;
        }
        prop_assert_eq!(counts, Workload::new(&plan, seed).count_per_task(0..planned));
    }

    /// Broken if the number of users of a type differs from its share by one or more.
    #[test]
    fn users_have_types_by_the_shares(seed: u64, users in 40..400_u32) {
        let plan = closed(seed, users);
        let workload = Workload::new(&plan, seed);
        let (shares, _) = sums(&plan);
        let mut counts = vec![0_u64; plan.types.len()];
        let drawn: Vec<usize> = (0..users).map(|user| workload.type_of_user(user)).collect();
        for &of in &drawn {
            counts[of] += 1;
        }
        for (one, &count) in plan.types.iter().zip(&counts) {
            let distance = (count * shares).abs_diff(u64::from(users) * u64::from(one.share));
            prop_assert!(distance < shares, "{}: {count} of {users}", &one.name);
        }
        let stated: Vec<u64> = workload.users_of_types().into_iter().map(u64::from).collect();
        prop_assert_eq!(&counts, &stated);
        // Every stage of users has the mix: whole blocks of users are exact.
        for block in drawn.chunks_exact(shares as usize) {
            for (number, one) in plan.types.iter().enumerate() {
                let count = block.iter().filter(|of| **of == number).count();
                prop_assert_eq!(count, one.share as usize);
            }
        }
    }

    /// Broken if a user draws a task of another type, or its own by other weights.
    #[test]
    fn users_draw_from_their_own_tasks(seed: u64, user in 0..40_u32, block in 0..5_u64) {
        let plan = closed(seed, 40);
        let workload = Workload::new(&plan, seed);
        let of = type_of_task(&plan);
        let own = workload.type_of_user(user);
        let len = sums(&plan).1[own];
        let mut counts = vec![0_u64; plan.tasks.len()];
        for k in block * len..(block + 1) * len {
            counts[usize::from(workload.task_of_user(user, k))] += 1;
        }
        let weights = plan.tasks.iter().zip(of);
        let expected: Vec<u64> = weights
            .map(|(task, of)| if of == own { u64::from(task.weight) } else { 0 })
            .collect();
        prop_assert_eq!(counts, expected);
    }

    /// Broken if a single scenario behaves differently when it is called a mix of one.
    #[test]
    fn a_mix_of_one_type_is_the_plan_of_that_type(seed: u64, share in 1..50_u32, closed: bool) {
        let dice = &mut Dice::new(seed);
        let mut plan = if closed { closed_loop::plan(dice, 7, 5) } else { plans::plan(dice) };
        let rest = closed.then_some(Rest::Wait { from_us: 5, to_us: 90_000 });
        let mut mix = plan.clone();
        plan.rest = rest;
        mix.schema = PlanSchema::V2;
        mix.tasks.iter_mut().for_each(|task| task.name = format!("only/{}", task.name));
        mix.types = vec![UserType {
            name: "only".to_owned(),
            share,
            tasks: u16::try_from(mix.tasks.len()).expect("few"),
            rest,
            session: None,
        }];
        prop_assert_eq!(check::plan(&mix), []);
        let feed = Feed {
            name: "rows".to_owned(),
            rows: 30,
            tasks: vec![0],
            prepares: true,
            cycles: true,
            unique: false,
            stops: false,
            shuffled: true,
            file: None,
        };
        let [plan, mix] = [plan, mix].map(|plan| Arc::new(Workload::new(&plan, seed)));
        let [mut rows, mut mix_rows] =
            [&plan, &mix].map(|workload| Feeder::new(Arc::clone(workload), 0, &feed));
        for n in 0..200 {
            prop_assert_eq!(plan.task_of(n), mix.task_of(n));
            let (user, k) = ((n % 7) as u32, n / 7);
            prop_assert_eq!(plan.task_of_user(user, k), mix.task_of_user(user, k));
            prop_assert_eq!(plan.begin_us_of_user(user), mix.begin_us_of_user(user));
            prop_assert_eq!(plan.next_start_us(user, k, 1, 2), mix.next_start_us(user, k, 1, 2));
            let scope = match closed {
                true => DrawScope::Iteration { user, k },
                false => DrawScope::Arrival(n),
            };
            prop_assert_eq!(rows.row(scope), mix_rows.row(scope));
            let start = DrawScope::Start { user, session: 0 };
            prop_assert_eq!(rows.row(start), mix_rows.row(start));
        }
        prop_assert_eq!(plan.count_per_task(3..333), mix.count_per_task(3..333));
    }

    /// Broken if the users of a type skip rows of their feed because users of other types have the
    /// numbers in between.
    #[test]
    fn users_of_a_type_take_every_row_of_its_feed(seed: u64) {
        let plan = closed(seed, 60);
        let workload = Arc::new(Workload::new(&plan, seed));
        let of_types = workload.users_of_types();
        for (number, (_, tasks)) in plan.tasks_of_types().enumerate() {
            let users: Vec<u32> =
                (0..60).filter(|&user| workload.type_of_user(user) == number).collect();
            let rounds = 6;
            let feed = Feed {
                name: "rows".to_owned(),
                rows: rounds * u64::from(of_types[number]),
                tasks: tasks.collect(),
                prepares: true,
                cycles: false,
                unique: false,
                stops: false,
                shuffled: false,
                file: None,
            };
            let mut feeder = Feeder::new(Arc::clone(&workload), number, &feed);
            let mut rows = BTreeSet::new();
            for &user in &users {
                for k in 0..rounds {
                    rows.extend(feeder.row(DrawScope::Iteration { user, k }));
                }
            }
            prop_assert!(rows.into_iter().eq(0..feed.rows));
            let start = |&user| DrawScope::Start { user, session: 0 };
            let starts = users.iter().map(|user| feeder.row(start(user)));
            let starts: BTreeSet<u64> = starts.flatten().collect();
            prop_assert!(starts.into_iter().eq(0..users.len() as u64));
        }
    }
}

/// Broken if all users have the think times of one type.
#[test]
fn users_think_as_their_type_does() {
    let seed = (0..)
        .find(|&seed| open(seed).types.len() == 3)
        .expect("some plan");
    let mut plan = closed(seed, 100);
    assert_eq!(plan.types.len(), 3);
    plan.types[1].rest = Some(Rest::Pacing { every_us: 7_000 });
    plan.types[2].rest = Some(Rest::Wait {
        from_us: 500,
        to_us: 500,
    });
    assert_eq!(check::plan(&plan), []);
    let workload = Workload::new(&plan, 1);
    assert!(workload.rests());
    for user in 0..100 {
        let expected = match workload.type_of_user(user) {
            0 => (4_000, 0),
            1 => (10_000, 7_000 * u64::from(user) / 100),
            _ => (4_500, 500 * u64::from(user) / 100),
        };
        let next_us = workload.next_start_us(user, 1, 3_000, 4_000);
        assert_eq!(
            (next_us, workload.begin_us_of_user(user)),
            expected,
            "user {user}"
        );
    }
}

/// Broken if two seeds assign types alike: each agent would get the same users in every run.
#[test]
fn the_seed_changes_the_types_of_users() {
    let plans = (1..).map(|seed| closed(seed, 100));
    let plan = plans
        .into_iter()
        .find(|plan| plan.types.len() > 1)
        .expect("some plan");
    let types = |seed| {
        let workload = Workload::new(&plan, seed);
        (0..100)
            .map(|user| workload.type_of_user(user))
            .collect::<Vec<_>>()
    };
    assert_ne!(types(1), types(2));
    assert_eq!(types(1), types(1));
}

/// A stored run is folded again for ever: these values are part of the format.
#[test]
fn types_never_change() {
    let workload = Workload::new(&golden(), 42);
    let types: Vec<usize> = (0..20).map(|user| workload.type_of_user(user)).collect();
    assert_eq!(types, FROZEN_TYPES);
    let tasks: Vec<u16> = (0..8).map(|k| workload.task_of_user(4, k)).collect();
    assert_eq!(tasks, FROZEN_TASKS);
    let open = on_schedule(golden());
    assert_eq!(check::plan(&open), []);
    let workload = Workload::new(&open, 42);
    let tasks: Vec<u16> = (0..20).map(|n| workload.task_of(n)).collect();
    assert_eq!(tasks, FROZEN_ARRIVALS);
}

// Computed by a separate program from the description of the permutations.
const FROZEN_TYPES: [usize; 20] = [0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0];
const FROZEN_TASKS: [u16; 8] = [1, 0, 0, 0, 0, 1, 0, 0];
const FROZEN_ARRIVALS: [u16; 20] = [1, 1, 0, 0, 1, 0, 0, 0, 1, 2, 0, 0, 2, 2, 0, 0, 0, 0, 2, 0];

/// A mix that cannot be divided, or that would be read as something else, is refused by its name.
#[test]
fn mixes_that_cannot_be_are_refused() {
    let good = golden();
    let refused = |change: &dyn Fn(&mut Plan)| -> Vec<String> {
        let mut plan = good.clone();
        change(&mut plan);
        let problems = check::plan(&plan).into_iter();
        problems.map(|problem| problem.field).collect()
    };
    assert_eq!(refused(&|_| ()), [] as [String; 0]);
    let rest = Rest::Pacing { every_us: 1 };
    type Case<'a> = (&'a dyn Fn(&mut Plan), &'a str);
    let cases: [Case<'_>; 9] = [
        (&|plan| plan.schema = PlanSchema::V1, "schema"),
        (&|plan| plan.rest = Some(rest), "rest"),
        (&|plan| plan.types[0].share = 0, "types[0].share"),
        (&|plan| plan.types[0].share = 1_000_001, "types[0].share"),
        (&|plan| plan.types[1].share = 1_000_000, "types[0].share"),
        (&|plan| plan.types[1].tasks = 3, "types"),
        (
            &|plan| plan.types[1].rest = Some(Rest::Pacing { every_us: 0 }),
            "types[1].rest.pacing",
        ),
        (
            &|plan| plan.tasks[0].name = "view".to_owned(),
            "types[0].tasks",
        ),
        (
            &|plan| plan.thresholds[0].task = Some("Ghost".to_owned()),
            "thresholds.Ghost:p95_ms",
        ),
    ];
    for (change, field) in cases {
        assert!(
            refused(change).contains(&field.to_owned()),
            "{field}: {:?}",
            refused(change)
        );
    }
    let twice = refused(&|plan| plan.types[1].name = plan.types[0].name.clone());
    assert!(twice.contains(&"types[1].name".to_owned()), "{twice:?}");
    let slash = refused(&|plan| plan.types[0].name = "a/b".to_owned());
    assert!(slash.contains(&"types[0].name".to_owned()), "{slash:?}");
}

/// Broken if a block of arrivals could be so long that computing it stops the load.
#[test]
fn shares_without_a_common_measure_are_refused() {
    let mut plan = on_schedule(golden());
    plan.tasks[0].weight = 524_287;
    let problems = check::plan(&plan);
    let fields: Vec<&str> = problems
        .iter()
        .map(|problem| problem.field.as_str())
        .collect();
    assert_eq!(fields, ["types"], "{problems:?}");
}

//! Inputs of a scenario: draws and feed rows do not depend on how the work is split. The plan check
//! of parameters, tags and feeds.

use std::collections::BTreeMap;
use std::sync::Arc;

use loadpilot_engine::check;
use loadpilot_engine::schedule::feed::{Feeder, NoRow};
use loadpilot_engine::schedule::random::{DrawScope, Draws};
use loadpilot_engine::schedule::share::Share;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::plan::script::{Feed, RowFile, Script};
use loadpilot_events::plan::{Plan, Text};
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::rules::plans;

/// A feed of which some tasks of a plan take rows.
fn feed(plan: &Plan, dice: &mut Dice) -> Feed {
    let tasks = 0..u16::try_from(plan.tasks.len()).expect("few");
    let taking: Vec<u16> = tasks.clone().filter(|_| dice.chance(60)).collect();
    Feed {
        name: "users".to_owned(),
        rows: dice.pick(1..60),
        tasks: if taking.is_empty() { vec![0] } else { taking },
        prepares: false,
        cycles: false,
        unique: false,
        stops: false,
        shuffled: dice.chance(50),
        file: None,
    }
}

/// What several agents compute about their own arrivals, each in a random order.
fn by_agents<T>(
    planned: u64,
    dice: &mut Dice,
    mut agent: impl FnMut() -> Box<dyn FnMut(u64) -> T>,
) -> BTreeMap<u64, T> {
    let (shards, agents) = (16, dice.pick(1..5));
    let mut owned = vec![Vec::new(); usize::try_from(agents).expect("few")];
    for shard in 0..shards {
        owned[usize::try_from(dice.pick(0..agents)).expect("few")].push(shard);
    }
    let mut found = BTreeMap::new();
    for shards_of_one in owned {
        let share = Share::new(shards, shards_of_one);
        let mut arrivals: Vec<u64> = (0..planned).filter(|&n| share.owns(n)).collect();
        if dice.chance(50) {
            arrivals.reverse();
        }
        let mut ask = agent();
        found.extend(arrivals.into_iter().map(|n| (n, ask(n))));
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Broken if a row depends on the agent that takes it, or if a row is taken twice before every
    /// other row was taken once.
    #[test]
    fn all_agents_together_take_each_row_once_before_any_twice(seed: u64) {
        let dice = &mut Dice::new(seed);
        let plan = plans::plan(dice);
        let feed = feed(&plan, dice);
        let workload = Arc::new(Workload::new(&plan, seed));
        let found = by_agents(workload.planned(), dice, || {
            let mut feeder = Feeder::new(Arc::clone(&workload), 0, &feed);
            Box::new(move |n| feeder.row(DrawScope::Arrival(n)))
        });
        let takes = |n: &u64| feed.tasks.contains(&workload.task_of(*n));
        prop_assert!(found.iter().all(|(n, row)| row.is_ok() == takes(n)));
        let rows: Vec<u64> = found.into_values().flatten().collect();
        for (pass, rows) in rows.chunks(usize::try_from(feed.rows).expect("few")).enumerate() {
            let mut sorted = rows.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            prop_assert_eq!(sorted.len(), rows.len(), "pass {}: a row was taken twice", pass);
            prop_assert!(sorted.iter().all(|&row| row < feed.rows));
            let in_order: Vec<u64> = (0..rows.len() as u64).collect();
            prop_assert!(feed.shuffled || rows == in_order);
        }
    }

    /// Broken if all agents together take a unique row twice, if a row is left over while arrivals
    /// have none, or if an arrival without a row does not know the reason.
    #[test]
    fn unique_rows_are_taken_once_and_then_no_more(seed: u64) {
        let dice = &mut Dice::new(seed);
        let plan = plans::plan(dice);
        let feed = Feed { unique: true, ..feed(&plan, dice) };
        let workload = Arc::new(Workload::new(&plan, seed));
        let found = by_agents(workload.planned(), dice, || {
            let mut feeder = Feeder::new(Arc::clone(&workload), 0, &feed);
            Box::new(move |n| feeder.row(DrawScope::Arrival(n)))
        });
        let taking = found.iter().filter(|(n, _)| feed.tasks.contains(&workload.task_of(**n)));
        let (taken, none): (Vec<_>, Vec<_>) =
            taking.map(|(_, row)| *row).partition(Result::is_ok);
        prop_assert!(none.iter().all(|row| *row == Err(NoRow::AllUsed)));
        let mut rows: Vec<u64> = taken.into_iter().flatten().collect();
        let count = rows.len();
        rows.sort_unstable();
        rows.dedup();
        prop_assert_eq!(rows.len(), count, "a row was taken twice");
        prop_assert!(none.is_empty() || count as u64 == feed.rows, "a row is left");
    }

    /// Broken if two users of a closed loop that are equally fast take the same row.
    #[test]
    fn users_of_a_closed_loop_take_turns(seed: u64, users in 1_u32..20, each in 1_u64..20) {
        let dice = &mut Dice::new(seed);
        let mut plan = plans::plan(dice);
        let feed = Feed { rows: 1_000_000, shuffled: true, ..feed(&plan, dice) };
        plan.users = Some(users);
        let workload = Arc::new(Workload::new(&plan, seed));
        let mut feeder = Feeder::new(Arc::clone(&workload), 3, &feed);
        let mut rows = Vec::new();
        for user in 0..users {
            for k in 0..each {
                rows.extend(feeder.row(DrawScope::Iteration { user, k }));
            }
        }
        let taken = rows.len();
        rows.sort_unstable();
        rows.dedup();
        prop_assert_eq!(rows.len(), taken);
    }

    /// Broken if the draws of an arrival depend on the agent, or on draws of other arrivals.
    #[test]
    fn draws_belong_to_their_arrival(seed: u64) {
        let dice = &mut Dice::new(seed);
        let values = |whose| {
            let mut draws = Draws::new(seed, whose);
            [draws.next_value(), draws.next_value()]
        };
        let planned = 200;
        let found = by_agents(planned, dice, || {
            Box::new(move |n| {
                let mut draws = Draws::new(seed, DrawScope::Arrival(n));
                [draws.next_value(), draws.next_value()]
            })
        });
        prop_assert!(found.iter().all(|(&n, drawn)| *drawn == values(DrawScope::Arrival(n))));
        let users = (0..50).flat_map(|user| {
            let iterations = (0..3).map(move |k| DrawScope::Iteration { user, k });
            let hooks = move |session| {
                [
                    DrawScope::Start { user, session },
                    DrawScope::Stop { user, session },
                ]
            };
            iterations.chain((0..3).flat_map(hooks))
        });
        let mut all: Vec<u64> = found.into_values().flatten().collect();
        all.extend(users.flat_map(values));
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all.len(), count, "two of them draw the same");
    }
}

/// Broken if a later version draws other values: a run could not be repeated. The expected values
/// were computed by another program, from the description of the algorithm.
#[test]
fn draws_and_rows_never_change() {
    let mut draws = Draws::new(42, DrawScope::Arrival(7));
    let values = [17_827_859_353_565_190_651, 8_380_536_125_436_695_559];
    assert_eq!([draws.next_value(), draws.next_value()], values);
    let mut draws = Draws::new(42, DrawScope::Iteration { user: 3, k: 5 });
    assert_eq!(draws.next_value(), 13_861_402_319_546_250_630);
    let plan = plans::plan(&mut Dice::new(1));
    let feed = Feed {
        rows: 10,
        shuffled: true,
        ..feed(&plan, &mut Dice::new(1))
    };
    let mut feeder = Feeder::new(Arc::new(Workload::new(&plan, 42)), 0, &feed);
    let rows: Vec<_> = (0..10)
        .filter_map(|user| feeder.row(DrawScope::Start { user, session: 0 }).ok())
        .collect();
    assert_eq!(rows, [1, 8, 4, 3, 5, 0, 9, 7, 2, 6]);
}

/// A change of the plan, and the field that the plan check must name.
type Case<'a> = (&'static str, &'a dyn Fn(&mut Plan));

/// Broken if a plan with invalid parameters, tags, feeds or checked tasks is accepted.
#[test]
fn inputs_of_a_plan_are_checked() {
    let sound = || {
        let text = include_str!("../../../../golden/plan-feeds.v1.json");
        let plan: Plan = serde_json::from_str(text).expect("a plan");
        assert_eq!(check::plan(&plan), []);
        plan
    };
    fn script(plan: &mut Plan) -> &mut Script {
        plan.script.as_mut().expect("a script")
    }
    fn feeds(plan: &mut Plan) -> &mut Vec<Feed> {
        &mut script(plan).feeds
    }
    let long = |bytes: usize| Text::Literal("x".repeat(bytes));
    let some = |count: usize| (0..count).map(|n| (format!("n{n}"), "x".to_owned()));
    let cases: [Case<'_>; 17] = [
        ("parameters.", &|plan| {
            plan.parameters.insert(String::new(), long(1));
        }),
        ("parameters.A", &|plan| {
            plan.parameters.insert("A".to_owned(), long(16 * 1024 + 1));
        }),
        ("parameters", &|plan| {
            plan.parameters = (0..201).map(|n| (format!("n{n}"), long(1))).collect();
        }),
        ("tags", &|plan| plan.tags = some(21).collect()),
        ("tags", &|plan| {
            plan.tags.insert("a b".to_owned(), "x".to_owned());
        }),
        ("tags.a", &|plan| {
            plan.tags.insert("a".to_owned(), "x\n".to_owned());
        }),
        ("script.feeds[0].rows", &|plan| feeds(plan)[0].rows = 0),
        ("script.feeds[0].tasks", &|plan| {
            feeds(plan)[0].tasks = vec![2];
        }),
        ("script.feeds[0].tasks", &|plan| {
            feeds(plan)[0].tasks = vec![1, 0];
        }),
        ("script.feeds[1].unique", &|plan| {
            let feed = &mut feeds(plan)[1];
            (feed.unique, feed.cycles, feed.prepares) = (true, true, false);
        }),
        ("script.feeds[0].unique", &|plan| {
            let feed = &mut feeds(plan)[0];
            (feed.unique, feed.cycles, feed.prepares) = (true, false, true);
        }),
        ("script.feeds[0].rows", &|plan| {
            let feed = &mut feeds(plan)[0];
            (feed.unique, feed.cycles, feed.prepares) = (true, false, false);
            feed.rows = 1;
        }),
        ("script.feeds[1].stops", &|plan| {
            feeds(plan)[1].stops = true;
        }),
        ("script.feeds[0].stops", &|plan| {
            let feed = &mut feeds(plan)[0];
            (feed.unique, feed.cycles, feed.stops) = (true, false, true);
            feed.tasks = Vec::new();
        }),
        ("script.feeds[1].name", &|plan| {
            let twin = feeds(plan)[0].clone();
            feeds(plan)[1] = twin;
        }),
        ("script.checked", &|plan| script(plan).checked = vec![2]),
        ("script.checked", &|plan| script(plan).checked = vec![1, 0]),
    ];
    for (field, change) in cases {
        let mut plan = sound();
        change(&mut plan);
        let problems = check::plan(&plan);
        let fields: Vec<&str> = problems.iter().map(|one| one.field.as_str()).collect();
        assert_eq!(fields, [field]);
    }
}

/// Broken if a plan names a file outside of the folder of its scenario or impossible content, or if
/// the object store is expected to hold a large file.
#[test]
fn files_of_rows_are_checked() {
    let text = include_str!("../../../../golden/plan-row-files.v1.json");
    let sound: Plan = serde_json::from_str(text).expect("a plan");
    assert_eq!(check::plan(&sound), []);
    let stored: u64 = sound.objects().iter().map(|object| object.bytes).sum();
    assert_eq!(stored, 3 + 4_000_000, "the bundle and the small file");
    let field = |change: &dyn Fn(&mut RowFile)| {
        let mut plan = sound.clone();
        let feed = &mut plan.script.as_mut().expect("a script").feeds[0];
        change(feed.file.as_mut().expect("a file"));
        let problems = check::plan(&plan);
        let fields: Vec<String> = problems.into_iter().map(|one| one.field).collect();
        fields.join(" ")
    };
    for name in [
        "/etc/passwd",
        "../x.csv",
        "a/../x.csv",
        "a//x.csv",
        "./x.csv",
    ] {
        let found = field(&|file| file.name = name.to_owned());
        assert_eq!(found, "script.feeds[0].file.name", "{name}");
    }
    for bytes in [0, (1 << 40) + 1] {
        let found = field(&|file| file.content.bytes = bytes);
        assert_eq!(found, "script.feeds[0].file.content.bytes");
    }
    let found = field(&|file| file.content.sha256 = "ab".to_owned());
    assert_eq!(found, "script.feeds[0].file.content.sha256");
}

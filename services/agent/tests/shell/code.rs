//! A scenario that is code, on an agent without Python.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use loadpilot_agent::fire::{ArrivalId, RingContents};
use loadpilot_bus::Limits;
use loadpilot_events::Outcome;
use loadpilot_events::log::evt::FinishReason;
use loadpilot_events::plan::Shape;
use loadpilot_events::units::Rate;
use serde_json::{Value, json};

use crate::world::{World, timeouts};

/// Broken if an agent without Python offers no capacity for code, or skips its hooks or checks:
/// only agents with Python could run compiled scenarios.
#[tokio::test]
async fn an_agent_without_python_plays_code() {
    let world = World::start(Limits::default(), timeouts(), Duration::ZERO).await;
    let mut plan = world.plan(2);
    for task in &mut plan.tasks {
        task.steps.clear();
    }
    let literal = |text: &str| json!({"literal": {"text": text}});
    let send = |path, answer| {
        let method = "GET";
        json!({"send": {"method": method, "path": path, "answer": answer, "line": 5}})
    };
    let own = json!({"own": {"name": "status", "line": 6}});
    let status = json!({"answer": {"local": 0, "part": "status_code", "line": 7}});
    let equal = |to| {
        json!({"compare": {"first": {"local": {"local": 0, "line": 9}},
        "others": [{"how": "equal", "to": {"literal": {"int": to}}}], "line": 9}})
    };
    let code = json!({
        "file": "s.py", "python_minor": 11, "users": 3,
        "on_start": {"locals": ["r"], "does": [
            send(literal("/login"), 0), {"keep": {"name": "status", "value": status}},
        ]},
        "on_stop": {"locals": ["r"], "does": [send(literal("/logout"), 0)]},
        "tasks": [
            {
                "body": {"locals": ["r"], "does": [
                    send(json!({"join": [literal("/a/"), own]}), 0),
                ]},
                "check": {"takes": "status_and_body", "body": {"locals": ["status", "body"],
                    "does": [{"assert": {"test": equal(201), "line": 9}}]}},
            },
            {"body": {"locals": ["r"], "does": [send(literal("/b"), 0)]}},
        ],
        "lines": [{"number": 9, "text": "assert status == 201"}],
    });
    plan.code = Some(serde_json::from_value(code).expect("code"));
    assert_eq!(loadpilot_engine::check::plan(&plan), []);
    world.begin(plan).await;
    let words = world.last_words().await;
    assert_eq!(words.reason, FinishReason::Completed);
    let calls = BTreeMap::from([(Outcome::Ok, 50), (Outcome::CheckFailed, 150)]);
    assert_eq!(words.totals.calls, calls);
    let seen = [("/a/200", 150), ("/b", 50), ("/login", 3), ("/logout", 3)];
    let seen = seen.map(|(path, count)| (path.to_owned(), count));
    assert_eq!(world.target.counts(), BTreeMap::from(seen));
    let deltas = world.script.deltas().await;
    let raised = deltas.iter().flat_map(|delta| &delta.raised);
    let raised: BTreeMap<String, u64> = raised.fold(BTreeMap::new(), |mut all, row| {
        *all.entry(row.text.clone()).or_default() += row.count;
        all
    });
    let text = "AssertionError: assert status == 201 (s.py:9)".to_owned();
    assert_eq!(raised, BTreeMap::from([(text, 150)]));
}

/// Broken if all users stay on one thread, which leaves the other cores idle, or if two threads
/// have the same user, which would log in twice.
#[tokio::test]
async fn users_of_a_closed_loop_are_spread_over_the_cores() {
    const USERS: u32 = 6;
    let world = World::start(Limits::default(), timeouts(), Duration::from_millis(20)).await;
    let mut plan = world.plan(2);
    plan.users = Some(USERS);
    plan.profile.shape = Shape::Closed;
    plan.profile.pieces[0].from = Rate(0);
    plan.profile.pieces[0].to = Rate(0);
    for task in &mut plan.tasks {
        task.steps.clear();
    }
    let text = |text: String| json!({"literal": {"text": text}});
    let send = |path: Value| json!([{"send": {"method": "GET", "path": path, "line": 5}}]);
    // Each thread meets the paths in another order.
    let paths = (0..9).map(|place| json!({"text": format!("/a/{place}")}));
    let drawn = json!([{"literal": {"list": paths.collect::<Vec<_>>()}}]);
    let drawn = json!({"call": {"function": "rand_choice", "to": drawn, "line": 5}});
    let code = json!({
        "file": "s.py", "python_minor": 11, "users": USERS, "lines": [],
        "on_start": {"locals": [], "does": send(text("/login".to_owned()))},
        "tasks": [
            {"body": {"locals": [], "does": send(drawn)}},
            {"body": {"locals": [], "does": send(text("/b".to_owned()))}},
        ],
    });
    plan.code = Some(serde_json::from_value(code).expect("code"));
    world.begin(plan).await;
    world.script.deltas_stored(3).await;
    let users = |ring: &RingContents| -> BTreeSet<u32> {
        let calls = ring.finished.iter().chain(&ring.in_flight);
        let users = calls.filter_map(|call| match call.arrival {
            ArrivalId::Iteration { user, .. } => Some(user),
            ArrivalId::Planned(_) => None,
        });
        users.collect()
    };
    let [one, other]: [BTreeSet<u32>; 2] = {
        let rings: Vec<_> = world.rings().iter().map(users).collect();
        rings.try_into().expect("a ring for each thread")
    };
    assert!(!one.is_empty() && !other.is_empty() && one.is_disjoint(&other));
    let words = world.last_words().await;
    let mut seen = world.target.counts();
    assert_eq!(seen.remove("/login"), Some(u64::from(USERS)));
    let ok = words.totals.calls.get(&Outcome::Ok).copied();
    assert_eq!(ok, Some(seen.values().sum()));
    let mut counts_by_path: BTreeMap<String, u64> = BTreeMap::new();
    for delta in world.script.deltas().await {
        for row in &delta.calls {
            let named = delta.names.iter().find(|named| named.call == row.call);
            let name = &named.expect("each call has a name").name;
            let path = name.trim_start_matches("GET ").to_owned();
            *counts_by_path.entry(path).or_default() += row.count;
        }
    }
    assert_eq!(
        counts_by_path, seen,
        "the calls of one thread under names of another"
    );
}

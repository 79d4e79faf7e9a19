//! A scenario that is code, on an agent without Python.

use std::collections::BTreeMap;
use std::time::Duration;

use loadpilot_bus::Limits;
use loadpilot_events::Outcome;
use loadpilot_events::evt::FinishReason;
use serde_json::json;

use crate::world::{World, timing};

/// An agent without Python that offered nothing for code, or skipped its hooks or its checks,
/// would leave compiled scenarios to agents with Python.
#[tokio::test]
async fn an_agent_without_python_plays_code() {
    let world = World::start(Limits::default(), timing(), Duration::ZERO).await;
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

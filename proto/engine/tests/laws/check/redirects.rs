//! How many redirects a step may follow, and where no step says it.

use serde_json::{Value, json};

use crate::check::plan::{good, problems};

fn found(plan: Value) -> Vec<String> {
    problems(plan)
        .into_iter()
        .map(|problem| problem.rule)
        .collect()
}

/// Broken if a plan could ask for redirects without an end, or ask for them where its tasks follow
/// them by themselves.
#[test]
fn redirects_are_few_and_of_steps() {
    let with = |redirects_max: u32| {
        let mut plan = good();
        plan["connections"] = json!({"redirects_max": redirects_max});
        plan
    };
    for (redirects_max, wanted) in [(0, 1), (1, 0), (20, 0), (21, 1)] {
        let found = found(with(redirects_max));
        assert_eq!(found.len(), wanted, "{redirects_max}: {found:?}");
        assert!(found.iter().all(|rule| rule == "must be 1 to 20"));
    }
    let mut scripted = with(3);
    scripted["script"] = json!({
        "bundle": {"sha256": "0".repeat(64), "bytes": 1}, "file": "shop.py", "users": 5,
    });
    let found = problems(scripted);
    let settings = "connections.redirects_max";
    let one = found.iter().find(|problem| problem.field == settings);
    let one = one.expect("a problem of the setting");
    assert!(one.rule.contains("follow_redirects=True"), "{}", one.rule);
}

//! Several targets in one plan: which plans are accepted, and how each rule of one target applies
//! to all.

use loadpilot_engine::check::changes::adjust;
use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_events::plan::Plan;
use serde_json::{Value, json};

use super::changes::request;
use super::plan::{good, problems};

fn with(settings: Value) -> Value {
    let mut plan = good();
    plan["connections"] = settings;
    plan
}

/// Broken if the plan check accepts targets that cannot take turns, or if a problem names another
/// field than the one to change.
#[test]
fn targets_take_turns_or_are_refused() {
    let others = |others: &[&str]| json!({"other_targets": others});
    assert_eq!(problems(with(others(&["http://b", "http://c:81/v2"]))), []);
    let many: Vec<String> = (0..64).map(|n| format!("http://h{n}")).collect();
    let cases = [
        (
            others(&["http://b/"]),
            "other_targets[0]",
            "a slash at its end",
        ),
        (
            others(&["http://b", "http://u@c"]),
            "other_targets[1]",
            "without user",
        ),
        (
            others(&["https://b"]),
            "other_targets[0]",
            "http like the other",
        ),
        (
            others(&["http://b", "http://b"]),
            "other_targets[1]",
            "named once",
        ),
        (
            others(&["http://localhost:8080"]),
            "other_targets[0]",
            "named once",
        ),
        (
            json!({"other_targets": many}),
            "other_targets",
            "at most 63",
        ),
        (
            json!({"other_targets": ["http://b"], "max": 5}),
            "max",
            "busiest one",
        ),
        (
            json!({"other_targets": ["http://10.0.0.1"], "ip": "6"}),
            "ip",
            "address family of 10.0.0.1",
        ),
    ];
    for (settings, field, rule) in cases {
        let found = problems(with(settings));
        let field = format!("connections.{field}");
        assert!(
            matches!(&found[..], [one] if one.field == field && one.rule.contains(rule)),
            "{field}: {found:?}"
        );
    }
}

/// Broken if an agent could connect to a closed address because it is not the first target.
#[test]
fn each_target_is_judged() {
    let judge = |settings| {
        let plan: Plan = serde_json::from_value(with(settings)).expect("a plan");
        TargetPolicy::local().judge_plan(&plan)
    };
    let closed = ["http://127.0.0.1:1", "http://169.254.169.254"];
    let denied = judge(json!({"other_targets": closed})).expect_err("metadata");
    assert_eq!(denied.field, "connections.other_targets[1]");
    assert_eq!(denied.value, "http://169.254.169.254");
    let elsewhere = json!({"other_targets": closed, "connect_to": "127.0.0.1:80"});
    assert_eq!(judge(elsewhere), Ok(()));
}

/// Broken if a run that is repeated with another target still loads the earlier targets.
#[test]
fn another_target_replaces_all() {
    let plan = serde_json::from_value(with(json!({"other_targets": ["http://b"]})));
    let request = request(plan.expect("a plan"));
    let changes = serde_json::from_value(json!({"target": "http://c/"})).expect("changes");
    let (adjusted, problems) = adjust(&request, &changes);
    assert_eq!(problems, []);
    assert_eq!(adjusted.plan.targets().collect::<Vec<_>>(), ["http://c"]);
}

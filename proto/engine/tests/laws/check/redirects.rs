//! How many redirects a step may follow, and plans whose steps may not say it.

use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_events::plan::Plan;
use serde_json::{Value, json};

use crate::check::plan::{good, problems};

fn found(plan: Value) -> Vec<String> {
    problems(plan)
        .into_iter()
        .map(|problem| problem.rule)
        .collect()
}

/// Broken if a plan could allow redirects without a limit, or could set a limit where its tasks
/// follow redirects by themselves.
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

/// Broken if a redirect may go to an origin that the plan does not say how to connect to, or that
/// the agent's policy does not judge.
#[test]
fn origins_of_redirects_are_named_and_judged() {
    let with = |settings: Value| {
        let mut plan = good();
        plan["connections"] = settings;
        plan
    };
    let to = |origins: &[&str]| json!({"redirects_max": 2, "redirect_origins": origins});
    let sound = to(&["https://login.example", "http://b:81"]);
    assert_eq!(problems(with(sound)), []);
    let many: Vec<String> = (0..17).map(|n| format!("http://h{n}")).collect();
    let cases = [
        (
            to(&["http://b/in"]),
            "redirect_origins[0]",
            "without a path",
        ),
        (
            to(&["ftp://b"]),
            "redirect_origins[0]",
            "must be http://host",
        ),
        (
            to(&["http://b", "http://b"]),
            "redirect_origins[1]",
            "named once",
        ),
        (
            to(&["http://localhost:8080"]),
            "redirect_origins[0]",
            "origin of a target",
        ),
        (
            json!({"redirects_max": 2, "redirect_origins": many}),
            "redirect_origins",
            "at most 16",
        ),
        (
            json!({"redirect_origins": ["http://b"]}),
            "redirect_origins",
            "together with redirects_max",
        ),
        (
            json!({"redirects_max": 2, "redirect_origins": ["http://b"], "max": 5}),
            "max",
            "busiest one",
        ),
        (
            json!({"redirects_max": 2, "redirect_origins": ["http://b"], "connect_to": "c:80"}),
            "connect_to",
            "of one target",
        ),
        (
            json!({"redirects_max": 2, "redirect_origins": ["http://10.0.0.1"], "ip": "6"}),
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
    let closed = with(to(&["http://127.0.0.1:1", "http://169.254.169.254"]));
    let plan: Plan = serde_json::from_value(closed).expect("a plan");
    let denied = TargetPolicy::local()
        .judge_plan(&plan)
        .expect_err("metadata");
    assert_eq!(denied.field, "connections.redirect_origins[1]");
}

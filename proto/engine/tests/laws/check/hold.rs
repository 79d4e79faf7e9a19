//! Gates that a run holds by changing its rate: which plans are accepted.

use loadpilot_engine::check;
use loadpilot_events::id::OwnerId;
use loadpilot_events::log::req::RunRequested;
use serde_json::{Value, json};

use super::changes::request;
use super::plan::{good, problems};

/// A plan of one constant rate that holds these gates.
fn holding(gates: Value) -> Value {
    let mut plan = good();
    plan["schema"] = json!("loadpilot.plan/2");
    let piece = json!({"duration_us": 60_000_000, "from": 50_000_000, "to": 50_000_000});
    plan["profile"] = json!({"shape": "constant", "pieces": [piece]});
    plan["hold"] = gates;
    plan
}

/// Broken if the plan check accepts a run whose gates would hold at no rate.
#[test]
fn a_gate_is_held_by_a_rate_that_can_be_changed() {
    let gate = json!({"metric": "p99_ms", "limit": 200.0});
    assert_eq!(problems(holding(json!([gate]))), []);
    let mut first = holding(json!([gate]));
    first["schema"] = json!("loadpilot.plan/1");
    let mut ramp = holding(json!([gate]));
    ramp["profile"]["pieces"][0]["from"] = json!(0);
    let mut closed = holding(json!([gate]));
    closed["profile"] = json!({
        "shape": "closed",
        "pieces": [{"duration_us": 60_000_000, "from": 0, "to": 0}],
    });
    closed["users"] = json!(4);
    let rate = json!([{"metric": "achieved_rps", "limit": 10.0}]);
    let dropped = json!([{"metric": "dropped_rate", "limit": 1.0}]);
    let unknown = json!([{"metric": "p99_ms", "limit": 200.0, "task": "basket"}]);
    let cases = [
        (first, "schema", "must be loadpilot.plan/2"),
        (ramp, "profile", "must be one constant rate"),
        (closed, "hold", "a closed loop, which has users"),
        (holding(rate), "hold.achieved_rps", "a lower rate improves"),
        (
            holding(dropped),
            "hold.dropped_rate",
            "a lower rate improves",
        ),
        (holding(json!([gate, gate])), "hold.p99_ms", "given once"),
        (holding(unknown), "hold.basket:p99_ms", "must name a task"),
    ];
    for (plan, field, rule) in cases {
        let found = problems(plan);
        let is_named = found
            .iter()
            .any(|problem| problem.field == field && problem.rule.contains(rule));
        assert!(is_named, "{field}: {found:?}");
    }
}

/// Broken if a detached run were accepted: no command would change its rate.
#[test]
fn a_command_follows_the_run() {
    let gates = json!([{"metric": "p99_ms", "limit": 200.0}]);
    let detached: RunRequested = request(holding(gates));
    assert!(detached.owner.is_none());
    let found = check::request(&detached);
    assert!(
        found.iter().any(|problem| problem.field == "hold"),
        "{found:?}"
    );
    let followed = RunRequested {
        owner: Some(OwnerId::parse("owner").expect("a token")),
        ..detached
    };
    assert_eq!(check::request(&followed), []);
}

//! What a run of a tenant may request of a shared fleet, and how a refusal names it.

use loadpilot_engine::control::quotas::Quotas;
use loadpilot_events::Envelope;
use loadpilot_events::id::TenantId;
use loadpilot_events::log::req::{Request, RunRequested};
use loadpilot_events::units::Rate;

/// 300 arrivals per second at most, 70 s, 2 agents.
fn request() -> Box<RunRequested> {
    let golden = include_str!("../../../../golden/run-requested.v1.json");
    let golden: Envelope<Request> = serde_json::from_str(golden).expect("a request");
    let Request::RunRequested(request) = golden.event else {
        panic!("a request for a run");
    };
    request
}

fn refusals(request: &RunRequested, quotas: &Quotas) -> Vec<String> {
    let shop = TenantId::parse("shop").expect("a token");
    let problems = quotas.exceeded(request, &shop);
    problems.iter().map(ToString::to_string).collect()
}

/// Broken if a quota accepts what is above it, refuses what is at it, or is not named.
#[test]
fn a_refusal_names_limit_and_value() {
    let at_most = Quotas {
        max_rate: Some(Rate(300_000_000)),
        max_users: Some(1),
        max_agents: Some(2),
        max_duration_us: Some(70_000_000),
    };
    assert_eq!(refusals(&request(), &at_most), [""; 0]);
    assert_eq!(refusals(&request(), &Quotas::default()), [""; 0]);
    let lower = Quotas {
        max_rate: Some(Rate(299_000_000)),
        max_agents: Some(1),
        max_duration_us: Some(69_500_000),
        ..at_most
    };
    let in_a_run = "in a run of tenant shop";
    assert_eq!(
        refusals(&request(), &lower),
        [
            format!("rate: must be at most 299/s {in_a_run} (got \"300/s\")"),
            format!("requested agents: must be at most 1 {in_a_run} (got \"2\")"),
            format!("duration: must be at most 69.500s {in_a_run} (got \"70s\")"),
        ]
    );
}

/// Broken if a closed loop is judged by a rate, which its plan does not mean, or if its number of
/// users is not judged.
#[test]
fn a_closed_loop_is_limited_by_its_users() {
    let mut request = request();
    request.plan.users = Some(3);
    let quotas = |max_users| Quotas {
        max_rate: Some(Rate(1)),
        max_users: Some(max_users),
        ..Quotas::default()
    };
    assert_eq!(refusals(&request, &quotas(3)), [""; 0]);
    assert_eq!(
        refusals(&request, &quotas(2)),
        ["users: must be at most 2 in a run of tenant shop (got \"3\")"]
    );
}

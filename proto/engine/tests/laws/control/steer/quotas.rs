//! The rates that a run may be steered to on a shared fleet, by the rules of its tenant.

use loadpilot_engine::control::tenants::{TenantRules, Tenants};
use loadpilot_events::id::TenantId;
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::steer::{ExceededRate, NotSteered, RateLimit};
use loadpilot_events::units::Rate;

use super::{Story, pause, rate, refusal};

/// Puts the story into a fleet whose file has these rules for its tenant.
fn with_rules(story: &mut Story, rules: TenantRules) {
    let shop = TenantId::parse("shop").expect("a token");
    story.policy.tenants = Some(Tenants {
        file: "fleet.toml".to_owned(),
        rules: [(shop.clone(), rules)].into(),
        max_runs_per_agent: None,
        ownership_key: None,
    });
    story.tenant = Some(shop);
}

fn exceeded(decision: Option<Decision>) -> Option<(RateLimit, Rate, Rate)> {
    let Some(Decision::SteeringRefused(refused)) = decision else {
        return None;
    };
    assert_eq!(refused.why, NotSteered::AboveQuota);
    let ExceededRate {
        requested,
        limit,
        key,
    } = refused.exceeded?;
    let text = refused.words();
    for rate in [requested, limit] {
        assert!(text.contains(&format!("{}/s", rate.as_rps())), "{text}");
    }
    Some((key, limit, requested))
}

/// Broken if a user could raise a running run above its tenant's limit, or if a refusal names
/// another limit than the one that the rate exceeds.
#[test]
fn a_tenant_s_run_is_not_steered_above_its_quota() {
    let mut story = Story::new(None);
    let [low, high, above] = [20, 30, 31].map(Rate::per_second);
    let mut rules = TenantRules::default();
    rules.quotas.max_rate = Some(high);
    with_rules(&mut story, rules.clone());
    assert_eq!(
        exceeded(story.ask(1, rate(31))),
        Some((RateLimit::MaxRate, high, above))
    );
    let changed = story.ask(2, rate(30));
    assert!(matches!(changed, Some(Decision::RateChanged(_))));

    rules.unproven.rate = Some(low);
    with_rules(&mut story, rules);
    assert_eq!(
        exceeded(story.ask(3, rate(30))),
        Some((RateLimit::UnprovenRate, low, high))
    );
    assert_eq!(
        exceeded(story.ask(4, rate(31))),
        Some((RateLimit::MaxRate, high, above))
    );
    let changed = story.ask(5, rate(20));
    assert!(matches!(changed, Some(Decision::RateChanged(_))));
}

/// Broken if a run of a tenant that the file no longer names could be steered to any rate.
#[test]
fn a_run_of_a_removed_tenant_keeps_its_rate() {
    let mut story = Story::new(None);
    story.policy.tenants = Some(Tenants::default());
    story.tenant = Some(TenantId::parse("shop").expect("a token"));
    for rps in [1, 1_000_000] {
        let refused = refusal(story.ask(1, rate(rps)));
        assert_eq!(refused, Some(NotSteered::AboveQuota));
    }
    assert!(matches!(story.ask(2, pause()), Some(Decision::Paused(_))));
}

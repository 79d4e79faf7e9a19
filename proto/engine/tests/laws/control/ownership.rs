//! Which runs need a proof that their tenant owns the targets, and what the proof permits.

use std::net::SocketAddr;

use loadpilot_engine::check::target_policy::{Kind, TargetPolicy};
use loadpilot_engine::control::decide::{Observations, Policy, decide};
use loadpilot_engine::control::ownership::{OwnershipKey, Unproven};
use loadpilot_engine::control::run_state::{Record, RunState};
use loadpilot_engine::control::tenants::{TenantRules, Tenants};
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::ctl::Excess;
use loadpilot_events::log::req::Request;
use loadpilot_events::plan::Plan;
use loadpilot_events::units::Rate;
use loadpilot_events::{Capability, TenantId, Timestamp};
use serde_json::{Value, json};

use crate::check::plan::good;
use crate::rules::dice::Dice;
use crate::rules::plans;

fn shop() -> TenantId {
    TenantId::parse("shop").expect("a token")
}

fn key() -> OwnershipKey {
    OwnershipKey::new("key", &[b'k'; 40]).expect("long enough")
}

fn plan(connections: Value) -> Plan {
    let mut plan = good();
    plan["target"] = json!("http://shop.example:8080/base");
    plan["connections"] = connections;
    serde_json::from_value(plan).expect("a plan")
}

/// The decision of a coordinator about the plan.
fn decided(plan: &Plan, unproven: Unproven) -> Decision {
    let now = Timestamp(1_000);
    let rules = TenantRules {
        unproven,
        ..TenantRules::default()
    };
    let policy = Policy {
        tenants: Some(Tenants {
            file: "fleet.toml".to_owned(),
            rules: [(shop(), rules)].into(),
            max_runs_per_agent: None,
            ownership_key: Some(key()),
        }),
        ..Policy::default()
    };
    let mut request = plans::request(plan.clone(), 1, 1, &mut Dice::new(1));
    request.owner = None;
    let request = Request::RunRequested(Box::new(request));
    let state = RunState::default().evolve(1, now, Record::Request(&request));
    let observed = Observations {
        tenant: Some(shop()),
        ..Observations::default()
    };
    decide(&state, &observed, &policy, now).expect("it is decided")
}

/// Broken if a run above the limit starts without a proof, one at the limit needs one, or a host of
/// the plan is left out.
#[test]
fn a_run_above_the_limit_names_the_token_of_each_host() {
    let origins = json!({"redirects_max": 1, "redirect_origins": ["https://login.example"]});
    let plan = plan(origins);
    let peak = plan.profile.peak();
    let of = |rate| Unproven {
        rate: Some(rate),
        users: None,
    };
    for unproven in [of(peak), Unproven::default()] {
        let Decision::RunCreated(created) = decided(&plan, unproven) else {
            panic!("it is refused")
        };
        assert_eq!(created.proof, None);
        assert!(!created.needs.contains(&Capability::ownership()));
    }
    let limit = Rate(peak.0 - 1);
    let users_only = Unproven {
        rate: None,
        users: Some(1),
    };
    for (unproven, limit) in [(of(limit), limit), (users_only, Rate(0))] {
        let Decision::RunCreated(created) = decided(&plan, unproven) else {
            panic!("it is refused")
        };
        assert!(created.needs.contains(&Capability::ownership()));
        let proof = created.proof.expect("it is needed");
        let requested = peak;
        assert_eq!(proof.excess, Excess::Rate { requested, limit });
        let hosts = ["login.example", "shop.example"];
        let tokens = hosts.map(|host| (host.to_owned(), key().token(&shop(), host)));
        assert_eq!(proof.tokens, tokens.into());
    }
}

/// Broken if a tenant reads the proof through a proxy of its own.
#[test]
fn a_proxy_proves_nothing() {
    let plan = plan(json!({"proxy": {"url": "http://93.184.216.34:3128"}}));
    let unproven = Unproven {
        rate: Some(Rate(1)),
        users: None,
    };
    let Decision::RunRefused(refused) = decided(&plan, unproven) else {
        panic!("it is created")
    };
    let words: Vec<String> = refused.problems.iter().map(ToString::to_string).collect();
    let words = words.join("; ");
    assert!(
        words.contains("connections.proxy: must be left out"),
        "{words}"
    );
    assert!(
        words.contains("no proof that tenant shop owns the target"),
        "{words}"
    );
}

/// Broken if an agent connects to an address that a name resolves to only after the proof.
#[test]
fn only_addresses_with_a_token_are_loaded() {
    let proven: SocketAddr = "93.184.216.34:443".parse().expect("an address");
    let policy = TargetPolicy::fleet().narrowed_to_proven([proven].into_iter().collect());
    for (peer, denied) in [
        ("93.184.216.34:443", None),
        ("[::ffff:93.184.216.34]:443", None),
        ("93.184.216.34:80", Some(Kind::Unproven)),
        ("93.184.216.35:443", Some(Kind::Unproven)),
        // A proof opens no closed address.
        ("127.0.0.1:443", Some(Kind::Loopback)),
    ] {
        let peer = peer.parse().expect("an address");
        let judged = policy.judge("shop.example", peer);
        assert_eq!(judged.err().map(|one| one.kind), denied, "{peer}");
    }
}

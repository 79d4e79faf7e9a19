//! The targets of one tenant: which connections its list allows, and what a coordinator refuses
//! before a name is resolved.

use std::net::SocketAddr;

use loadpilot_engine::check::target_policy::{Kind, TargetPolicy, TenantTargets};
use loadpilot_engine::control::decide::{Observations, Policy, decide};
use loadpilot_engine::control::run_state::{Record, RunState};
use loadpilot_engine::control::tenants::{TenantRules, Tenants};
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::req::Request;
use loadpilot_events::plan::Plan;
use loadpilot_events::{Capability, TenantId, Timestamp};
use serde_json::{Value, json};

use crate::check::plan::good;
use crate::rules::dice::Dice;
use crate::rules::plans;

fn shop() -> TenantId {
    TenantId::parse("shop").expect("a token")
}

fn list(texts: &[&str]) -> TenantTargets {
    let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
    TenantTargets::parse(&shop(), "targets", &texts).expect("sound")
}

fn plan(target: &str, connections: Value) -> Plan {
    let mut plan = good();
    plan["target"] = json!(target);
    plan["connections"] = connections;
    serde_json::from_value(plan).expect("a plan")
}

/// Broken if an entry allows more or less than it says. The table is written by hand.
#[test]
fn an_entry_allows_what_it_names() {
    let texts = [
        "shop.example:443",
        "*.lab.example",
        "10.1.0.0/16",
        "10.2.0.7:8080",
        "[fd00:1::/32]:80",
        "fd00:2::7",
    ];
    let policy = TargetPolicy::local().narrowed_to(list(&texts));
    for (host, peer, is_allowed) in [
        ("shop.example", "93.184.216.34:443", true),
        ("SHOP.example.", "93.184.216.34:443", true),
        ("shop.example", "93.184.216.34:80", false),
        ("eu.shop.example", "93.184.216.34:443", false),
        ("notshop.example", "93.184.216.34:443", false),
        ("a.lab.example", "93.184.216.34:1", true),
        ("a.b.lab.example", "93.184.216.34:1", true),
        ("lab.example", "93.184.216.34:1", false),
        ("xlab.example", "93.184.216.34:1", false),
        (".lab.example", "93.184.216.34:1", false),
        ("10.1.255.255", "10.1.255.255:9", true),
        ("other.example", "10.1.0.1:9", true),
        ("other.example", "[::ffff:10.1.0.1]:9", true),
        ("other.example", "10.2.0.1:9", false),
        ("10.2.0.7", "10.2.0.7:8080", true),
        ("10.2.0.7", "10.2.0.7:80", false),
        ("fd00:1::9", "[fd00:1::9]:80", true),
        ("fd00:1::9", "[fd00:1::9]:81", false),
        ("fd00:2::7", "[fd00:2::7]:81", true),
        ("fd00:2::8", "[fd00:2::8]:81", false),
    ] {
        let peer: SocketAddr = peer.parse().expect(peer);
        let judged = policy.judge(host, peer);
        assert_eq!(judged.is_ok(), is_allowed, "{host} at {peer}: {judged:?}");
    }
}

/// Broken if a list opens what the fleet closes.
#[test]
fn a_list_narrows_and_never_opens() {
    let texts = ["127.0.0.1", "169.254.169.254", "shop.example", "10.0.0.0/8"];
    let policy = TargetPolicy::fleet().narrowed_to(list(&texts));
    for (host, peer, kind) in [
        ("127.0.0.1", "127.0.0.1:80", Kind::Loopback),
        ("169.254.169.254", "169.254.169.254:80", Kind::Metadata),
        ("shop.example", "10.1.1.1:80", Kind::Private),
        ("shop.example", "127.0.0.1:80", Kind::Loopback),
        ("other.example", "93.184.216.34:80", Kind::Unlisted),
    ] {
        let judged = policy.judge(host, peer.parse().expect(peer));
        assert_eq!(judged.expect_err(host).kind, kind, "{host} at {peer}");
    }
    let socket = TargetPolicy::local().allow("allow-target", ["unix:/run/shop"]);
    let socket = socket.expect("a folder").narrowed_to(list(&texts));
    let denied = socket.judge_socket(std::path::Path::new("/run/shop/a"));
    assert_eq!(
        denied.expect_err("no list has sockets").kind,
        Kind::Unlisted
    );
}

/// Broken if an entry in another form is accepted with a guessed meaning.
#[test]
fn other_forms_are_refused_by_name() {
    for text in [
        "",
        "*",
        "*.",
        "a b",
        "http://a.example",
        "a.example:0",
        "a.example:70000",
        "a.example:+80",
        "a.example:",
        "a..example",
        ".a.example",
        "10.1.0.1/16",
        "10.1.0.0/33",
        "[10.1.0.0]:80",
        "[::1",
        "[::1]80",
        "unix:/run/shop",
        "1.2.3",
    ] {
        let texts = ["ok.example".to_owned(), text.to_owned()];
        let problems = TenantTargets::parse(&shop(), "targets", &texts).expect_err(text);
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
        assert_eq!(problems[0].field, "targets[1]");
        assert_eq!(problems[0].value, text);
    }
    let empty = TenantTargets::parse(&shop(), "targets", &[]).expect_err("nothing");
    assert!(empty[0].rule.starts_with("must name a target"));
}

/// Broken if some part of a plan leads to an address that is not judged.
#[test]
fn each_place_of_a_plan_is_judged_before_names_are_resolved() {
    let by_name = list(&["shop.example", "*.shop.example:8080", "203.0.113.9:80"]);
    let policy = TargetPolicy::local().with_proxies().narrowed_to(by_name);
    let networks = TargetPolicy::local().with_proxies();
    let networks = networks.narrowed_to(list(&["shop.example:80", "203.0.113.0/24"]));
    let proxy = |url: &str| json!({"proxy": {"url": url}});
    for (policy, target, connections, field) in [
        (&networks, "http://other.example", json!({}), None),
        (&networks, "http://shop.example", json!({}), None),
        (&networks, "https://198.51.100.1", json!({}), Some("target")),
        (
            &networks,
            "http://other.example",
            proxy("http://203.0.113.3:3128"),
            Some("target"),
        ),
        (
            &networks,
            "http://shop.example",
            proxy("http://203.0.113.3:3128"),
            None,
        ),
        (
            &networks,
            "https://shop.example",
            proxy("http://203.0.113.3:3128"),
            Some("target"),
        ),
        (
            &networks,
            "http://shop.example",
            proxy("http://198.51.100.3:3128"),
            Some("connections.proxy"),
        ),
        (&policy, "http://203.0.113.9", json!({}), None),
        (&policy, "https://203.0.113.9", json!({}), Some("target")),
        (
            &policy,
            "http://a.shop.example:8080",
            json!({"other_targets": []}),
            None,
        ),
        (
            &policy,
            "http://shop.example",
            json!({"other_targets": ["http://shop.example", "http://198.51.100.1"]}),
            Some("connections.other_targets[1]"),
        ),
        (
            &policy,
            "http://shop.example",
            json!({"connect_to": "198.51.100.1:80"}),
            Some("connections.connect_to"),
        ),
        (
            &policy,
            "http://shop.example",
            json!({"connect_to": "unix:/run/shop"}),
            Some("connections.connect_to"),
        ),
        (
            &policy,
            "http://shop.example",
            json!({"redirects_max": 1, "redirect_origins": ["https://login.shop.example"]}),
            Some("connections.redirect_origins[0]"),
        ),
    ] {
        let judged = policy.judge_plan(&plan(target, connections.clone()));
        let found = judged.as_ref().err().map(|problem| problem.field.as_str());
        assert_eq!(found, field, "{target} {connections}: {judged:?}");
        if let Err(problem) = judged {
            let names = problem
                .rule
                .ends_with("is not among the targets of tenant shop");
            assert!(names, "{}", problem.rule);
        }
    }
}

/// Broken if a run of an unknown tenant is created, or if the decision does not carry the tenant's
/// list to every agent, including one that starts again.
#[test]
fn a_decision_names_the_tenant_and_carries_its_list() {
    let now = Timestamp(1_000);
    let rules = TenantRules {
        targets: Some(list(&["127.0.0.1", "a.example:80"])),
        ..TenantRules::default()
    };
    let policy = Policy {
        tenants: Some(Tenants {
            file: "fleet.toml".to_owned(),
            rules: [(shop(), rules)].into(),
            max_runs_per_agent: None,
            ownership_key: None,
        }),
        ..Policy::default()
    };
    let first = |tenant: &str, target: &str| {
        let plan = plan(target, json!({}));
        let mut request = plans::request(plan, 1, 1, &mut Dice::new(1));
        request.owner = None;
        let request = Request::RunRequested(Box::new(request));
        let state = RunState::default().evolve(1, now, Record::Request(&request));
        let observed = Observations {
            tenant: Some(TenantId::parse(tenant).expect("a token")),
            ..Observations::default()
        };
        decide(&state, &observed, &policy, now)
    };
    let Some(Decision::RunCreated(created)) = first("shop", "http://127.0.0.1:9") else {
        panic!("it is refused")
    };
    let texts = ["127.0.0.1".to_owned(), "a.example:80".to_owned()];
    assert_eq!(created.targets.as_deref(), Some(&texts[..]));
    assert!(created.needs.contains(&Capability::tenants()));
    for (tenant, target, problem) in [
        (
            "other",
            "http://127.0.0.1:9",
            "tenant: must have a table [tenants.other] in fleet.toml of this fleet",
        ),
        (
            "shop",
            "http://10.9.9.9",
            "target: not allowed: 10.9.9.9:80 is not among the targets of tenant shop",
        ),
    ] {
        let Some(Decision::RunRefused(refused)) = first(tenant, target) else {
            panic!("the coordinator accepted it")
        };
        let found = refused.problems[0].to_string();
        assert!(found.starts_with(problem), "{found}");
    }
}

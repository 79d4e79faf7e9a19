//! Proxies in a plan: which plans are accepted, and by which agents.

use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_events::plan::Plan;
use serde_json::{Value, json};

use crate::check::plan::{good, problems};

fn with(settings: Value) -> Value {
    let mut plan = good();
    plan["connections"] = settings;
    plan
}

/// Broken if a proxy were accepted that cannot be used, or if a message showed a password.
#[test]
fn a_proxy_is_a_url_without_a_user() {
    let through = |url: &str| json!({"proxy": {"url": url}});
    assert_eq!(problems(with(through("http://proxy.lab:3128"))), []);
    assert_eq!(problems(with(through("socks5://[fd00::1]:1080"))), []);
    for url in [
        "https://proxy:80",
        "proxy:80",
        "http://proxy",
        "http://u:hunter2@proxy:80",
    ] {
        let found = problems(with(through(url)));
        let [one] = &found[..] else {
            panic!("{url}: {found:?}")
        };
        assert_eq!(one.field, "connections.proxy");
        assert!(one.rule.contains("socks5://host:port"), "{}", one.rule);
        assert!(!one.to_string().contains("hunter2"));
    }
    let mut socket = through("http://proxy:80");
    socket["connect_to"] = json!("unix:/run/shop");
    assert!(problems(with(socket))[0].rule.contains("Unix socket"));
    // The address family of the plan must fit the proxy, which is the address that agents connect
    // to.
    let mut family = through("http://10.0.0.1:80");
    family["ip"] = json!("6");
    assert!(problems(with(family))[0].rule.contains("10.0.0.1:80"));
}

/// Broken if a plan could use a proxy without permission of the agent's operator, and so avoid the
/// agent's check of addresses, or if a proxy could have a closed address.
#[test]
fn an_agent_allows_proxies_and_judges_their_address() {
    let plan = |url: &str| -> Plan {
        let mut plan = with(json!({"proxy": {"url": url}}));
        plan["target"] = json!("http://shop.example");
        serde_json::from_value(plan).expect("a plan")
    };
    let (local, fleet) = (TargetPolicy::local(), TargetPolicy::fleet());
    let near = plan("http://127.0.0.1:3128");
    let denied = local.judge_proxy(&near).expect_err("not allowed");
    assert_eq!(denied.field, "connections.proxy");
    assert!(denied.rule.contains("--allow-proxy"), "{}", denied.rule);
    assert_eq!(local.with_proxies().judge_proxy(&near), Ok(()));
    assert_eq!(TargetPolicy::local().judge_plan(&near), Ok(()));
    let closed = fleet.with_proxies().judge_plan(&near);
    let closed = closed.expect_err("loopback is closed to a fleet");
    assert_eq!(closed.field, "connections.proxy");
    assert!(closed.rule.contains("loopback"), "{}", closed.rule);
    let plain: Plan = serde_json::from_value(good()).expect("a plan");
    assert_eq!(TargetPolicy::fleet().judge_proxy(&plain), Ok(()));
}

//! The file of the tenants: what is read, and how each mistake is reported.

use std::num::NonZeroU32;

use loadpilot_engine::control::admission::rules::AdmissionRules;
use loadpilot_engine::control::quotas::Quotas;
use loadpilot_events::Rate;

use super::*;

fn problems(text: &str) -> Vec<String> {
    let found = parse("fleet.toml", text).expect_err("a mistake");
    found.iter().map(ToString::to_string).collect()
}

/// Broken if a limit is read as another one, or in another unit.
#[test]
fn every_key_is_read() {
    let text = r#"
        [tenants.shop]
        targets = ["shop.example:443", "10.1.0.0/16", "10.2.0.7:80", "*.shop.example", "[fd00::1]"]
        max_rate = 5000
        max_users = 200
        max_agents = 10
        max_duration = "2h"
        max_runs = 3
        max_waiting = 20
        max_runs_per_day = 50
        weight = 2
        priority = -1
        max_stored = "3GiB"
        [tenants.search]
        max_rate = "30/m"
        [fleet]
        max_runs_per_agent = 4
    "#;
    let tenants = parse("fleet.toml", text).expect("it is sound");
    let id = |name| TenantId::parse(name).expect("a token");
    let shop = &tenants.rules[&id("shop")];
    let list = shop.targets.as_ref().expect("a list");
    assert_eq!(list.texts().len(), 5);
    assert_eq!(
        shop.quotas,
        Quotas {
            max_rate: Some(Rate::per_second(5000)),
            max_users: Some(200),
            max_agents: Some(10),
            max_duration_us: Some(7_200_000_000),
        }
    );
    assert_eq!(
        shop.admission,
        AdmissionRules {
            max_runs: Some(3),
            max_waiting: 20,
            max_runs_per_day: Some(50),
            weight: NonZeroU32::new(2).expect("positive"),
            priority: -1,
        }
    );
    assert_eq!(tenants.max_runs_per_agent, Some(4));
    let search = &tenants.rules[&id("search")];
    assert_eq!(search.targets, None);
    assert_eq!(search.admission, AdmissionRules::default());
    assert_eq!(search.quotas.max_rate, Some(Rate(500_000)));
}

/// Broken if a mistake is accepted, or reported without file, table, key, value or rule.
#[test]
fn each_mistake_is_named() {
    for (text, problem) in [
        ("[tenants.shop\n", "fleet.toml: must be TOML: "),
        ("\n\nx = ", r#"(got "line 3")"#),
        (
            "",
            "must name the tenants, each as a table [tenants.NAME] (got \"nothing\")",
        ),
        (
            "[tenant.shop]",
            r#"fleet.toml: must be a known key; the nearest is tenants (got "tenant")"#,
        ),
        (
            "[tenants.Shop]",
            "fleet.toml: [tenants.Shop]: must be 1 to 128 characters",
        ),
        (
            "[tenants.shop]\nmax_rates = 1",
            "[tenants.shop]: must be a known key; the nearest is max_rate (got \"max_rates\")",
        ),
        (
            "[tenants.shop]\nzzz = 1",
            "fleet.toml: [tenants.shop]: must be one of targets, max_rate",
        ),
        (
            "[tenants.shop]\nmax_agents = 0",
            r#"fleet.toml: [tenants.shop] max_agents: must be a whole number from 1 on (got "0")"#,
        ),
        (
            "[tenants.shop]\nmax_rate = 0",
            "max_rate: must be more than 0",
        ),
        (
            "[tenants.shop]\nmax_duration = \"2x\"",
            "max_duration: must be a duration",
        ),
        (
            "[tenants.shop]\ntargets = []",
            "targets: must name a target",
        ),
        (
            "[tenants.shop]\ntargets = \"a\"",
            "targets: must be a list of texts",
        ),
        (
            "[tenants.shop]\ntargets = [\"a\", 1]",
            "targets[1]: must be a text",
        ),
        (
            "[tenants.shop]\ntargets = [\"a.example\", \"http://a.example\"]",
            r#"targets[1]: must be a host name, *.suffix, an address or a network"#,
        ),
        (
            "[tenants.shop]\npriority = 1.5",
            "priority: must be a whole number of at most 9 digits (got \"1.5\")",
        ),
        (
            "[tenants.shop]\n[fleet]\nmax_runs = 1",
            "fleet.toml: [fleet]: must be one of max_runs_per_agent, \
             ownership_key_file (got \"max_runs\")",
        ),
        (
            "[tenants.shop]\nunproven_rate = 1",
            "fleet.toml: [fleet]: must have ownership_key_file, the file with the key of ownership \
             tokens, since [tenants.shop] has a limit without a proof (got \"nothing\")",
        ),
        (
            "[tenants.shop]\nunproven_users = 0",
            "[tenants.shop] unproven_users: must be a whole number from 1 on (got \"0\")",
        ),
        (
            "[fleet]\nownership_key_file = 1",
            "[fleet] ownership_key_file: must be the path of a file, as a text (got \"1\")",
        ),
        (
            "[fleet]\nownership_key_file = \"/absent\"",
            "[fleet] ownership_key_file: must name a file that can be read: No such file",
        ),
        (
            "fleet = 1",
            "fleet.toml: [fleet]: must be a table (got \"integer\")",
        ),
        (
            "[fleet]\nmax_runs_per_agent = \"many\"",
            "[fleet] max_runs_per_agent: must be a whole number from 1 on (got \"many\")",
        ),
        (
            "[tenants]\nshop = 1",
            "fleet.toml: [tenants.shop]: must be a table",
        ),
    ] {
        let found = problems(text);
        assert!(
            found.iter().any(|one| one.contains(problem)),
            "{text}: {found:?}"
        );
    }
}

/// Broken if the first mistake hides the others.
#[test]
fn all_mistakes_are_reported_at_once() {
    let text = "[tenants.a]\nmax_users = 0\nmax_agents = 0\n[tenants.b]\nmax_duraton = 1";
    assert_eq!(problems(text).len(), 3);
}

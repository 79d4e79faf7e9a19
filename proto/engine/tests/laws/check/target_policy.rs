//! Addresses that agents may connect to: closed by default, or opened by an operator.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use loadpilot_engine::check;
use loadpilot_engine::check::target_policy::{Kind, TargetPolicy};
use loadpilot_engine::control::decide::{Observations, Policy, decide};
use loadpilot_engine::control::run_state::{Record, RunState};
use loadpilot_events::Timestamp;
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::req::{Request, RunRequested};
use loadpilot_events::plan::Plan;
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::rules::plans;

/// Addresses closed everywhere.
const ALWAYS: [(&str, Kind); 17] = [
    ("169.254.0.0", Kind::LinkLocal),
    ("169.254.255.255", Kind::LinkLocal),
    ("fe80::1", Kind::LinkLocal),
    ("febf:ffff::1", Kind::LinkLocal),
    ("169.254.169.254", Kind::Metadata),
    ("169.254.170.2", Kind::Metadata),
    ("100.100.100.200", Kind::Metadata),
    ("168.63.129.16", Kind::Metadata),
    ("fd00:ec2::254", Kind::Metadata),
    ("fd20:ce::254", Kind::Metadata),
    ("0.0.0.0", Kind::Unspecified),
    ("0.1.2.3", Kind::Unspecified),
    ("::", Kind::Unspecified),
    ("224.0.0.1", Kind::Multicast),
    ("239.255.255.255", Kind::Multicast),
    ("ff02::1", Kind::Multicast),
    ("255.255.255.255", Kind::Broadcast),
];

/// Addresses closed except on the submitter's own machine.
const NEAR: [(&str, Kind); 14] = [
    ("127.0.0.1", Kind::Loopback),
    ("127.255.255.255", Kind::Loopback),
    ("::1", Kind::Loopback),
    ("10.0.0.0", Kind::Private),
    ("10.255.255.255", Kind::Private),
    ("172.16.0.0", Kind::Private),
    ("172.31.255.255", Kind::Private),
    ("192.168.0.0", Kind::Private),
    ("192.168.255.255", Kind::Private),
    ("100.64.0.0", Kind::Private),
    ("100.127.255.255", Kind::Private),
    ("fc00::", Kind::Private),
    ("fdff:ffff::1", Kind::Private),
    ("64:ff9b:1::a00:1", Kind::Private),
];

/// Open addresses next to closed ones.
const OPEN: [&str; 14] = [
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "2001:db8::1",
    "2606:4700::1111",
];

fn address(text: &str) -> IpAddr {
    text.parse().expect(text)
}

fn judge(policy: &TargetPolicy, host: &str, text: &str, port: u16) -> Option<Kind> {
    let judged = policy.judge(host, SocketAddr::new(address(text), port));
    judged.err().map(|denied| denied.kind)
}

fn opened(policy: TargetPolicy, texts: &[&str]) -> TargetPolicy {
    let policy = policy.allow("allow-target", texts.iter().copied());
    policy.expect("what can be opened")
}

/// The forms in which an IPv6 address contains `v4`.
fn carried(v4: Ipv4Addr) -> [IpAddr; 4] {
    let [a, b, c, d] = v4.octets().map(u16::from);
    let (high, low) = (a << 8 | b, c << 8 | d);
    [
        IpAddr::V6(v4.to_ipv6_mapped()),
        IpAddr::V6(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low)),
        IpAddr::V6(Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1)),
        IpAddr::V6(Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low)),
    ]
}

/// Broken if an agent of a fleet could connect to addresses that only its own machine or network
/// should reach, or if a local agent could not connect to the user's own addresses.
#[test]
fn what_is_near_is_closed_to_a_fleet_and_what_is_dangerous_to_all() {
    let (local, fleet) = (TargetPolicy::local(), TargetPolicy::fleet());
    for (text, kind) in ALWAYS {
        assert_eq!(judge(&local, text, text, 80), Some(kind), "{text}");
        assert_eq!(judge(&fleet, text, text, 80), Some(kind), "{text}");
    }
    for (text, kind) in NEAR {
        assert_eq!(judge(&local, text, text, 80), None, "{text}");
        assert_eq!(judge(&fleet, text, text, 80), Some(kind), "{text}");
    }
    for text in OPEN {
        assert_eq!(judge(&local, text, text, 80), None, "{text}");
        assert_eq!(judge(&fleet, text, text, 80), None, "{text}");
    }
}

proptest! {
    /// Broken if a closed IPv4 address were open when written as IPv6.
    #[test]
    fn ipv6_that_carries_ipv4_is_judged_as_that(bits in any::<u32>(), port in any::<u16>()) {
        let v4 = Ipv4Addr::from_bits(bits);
        for policy in [TargetPolicy::local(), TargetPolicy::fleet()] {
            let plain = policy.judge("t", SocketAddr::new(IpAddr::V4(v4), port));
            for form in carried(v4) {
                prop_assert_eq!(&policy.judge("t", SocketAddr::new(form, port)), &plain);
            }
        }
    }

    /// Broken if opening a network opens addresses beyond its bits, or not all within them.
    #[test]
    fn a_network_opens_what_shares_its_bits(
        bits in any::<u32>(), other in any::<u32>(), width in 0_u32..=32,
    ) {
        let mask = u32::MAX.checked_shl(32 - width).unwrap_or(0);
        let network = format!("{}/{width}", Ipv4Addr::from_bits(bits & mask));
        let policy = opened(TargetPolicy::fleet(), &[&network]);
        let near = bits & mask | other & !mask;
        for number in [other, near] {
            let peer = SocketAddr::new(IpAddr::V4(Ipv4Addr::from_bits(number)), 80);
            let by_default = TargetPolicy::fleet().judge("t", peer);
            let denied = by_default.as_ref().err();
            let is_metadata = denied.is_some_and(|denied| denied.kind == Kind::Metadata);
            let is_in = number & mask == bits & mask && (!is_metadata || width == 32);
            let judged = policy.judge("t", peer);
            prop_assert_eq!(judged.is_ok(), is_in || by_default.is_ok());
        }
    }
}

/// Broken if an opened name opens other names, or an opened network the address of a cloud's
/// credentials.
#[test]
fn names_and_networks_open_what_they_say() {
    let fleet = opened(TargetPolicy::fleet(), &["Shop.internal", "fd00::/8", "::1"]);
    assert_eq!(judge(&fleet, "shop.INTERNAL.", "10.1.2.3", 80), None);
    assert_eq!(judge(&fleet, "shop.internal", "169.254.1.1", 80), None);
    let metadata = Some(Kind::Metadata);
    assert_eq!(
        judge(&fleet, "shop.internal", "169.254.169.254", 80),
        metadata
    );
    assert_eq!(
        judge(&fleet, "other.internal", "10.1.2.3", 80),
        Some(Kind::Private)
    );
    assert_eq!(judge(&fleet, "other", "fd00::1", 80), None);
    assert_eq!(judge(&fleet, "other", "fd00:ec2::254", 80), metadata);
    assert_eq!(judge(&fleet, "other", "::1", 80), None);
    assert_eq!(
        judge(&fleet, "other", "127.0.0.1", 80),
        Some(Kind::Loopback)
    );
    let named = opened(TargetPolicy::fleet(), &["169.254.169.254"]);
    assert_eq!(judge(&named, "other", "169.254.169.254", 80), None);
    assert_eq!(judge(&named, "other", "::ffff:169.254.169.254", 80), None);
    let mapped = opened(TargetPolicy::fleet(), &["::ffff:10.0.0.0/104"]);
    assert_eq!(judge(&mapped, "other", "10.9.9.9", 80), None);
}

/// Broken if an entry with a typing error opens something.
#[test]
fn what_is_neither_network_nor_name_is_refused() {
    let wrong = [
        "",
        "10.0.0.1/8",
        "10.0.0.0/33",
        "10.0.0.0/+8",
        "10.0.0.0/",
        "::/129",
        "10.0.0.1:80",
        "127.1",
        "2130706433",
        "0x7f000001",
        "http://shop",
        "a b",
        "unix:",
        "unix:run/x",
        "unix:/run/../etc",
        "*",
    ];
    for text in wrong {
        let refused = TargetPolicy::fleet().allow("allow-target", [text]);
        let problems = refused.expect_err(text);
        assert!(
            problems[0]
                .to_string()
                .starts_with("allow-target: must be a network"),
            "{text}"
        );
    }
}

/// Broken if an agent could be made to connect to the server of its own log, by any of its names.
#[test]
fn the_own_server_is_closed_whatever_is_open() {
    let everything = &["0.0.0.0/0", "::/0", "nats", "log.example"];
    let urls = "nats://u:p@nats:4222,tls://log.example:5222, [2001:db8::9]:6222,127.0.0.1";
    let policy = opened(TargetPolicy::local(), everything).with_own_server(urls);
    let own = ["10.0.0.2:4222", "127.0.0.1:4333"].map(|text| text.parse().expect("one"));
    let policy = policy.with_own_addresses(own.to_vec());
    let closed = [
        ("nats", "10.9.9.9", 4222),
        ("LOG.example.", "10.9.9.9", 5222),
        ("2001:db8::9", "2001:db8::9", 6222),
        ("127.0.0.1", "127.0.0.1", 4222),
        ("elsewhere", "10.0.0.2", 4222),
        ("elsewhere", "::ffff:10.0.0.2", 4222),
        ("elsewhere", "127.0.0.9", 4333),
        ("elsewhere", "::1", 4333),
    ];
    for (host, text, port) in closed {
        assert_eq!(
            judge(&policy, host, text, port),
            Some(Kind::OwnServer),
            "{host} {text}"
        );
    }
    for (host, text, port) in [("elsewhere", "10.0.0.2", 80), ("nats", "10.0.0.9", 80)] {
        assert_eq!(judge(&policy, host, text, port), None, "{host} {text}");
    }
}

/// Broken if a socket outside the folders that were opened could be reached by a path through them.
#[test]
fn sockets_are_open_below_their_folders_only() {
    let policy = opened(TargetPolicy::local(), &["unix:/run/shop"]);
    for (path, is_open) in [
        ("/run/shop/api.sock", true),
        ("/run/shop/deep/api.sock", true),
        ("/run/shopping/api.sock", false),
        ("/run/shop/../docker.sock", false),
        ("/var/run/docker.sock", false),
    ] {
        assert_eq!(
            policy.judge_socket(Path::new(path)).is_ok(),
            is_open,
            "{path}"
        );
        let by_default = TargetPolicy::local().judge_socket(Path::new(path));
        assert_eq!(by_default.expect_err(path).kind, Kind::UnixSocket);
    }
}

fn plan_to(target: &str, connect_to: Option<&str>) -> Plan {
    let mut plan = plans::plan(&mut Dice::new(1));
    target.clone_into(&mut plan.target);
    plan.connections.connect_to = connect_to.map(str::to_owned);
    plan
}

/// Broken if a plan to a closed address is accepted, or refused without the reason.
#[test]
fn a_plan_is_judged_by_what_it_connects_to() {
    let local = TargetPolicy::local();
    let refusal = |target: &str, connect_to: Option<&str>| {
        let judged = local.judge_plan(&plan_to(target, connect_to));
        judged
            .err()
            .map(|problem| problem.to_string())
            .unwrap_or_default()
    };
    for target in [
        "http://shop.example",
        "http://127.0.0.1:80",
        "http://[::1]:80",
        "http://10.0.0.1",
    ] {
        assert_eq!(refusal(target, None), "", "{target}");
    }
    let link_local = "target: not allowed: link-local address 169.254.8.1 \
                      (--allow-target 169.254.8.1 opens it) (got \"http://169.254.8.1:80\")";
    assert_eq!(refusal("http://169.254.8.1:80", None), link_local);
    for (target, connect_to, wanted) in [
        (
            "https://[fe80::1%25eth0]",
            None,
            "target: not allowed: link-local address fe80::1",
        ),
        (
            "http://[::ffff:169.254.169.254]",
            None,
            "cloud metadata address 169.254.169.254",
        ),
        (
            "http://0.0.0.0:8000/api",
            None,
            "target: not allowed: unspecified address",
        ),
        (
            "http://a.example",
            Some("169.254.169.254:80"),
            "connections.connect_to: not allowed: ",
        ),
        (
            "http://a.example",
            Some("::ffff:169.254.169.254:80"),
            "cloud metadata address 169.254.169.254",
        ),
        (
            "http://a.example",
            Some("unix:/run/x.sock"),
            "Unix socket /run/x.sock",
        ),
    ] {
        let problem = refusal(target, connect_to);
        assert!(problem.contains(wanted), "{problem}");
    }
    let unbracketed = plan_to("http://a.example", Some("2001:db8::1:80"));
    let problems = check::plan(&unbracketed);
    assert_eq!(problems[0].field, "connections.connect_to", "{problems:?}");
    // The address that is connected to counts, not the name of the target.
    assert_eq!(refusal("http://169.254.8.1", Some("a.example:80")), "");
}

/// Broken if a coordinator accepts a run to a closed address, or refuses one that its policy opens.
#[test]
fn a_coordinator_refuses_what_no_agent_may_reach() {
    let now = Timestamp(1_800_000_000_000_000);
    let first = |policy: &Policy| {
        let plan = plan_to("http://169.254.169.254", None);
        let mut request: RunRequested = plans::request(plan, 1, 1, &mut Dice::new(1));
        request.owner = None;
        let request = Request::RunRequested(Box::new(request));
        let state = RunState::default().evolve(1, now, Record::Request(&request));
        decide(&state, &Observations::default(), policy, now)
    };
    let Some(Decision::RunRefused(refused)) = first(&Policy::default()) else {
        panic!("the coordinator accepted it");
    };
    let problem = refused.problems[0].to_string();
    assert!(
        problem.starts_with("target: not allowed: cloud metadata"),
        "{problem}"
    );
    let open = Policy {
        targets: opened(TargetPolicy::local(), &["169.254.169.254"]),
        ..Policy::default()
    };
    assert!(matches!(first(&open), Some(Decision::RunCreated(_))));
}

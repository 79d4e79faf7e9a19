//! The settings of connections in a plan, checked at the target: number, lifetime, source and
//! destination.

use std::collections::BTreeMap;
use std::net::IpAddr;
#[cfg(target_os = "linux")]
use std::net::TcpListener;
use std::time::Duration;

use crate::support::cores::{Cores, Counted, RUN, plan, step, task};
use crate::support::peer::{Act, Peer, Transport};
use h2::server::Builder;
use loadpilot_agent::fire::Program;
use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_events::id::RunId;
use loadpilot_events::log::delta::Phase;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::connections::{Http, IpFamily, Reuse};
use loadpilot_events::{Cause, Outcome};
use tempfile::TempDir;
use tokio::sync::watch;

/// Both protocols without TLS.
const BOTH: [Http; 2] = [Http::V1, Http::V2];

fn peer(http: Http) -> Peer {
    let transport = match http {
        Http::V2 => Transport::Http2(Builder::new()),
        Http::V1 | Http::Auto => Transport::Http1,
    };
    Peer::start(transport, |_| Act::Answer(200))
}

/// A plan with this number of arrivals, one every 2 ms.
fn quick(url: String, http: Http, arrivals: u64) -> Plan {
    let tasks = vec![task("only", 1, vec![step("/only")])];
    let mut plan = plan(url, 500, arrivals * 2, tasks);
    plan.connections.http = http;
    plan
}

/// Runs a plan with one arrival at a time.
async fn run(plan: Plan) -> Counted {
    Cores::new(plan, 1, 1).start().finish().await
}

fn all(outcome: Outcome, count: u64) -> BTreeMap<Outcome, u64> {
    BTreeMap::from([(outcome, count)])
}

/// Broken if a call uses a connection that another call has opened.
#[tokio::test]
async fn without_reuse_each_call_opens_its_own() {
    for http in [Http::V1, Http::V2, Http::Auto] {
        let peer = peer(http);
        let mut plan = quick(peer.url(), http, 40);
        plan.connections.reuse = Reuse::Never;
        let mut cores = Cores::new(plan, 1, 10).start();
        cores.cores[0].idle().await;
        peer.wait_until_all_closed();
        let counted = cores.finish().await;
        assert_eq!(counted.outcomes(), all(Outcome::Ok, 40));
        assert_eq!(counted.connections(), (40, 0));
        peer.assert_once_each(40);
        assert!(
            peer.seen()
                .connections
                .iter()
                .all(|meeting| meeting.calls == 1)
        );
    }
}

/// Broken if a share of reuse depends on chance: the seed determines which calls open a connection.
/// Broken, too, if a connection that is no longer used stays open for ever.
#[tokio::test]
async fn a_share_of_reuse_is_drawn_from_the_seed() {
    const SHARE_PPM: u32 = 300_000;
    for http in [Http::V1, Http::V2, Http::V1, Http::V2] {
        let peer = peer(http);
        let mut plan = quick(peer.url(), http, 60);
        plan.tasks[0].steps.push(step("/second"));
        plan.connections.reuse = Reuse::SharePpm(SHARE_PPM);
        let mut cores = Cores::new(plan, 1, 1).start();
        let mut wanted = Vec::new();
        let mut opened = 0;
        for n in 0..60 {
            for step in 0..2 {
                let draw_ppm = cores.workload.reuse_draw_ppm(n, 0, step);
                opened += usize::from(opened == 0 || draw_ppm >= SHARE_PPM);
                wanted.push((format!("{RUN}/{n}/{step}"), opened - 1));
            }
        }
        cores.cores[0].idle().await;
        peer.wait_until("left", |seen| {
            seen.connections
                .iter()
                .filter(|meeting| !meeting.closed)
                .count()
                <= 1
        });
        let counted = cores.finish().await;
        assert_eq!(counted.outcomes(), all(Outcome::Ok, 120));
        let seen = peer.seen();
        let calls = seen.calls.iter();
        let calls: Vec<_> = calls
            .map(|call| (call.id().to_owned(), call.connection))
            .collect();
        assert_eq!(calls, wanted);
        let opened = opened as u64;
        assert_eq!(counted.connections(), (opened, 120 - opened));
        assert!((60..110).contains(&opened), "{opened}");
    }
}

/// Broken if a connection carries more calls than it may, or fewer.
#[tokio::test]
async fn a_connection_carries_no_more_requests_than_allowed() {
    for http in BOTH {
        let peer = peer(http);
        let mut plan = quick(peer.url(), http, 38);
        plan.connections.requests_max = Some(5);
        let mut cores = Cores::new(plan, 1, 1).start();
        let counted = cores.finish().await;
        assert_eq!(counted.outcomes(), all(Outcome::Ok, 38));
        let calls: Vec<u32> = peer.seen().connections.iter().map(|m| m.calls).collect();
        assert_eq!(calls, [5, 5, 5, 5, 5, 5, 5, 3]);
        assert_eq!(counted.connections(), (8, 30));
    }
}

/// Broken if the limit does not hold for many calls at a time.
#[tokio::test]
async fn the_limit_of_requests_holds_in_a_crowd() {
    for http in BOTH {
        let peer = peer(http);
        let mut plan = quick(peer.url(), http, 200);
        plan.connections.requests_max = Some(5);
        let mut cores = Cores::new(plan, 1, 20).start();
        let counted = cores.finish().await;
        assert_eq!(counted.outcomes(), all(Outcome::Ok, 200));
        peer.assert_once_each(200);
        assert!(
            peer.seen()
                .connections
                .iter()
                .all(|meeting| meeting.calls <= 5)
        );
    }
}

/// Broken if a connection is used again after it was idle for too long.
#[tokio::test]
async fn an_old_connection_takes_no_further_request() {
    for http in BOTH {
        for (age_us_max, connections) in [(1, 4), (60_000_000, 1)] {
            let peer = peer(http);
            let tasks = vec![task("only", 1, vec![step("/only")])];
            // One arrival every 200 ms.
            let mut plan = plan(peer.url(), 5, 800, tasks);
            plan.connections.http = http;
            plan.connections.age_us_max = Some(age_us_max);
            let counted = run(plan).await;
            assert_eq!(counted.outcomes(), all(Outcome::Ok, 4));
            assert_eq!(peer.connections(), connections, "{http:?}");
        }
    }
}

/// Broken if requests through a Unix socket are not those for the target that it stands for.
#[tokio::test]
async fn a_unix_socket_stands_for_the_target() {
    let name = format!("loadpilot-{}.socket", std::process::id());
    let path = std::env::temp_dir().join(name);
    let text = format!("unix:{}", path.to_str().expect("a path of letters"));
    let peer = Peer::start(Transport::Unix(path.clone()), |_| Act::Answer(200));
    let mut plan = quick("http://target.test:81".to_owned(), Http::V1, 20);
    plan.connections.connect_to = Some(text.clone());
    let counted = Cores::under(plan, folder_open()).start().finish().await;
    std::fs::remove_file(&path).expect("the socket");
    assert_eq!(counted.outcomes(), all(Outcome::Ok, 20));
    assert_eq!(counted.connections(), (1, 19));
    peer.assert_once_each(20);
    for call in &peer.seen().calls {
        assert_eq!(call.header("host"), Some("target.test:81"));
    }

    let mut plan = quick("http://target.test:81".to_owned(), Http::V1, 20);
    plan.connections.connect_to = Some(text);
    let counted = Cores::under(plan, folder_open()).start().finish().await;
    assert_eq!(counted.outcomes(), all(Outcome::Connect, 20), "it is gone");
}

/// Opens the folder of temporary files, also under the name that links resolve to.
fn folder_open() -> TargetPolicy {
    let folder = std::env::temp_dir();
    let real = folder.canonicalize().expect("it exists");
    TargetPolicy::local().with_folder(folder).with_folder(real)
}

/// Broken if a link inside an open folder leads to a socket outside of it.
#[tokio::test]
async fn a_link_leads_to_no_closed_socket() {
    let (outside, inside) = (TempDir::new(), TempDir::new());
    let (outside, inside) = (outside.expect("a folder"), inside.expect("a folder"));
    let path = outside.path().join("closed.socket");
    let peer = Peer::start(Transport::Unix(path.clone()), |_| Act::Answer(200));
    let link = inside.path().join("open.socket");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    let mut plan = quick("http://target.test:81".to_owned(), Http::V1, 10);
    plan.connections.connect_to = Some(format!("unix:{}", link.display()));
    let real = inside.path().canonicalize().expect("it exists");
    let policy = TargetPolicy::local()
        .with_folder(inside.path().to_owned())
        .with_folder(real);
    let counted = Cores::under(plan, policy).start().finish().await;
    assert_eq!(counted.outcomes(), all(Outcome::Connect, 10));
    assert_eq!(peer.connections(), 0);
}

/// Broken if an agent connects, for a call or before the start, to an address that is closed to it
/// and that the target's name resolves to, or if the agent does not report the reason.
#[tokio::test]
async fn no_connection_is_opened_to_a_closed_address() {
    for (http, open_first) in [(Http::V1, None), (Http::V2, None), (Http::V1, Some(1))] {
        let peer = peer(http);
        let url = format!("http://localhost:{}", peer.address.port());
        let mut plan = quick(url, http, 20);
        plan.connections.open_first = open_first;
        let counted = Cores::under(plan.clone(), TargetPolicy::fleet());
        let counted = counted.start().finish().await;
        assert_eq!(counted.outcomes(), all(Outcome::Connect, 20));
        let causes = counted.causes();
        assert_eq!(causes.keys().collect::<Vec<_>>(), [&Cause::NotAllowed]);
        assert_eq!(peer.connections(), 0, "{http:?} {open_first:?}");

        let open = TargetPolicy::fleet().allow("allow-target", ["localhost"]);
        let mut counted = Cores::under(plan, open.expect("a name")).start();
        assert_eq!(counted.finish().await.outcomes(), all(Outcome::Ok, 20));
    }
}

/// Broken if a plan to a closed address or socket can be prepared at all.
#[test]
fn a_plan_to_a_closed_address_is_not_compiled() {
    for (target, connect_to, wanted) in [
        (
            "http://169.254.8.1",
            None,
            "not allowed: link-local address",
        ),
        (
            "http://a.test",
            Some("unix:/run/x"),
            "not allowed: Unix socket",
        ),
    ] {
        let mut plan = quick(target.to_owned(), Http::V1, 1);
        plan.connections.connect_to = connect_to.map(str::to_owned);
        let run = RunId::parse(RUN).expect("a token");
        let fault = Program::compile(&plan, &run, &BTreeMap::new()).expect_err(target);
        assert!(fault.to_string().contains(wanted), "{fault}");
    }
}

/// Broken if an https target is called without TLS where TLS is impossible.
#[test]
fn a_unix_socket_cannot_stand_for_an_https_target() {
    let mut plan = quick("https://target.test".to_owned(), Http::V1, 1);
    plan.connections.connect_to = Some("unix:/run/target".to_owned());
    let run = RunId::parse(RUN).expect("a token");
    let fault = Program::compile(&plan, &run, &BTreeMap::new()).expect_err("no TLS there");
    assert!(
        fault.to_string().contains("connections.connect_to"),
        "{fault}"
    );
}

/// Broken if the agent connects to the target's name instead of `connect_to`, or if requests lose
/// that name.
#[tokio::test]
async fn another_place_stands_for_the_target() {
    for http in BOTH {
        let peer = peer(http);
        let mut plan = quick("http://target.test:81".to_owned(), http, 20);
        plan.connections.connect_to = Some(peer.address.to_string());
        let counted = run(plan).await;
        assert_eq!(counted.outcomes(), all(Outcome::Ok, 20));
        for call in &peer.seen().calls {
            let authority = call.uri.authority().map(|authority| authority.as_str());
            assert_eq!(call.header("host").or(authority), Some("target.test:81"));
        }
    }
}

/// Broken if source addresses do not take turns, or if the system chooses another one.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn connections_come_from_the_sources_in_turn() {
    for http in BOTH {
        let peer = peer(http);
        let mut plan = quick(peer.url(), http, 20);
        plan.connections.reuse = Reuse::Never;
        let sources = ["127.0.0.2", "::1", "127.0.0.3"];
        plan.connections.sources = sources.map(ToOwned::to_owned).to_vec();
        let counted = run(plan).await;
        assert_eq!(counted.outcomes(), all(Outcome::Ok, 20));
        let seen = peer.seen();
        let from = seen.connections.iter().filter_map(|m| m.from);
        let from: Vec<_> = from.map(|from| from.ip()).collect();
        let turn = [2, 3].map(|last| IpAddr::from([127, 0, 0, last]));
        assert_eq!(from, turn.repeat(10));
    }
}

/// The first of eight ports in a row, at `from` or above, that no socket has bound.
#[cfg(target_os = "linux")]
fn first_of_eight_free_ports(from: u16) -> u16 {
    let is_free = |port: u16| TcpListener::bind(("0.0.0.0", port)).is_ok();
    let mut firsts = (from..from + 10_000).step_by(8);
    let found = firsts.find(|first| (*first..first + 8).all(is_free));
    found.expect("eight free ports in a row")
}

/// Broken if a connection comes from a port outside of its range, or if a range that is used up
/// makes calls hang or counts against the target. The first range lies within the system's own
/// range of ports, and the second one does not. Listeners of other tests hold ports of the first
/// one.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn connections_come_from_their_ports_until_those_are_used_up() {
    for http in BOTH {
        for first in [40_000, 20_000].map(first_of_eight_free_ports) {
            let (open, gate) = watch::channel(false);
            let transport = match http {
                Http::V2 => Transport::Http2(Builder::new()),
                _ => Transport::Http1,
            };
            let peer = Peer::start(transport, move |_| Act::Wait(gate.clone()));
            let mut plan = quick(peer.url(), http, 12);
            plan.connections.streams_max = (http == Http::V2).then_some(1);
            plan.connections.sources = vec![format!("127.0.0.9:{first}-{}", first + 7)];
            let mut cores = Cores::new(plan, 2, 12).start();
            let used_up = async {
                while cores.counted().outcomes() != all(Outcome::Local, 4) {
                    cores.harvest().await;
                }
            };
            let used_up = tokio::time::timeout(Duration::from_secs(10), used_up).await;
            used_up.expect("no more than eight ports");
            open.send_replace(true);
            let counted = cores.finish().await;
            let wanted = BTreeMap::from([(Outcome::Ok, 8), (Outcome::Local, 4)]);
            assert_eq!(counted.outcomes(), wanted, "{http:?} {first}");
            let seen = peer.seen();
            let from = seen.connections.iter().filter_map(|m| m.from);
            let mut ports: Vec<u16> = from.map(|from| from.port()).collect();
            ports.sort_unstable();
            assert_eq!(ports, (first..first + 8).collect::<Vec<_>>());
        }
    }
}

/// Broken if load is sent from an address that the plan does not name.
#[tokio::test]
async fn a_source_that_does_not_fit_is_local() {
    for source in ["::1", "203.0.113.7"] {
        let peer = peer(Http::V1);
        let mut plan = quick(peer.url(), Http::V1, 20);
        plan.connections.sources = vec![source.to_owned()];
        let counted = run(plan).await;
        assert_eq!(counted.outcomes(), all(Outcome::Local, 20), "{source}");
        assert_eq!(peer.seen().accepted, 0);
    }
}

/// Broken if an address of the other family is connected to, or if it is not reported that a name
/// has no address of the right family.
#[tokio::test]
async fn only_addresses_of_the_family_are_connected_to() {
    for http in BOTH {
        for (ip, host, outcome) in [
            (IpFamily::V4, "127.0.0.1", Outcome::Ok),
            (IpFamily::V4, "localhost", Outcome::Ok),
            (IpFamily::V6, "127.0.0.1", Outcome::Connect),
            (IpFamily::V6, "localhost", Outcome::Connect),
        ] {
            let peer = peer(http);
            let url = format!("http://{host}:{}", peer.address.port());
            let mut plan = quick(url, http, 20);
            plan.connections.ip = Some(ip);
            let counted = run(plan).await;
            assert_eq!(counted.outcomes(), all(outcome, 20), "{ip:?} {host}");
            if outcome == Outcome::Connect {
                let causes = BTreeMap::from([(Cause::NoSuchAddress, 20)]);
                assert_eq!(counted.causes(), causes, "{ip:?} {host}");
            }
            assert_eq!(peer.seen().accepted, u32::from(outcome == Outcome::Ok));
        }
    }
}

/// Broken if a name is resolved again too early, or never.
#[tokio::test]
async fn a_name_is_resolved_again_when_its_answer_is_old() {
    for (resolve_us, wanted) in [(Some(1), 20..=20), (Some(60_000_000), 0..=1), (None, 0..=1)] {
        for http in BOTH {
            let peer = peer(http);
            let url = format!("http://localhost:{}", peer.address.port());
            let mut plan = quick(url, http, 20);
            plan.connections.reuse = Reuse::Never;
            plan.connections.resolve_us = resolve_us;
            let counted = run(plan).await;
            assert_eq!(counted.outcomes(), all(Outcome::Ok, 20));
            let resolved = counted.phase(0, Phase::Dns).len();
            assert!(wanted.contains(&resolved), "{resolve_us:?}: {resolved}");
        }
    }
}

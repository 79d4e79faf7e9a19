//! Connections through a proxy: what the agent asks of it, how its replies are counted, and that
//! none of them takes longer than its limit. 0.2 s each.

use std::collections::BTreeMap;
use std::time::Duration;

use h2::server::Builder;
use loadpilot_events::log::delta::Phase;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::connections::{Http, Proxy as Setting};
use loadpilot_events::{Cause, Outcome};

use crate::support::certificates::{Authority, Manner as Tls};
use crate::support::cores::{Cores, Counted, plan, step, task};
use crate::support::peer::{Act, Peer, Transport};
use crate::support::proxy::{Manner, Proxy};

/// Time that a proxy takes for its reply.
const DELAY: Duration = Duration::from_millis(20);
const NAME: &str = "target.test";

/// 10 arrivals, one every 2 ms, through a proxy.
fn through(target: String, scheme: &str, proxy: &Proxy) -> Plan {
    let mut plan = plan(target, 500, 20, vec![task("only", 1, vec![step("/only")])]);
    plan.connections.proxy = Some(Setting {
        url: format!("{scheme}://{}", proxy.address),
        credentials_secret: None,
    });
    plan
}

async fn run(plan: Plan) -> Counted {
    Cores::new(plan, 1, 10).start().finish().await
}

/// Broken if anything bypasses the proxy, if a setting of the connections has no effect through it,
/// or if its handshake is in no phase.
#[tokio::test]
async fn every_connection_leads_through_the_proxy() {
    let authority = Authority::new();
    for http in [Http::V1, Http::V2, Http::Auto] {
        let transport = match http {
            Http::V1 => Transport::Http1,
            Http::V2 => Transport::Http2(Builder::new()),
            Http::Auto => Transport::Tls(authority.server(NAME, Tls::BOTH)),
        };
        let peer = Peer::start(transport, |_| Act::Answer(200));
        let proxy = Proxy::start(Manner::Forwards(DELAY));
        let mut plan = through(peer.url(), "http", &proxy);
        plan.connections.http = http;
        if http == Http::Auto {
            plan.target = format!("https://{NAME}");
            plan.connections.connect_to = Some(peer.address.to_string());
            plan.connections.tls.roots_pem = Some(authority.pem());
        }
        let counted = run(plan).await;
        assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Ok, 10)]));
        let (opened, reused) = counted.connections();
        assert_eq!(opened + reused, 10);
        assert_eq!(peer.connections(), opened, "{http:?}");
        assert_eq!(proxy.accepted() as u64, opened, "{http:?}");
        peer.assert_once_each(10);
        let connect = counted.phase(0, Phase::Connect);
        let least = connect.highest_equivalent(connect.min());
        assert!(least >= DELAY.as_micros() as u64, "{least}");
    }
}

/// Broken if a refusal of the proxy looks like a fault of the target or has no cause of its own, or
/// if the agent waits for a hostile reply or keeps it in memory.
#[tokio::test]
async fn each_refusal_has_its_cause() {
    const HTTP: &str = "http";
    const SOCKS: &str = "socks5";
    let cases: [(&str, &'static [&'static [u8]], Cause, &str); 14] = [
        (
            HTTP,
            &[b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"],
            Cause::ProxyCredentials,
            "HTTP/1.1 407 Proxy Authentication Required",
        ),
        (
            HTTP,
            &[b"HTTP/1.0 403 Filtered\r\nX: y\r\n\r\nsecret"],
            Cause::ProxyRefused,
            "HTTP/1.0 403 Filtered",
        ),
        (
            HTTP,
            &[b"HTTP/1.1 502 Bad Gateway\r\n\r\n"],
            Cause::ProxyNoConnection,
            "HTTP/1.1 502 Bad Gateway",
        ),
        (
            HTTP,
            &[b"SSH-2.0-x\r\n\r\n"],
            Cause::ProxyProtocol,
            "not HTTP/1",
        ),
        (
            HTTP,
            &[b"HTTP/1.1 200 OK\r\n"],
            Cause::ProxyProtocol,
            "closed the connection",
        ),
        (HTTP, &[], Cause::ProxyProtocol, "closed the connection"),
        (
            SOCKS,
            &[b"\x05\xff"],
            Cause::ProxyCredentials,
            "SOCKS 5: no acceptable authentication",
        ),
        (
            SOCKS,
            &[b"\x05\x02"],
            Cause::ProxyCredentials,
            "SOCKS 5: no acceptable authentication",
        ),
        (
            SOCKS,
            &[b"\x05\x00", b"\x05\x02\x00\x01"],
            Cause::ProxyRefused,
            "SOCKS 5 reply 2: not allowed by its rules",
        ),
        (
            SOCKS,
            &[b"\x05\x00", b"\x05\x05\x00\x01\0\0\0\0\0\0"],
            Cause::ProxyNoConnection,
            "SOCKS 5 reply 5: connection refused",
        ),
        (
            SOCKS,
            &[b"HTTP/1.0 400 Bad\r\n\r\n"],
            Cause::ProxyProtocol,
            "not SOCKS 5",
        ),
        (
            SOCKS,
            &[b"\x05\x00", b"\x04\0\0\0"],
            Cause::ProxyProtocol,
            "not SOCKS 5",
        ),
        (
            SOCKS,
            &[b"\x05\x00", b"\x05\0\0\x09"],
            Cause::ProxyProtocol,
            "not SOCKS 5",
        ),
        (
            SOCKS,
            &[b"\x05\x00"],
            Cause::ProxyProtocol,
            "closed the connection",
        ),
    ];
    for (scheme, says, cause, words) in cases {
        let proxy = Proxy::start(Manner::Says(says));
        let target = "http://nowhere.invalid".to_owned();
        let counted = run(through(target, scheme, &proxy)).await;
        let failed = BTreeMap::from([(Outcome::Connect, 10)]);
        assert_eq!(counted.outcomes(), failed, "{scheme} {words}");
        assert_eq!(
            counted.causes(),
            BTreeMap::from([(cause, 10)]),
            "{scheme} {words}"
        );
        let example = counted.failures().swap_remove(0);
        assert_eq!(example.answer, [format!("proxy: {words}")]);
        assert_eq!(example.body, "");
    }
}

/// Broken if the agent waits for ever for a proxy whose reply never ends, or never comes.
#[tokio::test]
async fn a_hostile_proxy_has_limits() {
    let target = || "http://nowhere.invalid".to_owned();
    let endless = Proxy::start(Manner::Endless);
    let counted = run(through(target(), "http", &endless)).await;
    let protocol = BTreeMap::from([(Cause::ProxyProtocol, 10)]);
    assert_eq!(counted.causes(), protocol);
    for scheme in ["http", "socks5"] {
        let silent = Proxy::start(Manner::Silent);
        let mut plan = through(target(), scheme, &silent);
        plan.timeout_us = 60_000_000;
        plan.timeouts.connect_us = Some(100_000);
        let counted = run(plan).await;
        let late = BTreeMap::from([(Outcome::Timeout, 10)]);
        assert_eq!(counted.outcomes(), late, "{scheme}");
        let connecting = BTreeMap::from([(Cause::WhileConnecting, 10)]);
        assert_eq!(counted.causes(), connecting, "{scheme}");
    }
}

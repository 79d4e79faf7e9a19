//! Connections that are opened before the start, as seen by the target.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use crate::support::certificates::{Authority, Manner};
use crate::support::cores::{Cores, plan, step, task};
use crate::support::peer::{Act, Peer, Transport};
use crate::support::target::closed_port;
use h2::server::Builder;
use loadpilot_agent::fire::Preconnected;
use loadpilot_events::log::delta::Phase;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::connections::Http;
use loadpilot_events::{Cause, Outcome};

/// 20 arrivals within 2 ms.
fn burst(url: String, http: Http) -> Plan {
    let tasks = vec![task("only", 1, vec![step("/only")])];
    let mut plan = plan(url, 10_000, 2, tasks);
    plan.connections.http = http;
    plan
}

fn all(outcome: Outcome) -> BTreeMap<Outcome, u64> {
    BTreeMap::from([(outcome, 20)])
}

async fn warmed(cores: &Cores) -> Preconnected {
    let mut sum = Preconnected::default();
    for core in &cores.cores {
        sum = sum.and(core.preconnected().await.expect("a living core"));
    }
    sum
}

/// Broken if a connection, its handshake included, is not open before the first request is due, if
/// the first calls do not use it, or if its handshake is in the time of a call.
#[tokio::test]
async fn they_are_open_before_the_first_request_and_the_first_calls_use_them() {
    let authority = Authority::new();
    for (is_tls, http, count) in [
        (false, Http::V1, 20),
        (false, Http::V2, 3),
        (true, Http::V1, 20),
        (true, Http::V2, 3),
        (true, Http::Auto, 3),
    ] {
        let transport = match (is_tls, http) {
            (true, _) => Transport::Tls(authority.server("localhost", Manner::BOTH)),
            (false, Http::V2) => Transport::Http2(Builder::new()),
            (false, _) => Transport::Http1,
        };
        let peer = Peer::start(transport, |_| Act::Answer(200));
        let mut plan = burst(peer.url(), http);
        if is_tls {
            plan.target = "https://localhost".to_owned();
            plan.connections.connect_to = Some(peer.address.to_string());
            plan.connections.tls.roots_pem = Some(authority.pem());
        }
        plan.connections.open_first = Some(count);
        plan.connections.max = Some(count);
        let cores = Cores::new(plan, 2, 20);
        let wanted = Preconnected {
            opened: count,
            failed: 0,
            last_failure: None,
        };
        assert_eq!(warmed(&cores).await, wanted);
        peer.wait_until("open", |seen| seen.connections.len() == count as usize);
        assert_eq!(peer.seen().calls.len(), 0);

        let counted = cores.start().finish().await;
        assert_eq!(counted.outcomes(), all(Outcome::Ok), "{http:?}");
        peer.assert_once_each(20);
        assert_eq!(peer.seen().accepted, count, "{http:?}");
        assert_eq!(counted.connections(), (0, 20), "{http:?}");
        for phase in [Phase::Dns, Phase::Connect, Phase::Tls] {
            assert_eq!(counted.phase(0, phase).len(), 0, "{phase:?}");
        }
    }
}

/// Broken if a connection that was opened before the start carries more requests than any other
/// may, or fewer.
#[tokio::test]
async fn the_limits_of_reuse_hold_for_them_too() {
    for http in [Http::V1, Http::V2] {
        let transport = match http {
            Http::V2 => Transport::Http2(Builder::new()),
            _ => Transport::Http1,
        };
        let peer = Peer::start(transport, |_| Act::Answer(200));
        let mut plan = burst(peer.url(), http);
        plan.connections.requests_max = Some(4);
        plan.connections.open_first = Some(5);
        let cores = Cores::new(plan, 1, 1);
        assert_eq!(warmed(&cores).await.opened, 5);
        let counted = cores.start().finish().await;
        assert_eq!(counted.outcomes(), all(Outcome::Ok));
        let calls: Vec<u32> = peer.seen().connections.iter().map(|m| m.calls).collect();
        assert_eq!(calls, [4; 5], "{http:?}");
        assert_eq!(counted.connections(), (0, 20));
    }
}

/// Broken if a connection that the target closed before the start costs a call.
#[tokio::test]
async fn one_that_the_target_closed_is_thrown_away() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
    let address = listener.local_addr().expect("its address");
    let (closed, first_is_closed) = std::sync::mpsc::channel();
    let target = thread::spawn(move || {
        drop(listener.accept().expect("the first connection"));
        closed.send(()).expect("a test that listens");
        let (mut stream, _) = listener.accept().expect("the second connection");
        let mut request = Vec::new();
        let mut chunk = [0; 1024];
        while !request.ends_with(b"\r\n\r\n") {
            let bytes = stream.read(&mut chunk).expect("a request");
            request.extend_from_slice(&chunk[..bytes]);
        }
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).expect("an open connection");
    });
    let mut plan = burst(format!("http://{address}"), Http::V1);
    plan.profile.pieces[0].duration_us = 100;
    plan.connections.open_first = Some(1);
    let cores = Cores::new(plan, 1, 1);
    assert_eq!(warmed(&cores).await.opened, 1);
    first_is_closed.recv().expect("a target");
    let counted = cores.start().finish().await;
    assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Ok, 1)]));
    assert_eq!(counted.connections(), (1, 0));
    target.join().expect("a request on the second connection");
}

/// Broken if an absent target ends the run before it begins, or is not reported.
#[tokio::test]
async fn a_connection_that_cannot_be_opened_is_reported_and_tried_again() {
    for http in [Http::V1, Http::V2] {
        let mut plan = burst(format!("http://{}", closed_port()), http);
        plan.connections.open_first = Some(7);
        let cores = Cores::new(plan, 2, 20);
        let wanted = Preconnected {
            opened: 0,
            failed: 7,
            last_failure: Some(Cause::Refused),
        };
        assert_eq!(warmed(&cores).await, wanted);
        let counted = cores.start().finish().await;
        assert_eq!(counted.outcomes(), all(Outcome::Connect), "{http:?}");
    }
}

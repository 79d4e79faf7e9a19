//! Connections that are reset, at every stage of an exchange.

use loadpilot_events::Outcome;

use crate::support::memory;
use crate::support::run::{Ask, run_in_turn};
use crate::support::server::Server;

/// The bytes sent before the reset.
const STAGES: [&[u8]; 8] = [
    b"",
    b"HTTP/1.1 2",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nx-a: b\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
    // The body lasts until the end of the connection, and a reset is no such end. RFC 9112 8.
    b"HTTP/1.1 200 OK\r\n\r\nhello",
];

/// Broken if a reset is taken for the end of a response, or for permission to send the request
/// again.
#[test]
fn a_reset_before_the_end_is_io() {
    let _turn = memory::beside_others();
    for stage in STAGES {
        let server = Server::start(move |peer| {
            if let Some(seen) = peer.request() {
                match seen.path.as_str() {
                    "/reset" => peer.say_and_reset(stage),
                    _ => peer.answer_probe(),
                }
            }
        });
        let task = [
            Ask::get("/reset"),
            Ask::post("/reset", 3),
            Ask::get("/probe"),
        ];
        let counts = run_in_turn(&server, &task, 5);
        let name = stage.escape_ascii();
        for reset in &counts[..2] {
            assert_eq!(reset.outcomes, [(Outcome::Io, 5)].into(), "{name}");
            assert!(reset.received_bytes <= 5 * stage.len() as u64, "{name}");
        }
        assert_eq!(counts[2].outcomes, [(Outcome::Ok, 5)].into(), "{name}");
        assert_eq!(
            server.seen().len(),
            15,
            "{name}: each request was sent once"
        );
    }
}

/// Broken if a connection that is gone before the request is written makes the call or the core
/// hang.
#[test]
fn a_reset_before_the_request_is_one_outcome() {
    let _turn = memory::beside_others();
    let server = Server::start(|peer| {
        if peer.is_one_of_the_first(20) {
            return peer.reset();
        }
        while peer.request().is_some() {
            peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let counts = run_in_turn(&server, &[Ask::get("/any")], 40);
    let times = |outcome| {
        counts[0]
            .outcomes
            .get(&outcome)
            .copied()
            .unwrap_or_default()
    };
    // A reset may come so early that the connection was never established.
    let (ok, broken) = (
        times(Outcome::Ok),
        times(Outcome::Io) + times(Outcome::Connect),
    );
    assert_eq!(ok + broken, 40, "{:?}", counts[0].outcomes);
    assert!(
        broken <= 20,
        "only connections that were reset may fail: {broken}"
    );
    assert_eq!(server.seen().len() as u64, ok, "and no request came twice");
}

/// Broken if a complete response is lost because of what comes after it, or counted twice.
#[test]
fn a_reset_after_the_end_costs_at_most_the_next_request() {
    let _turn = memory::beside_others();
    let server = Server::start(|peer| {
        if peer.request().is_some() {
            peer.say_and_reset(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
        }
    });
    // The reset races with the next request: only the sums are certain, and that every request that
    // was answered was answered once.
    let counts = run_in_turn(&server, &[Ask::post("/any", 3)], 50);
    let ok = counts[0]
        .outcomes
        .get(&Outcome::Ok)
        .copied()
        .unwrap_or_default();
    assert_eq!(server.seen().len() as u64, ok);
    assert!(ok >= 25, "{:?}", counts[0].outcomes);
}

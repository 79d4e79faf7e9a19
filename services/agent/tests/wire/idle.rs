//! Events on an idle connection, and their effect on the next request.
//!
//! Two tasks of one core: the first one leaves a connection idle. The second one keeps the core's
//! other connection busy until the server has acted on the idle one, and then makes the next call.
//! No clock is involved.

use loadpilot_events::Outcome;
use loadpilot_events::plan::Method;

use crate::support::memory;
use crate::support::peer::{PROBE, Peer};
use crate::support::run::{Ask, CallCount, run_each, run_in_turn};
use crate::support::server::{Seen, Server};

const KEPT: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nkept";

/// The server's action on the idle connection.
type Deed = fn(&mut Peer);

fn serve(peer: &mut Peer, deed: Deed) {
    while let Some(seen) = peer.request() {
        match seen.path.as_str() {
            "/leave" => {
                peer.log.wait_for_path("/hold");
                peer.say(KEPT);
                peer.wait_until_read();
                deed(peer);
                peer.wait_until_arrived();
                peer.log.mark("done");
            }
            "/hold" => {
                peer.log.wait_for_mark("done");
                peer.say_pieces_and_finish(&[PROBE]);
            }
            _ => return peer.answer_probe(),
        }
    }
}

/// The counts of the call after the action, and the requests for it.
fn next_after(deed: Deed, method: Method) -> (CallCount, Vec<Seen>) {
    let server = Server::start(move |peer| serve(peer, deed));
    let next = match method {
        Method::Post => Ask::post("/next", 3),
        _ => Ask::get("/next"),
    };
    let mut counts = run_each(
        &server,
        &[vec![Ask::get("/leave")], vec![Ask::get("/hold"), next]],
    );
    assert_eq!(
        counts[0].outcome(),
        Outcome::Ok,
        "the answer before was complete"
    );
    assert_eq!(counts[0].received_bytes, KEPT.len() as u64);
    assert_eq!(counts[1].outcome(), Outcome::Ok);
    let mut seen = server.seen();
    seen.retain(|seen| seen.path == "/next");
    (counts.remove(2), seen)
}

/// Broken if a request is written to a connection that is known to be over, counts as answered by
/// bytes that came before it, or is lost or doubled on its way to a new connection.
#[test]
fn a_request_passes_by_an_idle_connection_that_is_over() {
    const TIMED_OUT: &[u8] =
        b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let _turn = memory::beside_others();
    let deeds: [(&str, Deed); 8] = [
        ("closed", Peer::finish),
        ("reset", Peer::reset),
        ("408 and closed", |peer| {
            peer.say_pieces_and_finish(&[TIMED_OUT])
        }),
        // RFC 9112 9.2: data without an outstanding request must not be taken for an answer.
        ("408", |peer| peer.say(TIMED_OUT)),
        ("an answer for the next one", |peer| peer.say(KEPT)),
        ("an empty line", |peer| peer.say(b"\r\n")),
        ("noise", |peer| peer.say(b"\0\xff")),
        ("noise and closed", |peer| {
            peer.say_pieces_and_finish(&[b"\0\xff"])
        }),
    ];
    for (name, deed) in deeds {
        for method in [Method::Get, Method::Post] {
            let (next, seen) = next_after(deed, method);
            let own = (next.outcome(), next.statuses.keys().next().copied());
            assert_eq!(own, (Outcome::Ok, Some(203)), "{name}, {method:?}");
            assert_eq!(seen.len(), 1, "{name}, {method:?}: sent once: {seen:?}");
            assert_eq!((next.opened, next.reused), (1, 0), "{name}, {method:?}");
            assert_eq!(
                next.received_bytes,
                PROBE.len() as u64,
                "{name}, {method:?}"
            );
        }
    }
}

/// Serves one request on the first connection, and performs `deed` on the second one.
fn second_request(deed: Deed, method: Method) -> (Vec<CallCount>, Vec<Seen>) {
    let server = Server::start(move |peer| {
        while let Some(seen) = peer.request() {
            match (seen.connection, seen.path.as_str()) {
                (_, "/first") => peer.say(KEPT),
                (0, "/second") => return deed(peer),
                _ => return peer.answer_probe(),
            }
        }
    });
    let second = match method {
        Method::Post => Ask::post("/second", 3),
        _ => Ask::get("/second"),
    };
    let task = [Ask::get("/first"), second, Ask::get("/probe")];
    let counts = run_in_turn(&server, &task, 1);
    assert_eq!(counts[0].outcome(), Outcome::Ok);
    assert_eq!(counts[2].outcome(), Outcome::Ok, "the next request works");
    let mut seen = server.seen();
    seen.retain(|seen| seen.path == "/second");
    (counts, seen)
}

/// Broken if a request is sent again although its response has begun.
#[test]
fn a_request_that_was_half_answered_is_never_sent_again() {
    let _turn = memory::beside_others();
    let deeds: [(&str, Deed); 5] = [
        ("one byte", |peer| peer.say_pieces_and_finish(&[b"H"])),
        ("half a head", |peer| {
            peer.say_pieces_and_finish(&[b"HTTP/1.1 200 OK\r\nconte"])
        }),
        ("half a body", |peer| {
            peer.say_pieces_and_finish(&[&KEPT[..KEPT.len() - 1]])
        }),
        ("an interim answer", |peer| {
            peer.say_pieces_and_finish(&[b"HTTP/1.1 100 C\r\n\r\n"])
        }),
        ("half a head and a reset", |peer| {
            peer.say_and_reset(b"HTTP/1.1 20")
        }),
    ];
    for (name, deed) in deeds {
        for method in [Method::Get, Method::Post] {
            let (counts, seen) = second_request(deed, method);
            assert_eq!(counts[1].outcome(), Outcome::Io, "{name}, {method:?}");
            assert_eq!(seen.len(), 1, "{name}, {method:?}: {seen:?}");
        }
    }
}

/// Broken if a request is repeated that the target received and that changes something there.
/// Broken, too, if a request that may be repeated is repeated more than once, or counted more than
/// once.
#[test]
fn a_request_that_was_taken_in_without_an_answer_is_repeated_at_most_if_it_is_safe() {
    let _turn = memory::beside_others();
    let deeds: [(&str, Deed); 2] = [("closed", Peer::finish), ("reset", Peer::reset)];
    for (name, deed) in deeds {
        let (counts, seen) = second_request(deed, Method::Post);
        assert_eq!(counts[1].outcome(), Outcome::Io, "{name}");
        assert_eq!(seen.len(), 1, "{name}: {seen:?}");
        // RFC 9110 9.2.2: an idempotent request may be repeated; its end is then that of the last
        // attempt.
        let (counts, seen) = second_request(deed, Method::Get);
        let expected = match seen.len() {
            1 => Outcome::Io,
            _ => Outcome::Ok,
        };
        assert_eq!(counts[1].outcome(), expected, "{name}: {seen:?}");
        assert!(seen.len() <= 2, "{name}: {seen:?}");
    }
}

/// Broken if consecutive calls open connections that they do not need.
#[test]
fn calls_in_turn_share_one_connection() {
    let _turn = memory::beside_others();
    let server = Server::start(|peer| {
        while peer.request().is_some() {
            peer.say(KEPT);
        }
    });
    let counts = run_in_turn(&server, &[Ask::get("/a"), Ask::post("/b", 3)], 100);
    assert_eq!(server.connections(), 1);
    assert_eq!((counts[0].opened, counts[0].reused), (1, 99));
    assert_eq!((counts[1].opened, counts[1].reused), (0, 100));
}

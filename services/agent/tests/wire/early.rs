//! Responses that come before the request has been sent. RFC 9112 9.5: the client should watch for
//! them, and stop sending.

use loadpilot_events::Outcome;

use crate::support::memory;
use crate::support::peer::Peer;
use crate::support::run::{Ask, CallCount, run_in_turn};
use crate::support::server::Server;

/// More than the buffers of both sockets take.
const LARGE_BYTES: usize = 16 << 20;

const REFUSED: &[u8] =
    b"HTTP/1.1 413 Too Large\r\ncontent-length: 5\r\nconnection: close\r\n\r\nlarge";

/// A large POST of which the server reads only the head before `answer`, and a probe.
fn post(answer: impl Fn(&mut Peer) + Send + Sync + 'static) -> Vec<CallCount> {
    let server = Server::start(move |peer| {
        if let Some(seen) = peer.request_head() {
            match seen.path.as_str() {
                "/large" => answer(peer),
                _ => peer.answer_probe(),
            }
        }
    });
    let task = [Ask::post("/large", LARGE_BYTES), Ask::get("/probe")];
    let counts = run_in_turn(&server, &task, 1);
    assert_eq!(counts[1].outcome(), Outcome::Ok, "the next request works");
    assert_eq!(
        (counts[1].opened, counts[1].reused),
        (1, 0),
        "on a connection of its own"
    );
    let posts = server
        .seen()
        .iter()
        .filter(|seen| seen.path == "/large")
        .count();
    assert_eq!(posts, 1);
    counts
}

/// Broken if an engine continues to send to a server that has refused and reads no more: the call
/// would end as a time-out instead of with the server's response.
#[test]
fn an_early_refusal_ends_the_request() {
    let _turn = memory::beside_others();
    let counts = post(|peer| {
        peer.say(REFUSED);
        peer.log.wait_for_path("/probe");
    });
    assert_eq!(counts[0].outcome(), Outcome::Http4xx);
    assert_eq!(counts[0].received_bytes, REFUSED.len() as u64);
    assert!(
        counts[0].sent_bytes < LARGE_BYTES as u64,
        "what was not sent does not count"
    );
}

/// Broken if an endless response is not read while the request is still being sent.
#[test]
fn an_early_answer_of_chunks_is_read_while_sending() {
    let _turn = memory::beside_others();
    let counts = post(|peer| {
        let head = b"HTTP/1.1 400 Bad\r\ntransfer-encoding: chunked\r\n\r\n";
        let answer: [&[u8]; 4] = [head, b"3\r\nbad\r\n", b"0\r\n", b"\r\n"];
        peer.say_pieces(&answer);
        peer.log.wait_for_path("/probe");
    });
    assert_eq!(counts[0].outcome(), Outcome::Http4xx);
}

/// Broken if a refusal with a reset is counted twice or makes the call hang. Which of the two the
/// client's system reports first is a matter of luck.
#[test]
fn an_early_refusal_with_a_reset_ends_the_request() {
    let _turn = memory::beside_others();
    // The close of a socket with unread bytes is a reset.
    let counts = post(|peer| peer.say(REFUSED));
    let outcome = counts[0].outcome();
    assert!(
        [Outcome::Http4xx, Outcome::Io].contains(&outcome),
        "{outcome:?}"
    );
}

/// Broken if the counts differ when the server reads the whole request after its early response.
#[test]
fn an_early_answer_of_a_server_that_reads_on_is_an_answer() {
    let _turn = memory::beside_others();
    let server = Server::start(|peer| {
        while let Some(seen) = peer.request_head() {
            peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
            if !peer.skip(seen.body_bytes) {
                return;
            }
        }
    });
    let task = [Ask::post("/large", LARGE_BYTES), Ask::get("/next")];
    let counts = run_in_turn(&server, &task, 1);
    assert_eq!(counts[0].outcome(), Outcome::Ok);
    assert_eq!(counts[1].outcome(), Outcome::Ok);
    assert_eq!(server.seen().len(), 2, "each was sent once");
}

//! Slow targets. A call ends at its time-out, however active its connection seems.

use std::time::Duration;

use loadpilot_events::Outcome;

use crate::support::memory;
use crate::support::peer::Peer;
use crate::support::run::{Ask, run_each, run_in_turn};
use crate::support::server::Server;

/// Time-out of the calls that are answered too slowly.
const SHORT: Duration = Duration::from_millis(300);

/// Time-out of a call that is not answered at all, in the same run.
const LONG: Duration = Duration::from_millis(1_200);

/// Time between two bytes: many fit into the time-out.
const PAUSE: Duration = Duration::from_millis(5);

type Torture = fn(&mut Peer);

const TORTURES: [(&str, Torture); 8] = [
    ("nothing", |peer| peer.watch()),
    ("half a head", |peer| {
        peer.say(b"HTTP/1.1 200 OK\r\nx-a: b");
        peer.watch();
    }),
    ("half a body", |peer| {
        peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell");
        peer.watch();
    }),
    ("a dripping head", |peer| {
        peer.say(b"HTTP/1.1 200 OK\r\n");
        peer.drip(b"x: y\r\n", PAUSE);
    }),
    ("a dripping body", |peer| {
        peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n");
        peer.drip(b"x", PAUSE);
    }),
    ("dripping chunks", |peer| {
        peer.say(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        peer.drip(b"1\r\nx\r\n", PAUSE);
    }),
    ("dripping until the end", |peer| {
        peer.say(b"HTTP/1.1 200 OK\r\n\r\n");
        peer.drip(b"x", PAUSE);
    }),
    ("dripping interim answers", |peer| {
        peer.drip(b"HTTP/1.1 100 Continue\r\n\r\n", PAUSE);
    }),
];

/// Broken if incoming bytes give a call more time than it has, or let its connection carry another
/// call.
#[test]
fn a_call_ends_at_its_timeout_whatever_still_comes() {
    let _turn = memory::beside_others();
    let server = Server::start(|peer| {
        if let Some(seen) = peer.request() {
            match seen.path.strip_prefix("/slow/") {
                Some(number) => {
                    let number: usize = number.parse().expect("the number of a torture");
                    TORTURES[number].1(peer);
                }
                None if seen.path == "/silent" => peer.watch(),
                None => peer.answer_probe(),
            }
        }
    });
    let slow = |number| Ask::get(&format!("/slow/{number}")).within(SHORT);
    let tasks = (0..TORTURES.len()).map(|number| vec![slow(number), Ask::get("/probe")]);
    let reference = vec![Ask::get("/silent").within(LONG)];
    let tasks: Vec<Vec<Ask>> = tasks.chain([reference]).collect();
    let counts = run_each(&server, &tasks);
    let silent = counts.last().expect("the reference is the last call");
    assert_eq!(silent.outcome(), Outcome::Timeout);
    for ((name, _), pair) in TORTURES.iter().zip(counts.chunks(2)) {
        assert_eq!(pair[0].outcome(), Outcome::Timeout, "{name}");
        let service = &pair[0].service;
        let least = service.highest_equivalent(service.min());
        assert!(u128::from(least) >= SHORT.as_micros(), "{name}: {least} µs");
        assert!(
            service.max() < silent.service.min(),
            "{name}: {} µs",
            service.max()
        );
        assert_eq!(
            pair[1].outcome(),
            Outcome::Ok,
            "{name}: the next request works"
        );
        assert_eq!(
            (pair[1].opened, pair[1].reused),
            (1, 0),
            "{name}: not on that connection"
        );
    }
}

/// Broken if a timer that fires during a flood is lost, so that a call never ends whose target then
/// falls silent.
#[test]
fn a_call_ends_at_its_timeout_when_a_flood_falls_silent() {
    let _turn = memory::beside_others();
    let server = Server::start(|peer| {
        while let Some(seen) = peer.request() {
            match seen.path.as_str() {
                "/quick" => peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
                "/flood" => {
                    peer.say(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
                    // Longer than the time-out of the call before, and shorter than its own.
                    peer.flood_for(SHORT / 2, b"1\r\nx\r\n");
                    return peer.watch();
                }
                _ => return peer.answer_probe(),
            }
        }
    });
    let task = [
        Ask::get("/quick").within(SHORT / 4),
        Ask::get("/flood").within(SHORT),
        Ask::get("/probe"),
    ];
    let counts = run_in_turn(&server, &task, 5);
    assert_eq!(counts[0].outcomes, [(Outcome::Ok, 5)].into());
    assert_eq!(counts[1].outcomes, [(Outcome::Timeout, 5)].into());
    assert_eq!(counts[2].outcomes, [(Outcome::Ok, 5)].into());
}

//! Memory allocations of a call: none, once its connection is open.

use crate::support::memory::Alone;
use crate::support::run::{Ask, run_in_turn_until};
use crate::support::server::Server;

/// Number of allocations of the core in a run of this number of calls on one connection.
fn allocations(ask: &Ask, calls: u64) -> usize {
    let server = Server::start(|peer| {
        while peer.request().is_some() {
            peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
        }
    });
    let alone = Alone::begin();
    alone.count_allocations();
    let mut allocations = 0;
    let counts = run_in_turn_until(&server, std::slice::from_ref(ask), calls, || {
        allocations = alone.counted_allocations();
    });
    assert_eq!((counts[0].opened, counts[0].reused), (1, calls - 1));
    allocations
}

/// Broken if the load engine allocates per call: its cost would depend on other allocations.
#[test]
fn a_call_on_an_open_connection_allocates_nothing() {
    allocates_nothing(&Ask::get("/"));
}

/// Broken if each call copies a large body.
#[test]
fn a_call_with_a_large_body_allocates_nothing_either() {
    allocates_nothing(&Ask::post("/", 64 << 10));
}

fn allocates_nothing(ask: &Ask) {
    const FEW: u64 = 200;
    const MANY: u64 = 2_000;
    // The queue of waiting arrivals grows now and then.
    const BESIDE: usize = 20;
    let (few, many) = (allocations(ask, FEW), allocations(ask, MANY));
    assert!(
        many <= few + BESIDE,
        "{few} for {FEW} calls, {many} for {MANY}"
    );
}

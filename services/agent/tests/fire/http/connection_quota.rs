//! The limit of connections, counted by the target: never more are open, and an arrival that waits
//! for one waits in the queue, which is reported.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::support::cores::{Cores, Counted, plan, step, task};
use crate::support::peer::{Act, Call, Peer, Transport};
use h2::server::Builder;
use loadpilot_events::plan::connections::Http;
use loadpilot_events::plan::{Plan, Shape};
use loadpilot_events::{DropReason, Outcome};
use tokio::sync::watch;

/// A plan with this number of arrivals, one every 2 ms.
fn quick(url: String, http: Http, arrivals: u64) -> Plan {
    let tasks = vec![task("only", 1, vec![step("/only")])];
    let mut plan = plan(url, 500, arrivals * 2, tasks);
    plan.connections.http = http;
    plan
}

fn peer(http: Http, decide: impl Fn(&Call) -> Act + Send + Sync + 'static) -> Peer {
    let transport = match http {
        Http::V2 => Transport::Http2(Builder::new()),
        Http::V1 | Http::Auto => Transport::Http1,
    };
    Peer::start(transport, decide)
}

fn all_ok(count: u64) -> BTreeMap<Outcome, u64> {
    BTreeMap::from([(Outcome::Ok, count)])
}

/// Waits until this number of arrivals is in flight or waiting; none is lost in between.
async fn fill(cores: &mut Cores, in_flight: u64, waiting: u64) {
    loop {
        let harvests = cores.harvest().await;
        let sum = harvests.iter().fold((0, 0), |(flying, queued), harvest| {
            (flying + harvest.in_flight, queued + harvest.waiting)
        });
        assert!(sum.0 <= in_flight, "{sum:?}");
        if sum == (in_flight, waiting) {
            return;
        }
    }
}

/// Broken if a core opens more or fewer connections than its part of the limit, if an arrival
/// without one is lost, or if an arrival with a slot waits for a connection.
#[tokio::test]
async fn no_more_connections_are_open_than_allowed() {
    // Protocol, cores, limit of connections, streams per connection, and the resulting number of
    // concurrent calls.
    let cases = [
        (Http::V1, 1, 3, None, 3),
        (Http::V1, 2, 5, None, 5),
        (Http::V2, 1, 2, Some(3), 6),
        (Http::V2, 2, 3, Some(4), 12),
    ];
    for (http, cores, max, streams_max, at_a_time) in cases {
        let (open, gate) = watch::channel(false);
        let peer = peer(http, move |_| Act::Wait(gate.clone()));
        let mut plan = quick(peer.url(), http, 40);
        plan.connections.max = Some(max);
        plan.connections.streams_max = streams_max;
        let mut cores = Cores::new(plan, cores, 50).start();
        fill(&mut cores, at_a_time, 40 - at_a_time).await;
        peer.wait_until("all there", |seen| {
            seen.connections
                .iter()
                .map(|m| u64::from(m.calls))
                .sum::<u64>()
                == at_a_time
        });
        assert_eq!(peer.seen().accepted, max, "{http:?}");
        open.send_replace(true);
        let counted = cores.finish().await;
        assert_eq!(counted.outcomes(), all_ok(40));
        peer.assert_once_each(40);
        assert_eq!(peer.seen().accepted, max, "{http:?}");
        assert_eq!(counted.connections(), (u64::from(max), 40 - u64::from(max)));
    }
}

/// Broken if the wait for a connection is counted in the service time, where it looks like the
/// target's time. By Little's law the service times of all calls together are at most the number of
/// connections times the length of the run, whatever the speed of the machine.
#[tokio::test]
async fn the_wait_for_a_connection_is_queue_and_not_service() {
    const MAX: u32 = 2;
    for (http, streams_max) in [(Http::V1, None), (Http::V2, Some(1))] {
        let peer = peer(http, |_| {
            // The delay holds up all connections: the target is one thread.
            std::thread::sleep(Duration::from_millis(5));
            Act::Answer(200)
        });
        let mut plan = quick(peer.url(), http, 40);
        plan.connections.max = Some(MAX);
        plan.connections.streams_max = streams_max;
        let begin = Instant::now();
        let counted = Cores::new(plan, 1, 50).start().finish().await;
        let length_us = begin.elapsed().as_secs_f64() * 1e6;
        assert_eq!(counted.outcomes(), all_ok(40));
        let (response, service) = counted.times(0);
        let sum = |mean: f64| mean * 40.0;
        // Histograms of three digits may be off by a thousandth.
        let most_us = f64::from(MAX) * length_us * 1.001;
        assert!(sum(service.mean()) <= most_us, "{}", service.mean());
        assert!(sum(response.mean()) > most_us, "the test proves nothing");
    }
}

/// Broken if an arrival waits for a connection for ever, or if its drop is reported with another
/// reason.
#[tokio::test]
async fn an_arrival_that_waits_too_long_for_a_connection_is_dropped() {
    let (open, gate) = watch::channel(false);
    let peer = peer(Http::V1, move |_| Act::Wait(gate.clone()));
    let mut plan = quick(peer.url(), Http::V1, 20);
    plan.connections.max = Some(1);
    plan.max_wait_us = 50_000;
    let mut cores = Cores::new(plan, 1, 50).start();
    while cores.counted().dropped(DropReason::NoSlot) < 19 {
        cores.harvest().await;
    }
    open.send_replace(true);
    let counted = cores.finish().await;
    assert_eq!((counted.outcomes(), counted.started()), (all_ok(1), 1));
    assert_eq!(peer.seen().accepted, 1);
}

/// Broken if calls hang after the only connection has carried its maximum number of calls: the next
/// one is opened only when that one is gone.
#[tokio::test]
async fn a_full_pool_goes_on_when_its_connections_end() {
    for (http, streams_max) in [(Http::V1, None), (Http::V2, Some(3))] {
        let peer = peer(http, |_| Act::Answer(200));
        let mut plan = quick(peer.url(), http, 43);
        plan.connections.max = Some(1);
        plan.connections.streams_max = streams_max;
        plan.connections.requests_max = Some(5);
        let counted = Cores::new(plan, 1, 50).start().finish().await;
        assert_eq!(counted.outcomes(), all_ok(43));
        peer.assert_once_each(43);
        let calls: Vec<u32> = peer.seen().connections.iter().map(|m| m.calls).collect();
        assert_eq!(calls, [5, 5, 5, 5, 5, 5, 5, 5, 3]);
    }
}

/// Broken if a second connection is opened while the first one, which takes no more calls, still
/// carries one.
#[tokio::test]
async fn a_connection_that_ends_keeps_its_place_until_it_is_gone() {
    let (open, gate) = watch::channel(false);
    let peer = peer(Http::V2, move |call| match call.id() {
        id if id.ends_with("/0/0") => Act::Wait(gate.clone()),
        id if id.ends_with("/1/0") => Act::Last,
        _ => Act::Answer(200),
    });
    let tasks = vec![task("only", 1, vec![step("/only")])];
    // One arrival every 50 ms.
    let mut plan = plan(peer.url(), 20, 150, tasks);
    plan.connections.http = Http::V2;
    plan.connections.max = Some(1);
    let mut cores = Cores::new(plan, 1, 50).start();
    while cores.counted().started() < 3 || cores.counted().outcomes().is_empty() {
        cores.harvest().await;
    }
    for _ in 0..3000 {
        cores.harvest().await;
    }
    assert_eq!(peer.seen().accepted, 1);
    open.send_replace(true);
    let counted = cores.finish().await;
    assert_eq!(counted.outcomes(), all_ok(3));
    peer.assert_once_each(3);
    assert_eq!(peer.seen().accepted, 2);
}

fn closed(url: String, users: u32, duration_ms: u64) -> Plan {
    let tasks = vec![task("only", 1, vec![step("/only")])];
    let mut plan = plan(url, 0, duration_ms, tasks);
    plan.profile.shape = Shape::Closed;
    plan.users = Some(users);
    plan
}

/// The user in the id `<run>/<user>.<generation>.<k>/<step>`.
fn user(call: &Call) -> u32 {
    let text = call.id().split(['/', '.']).nth(1).expect("a user");
    text.parse().expect("a number")
}

fn turns(peer: &Peer) -> Vec<u32> {
    peer.seen().calls.iter().map(user).collect()
}

fn started_and_dropped(counted: &Counted) -> (u64, u64) {
    (counted.started(), counted.dropped(DropReason::NoSlot))
}

/// Broken if users have more connections than the limit, or if some of them never get their turn.
#[tokio::test]
async fn users_take_turns_at_the_connections() {
    const USERS: u32 = 7;
    let peer = peer(Http::V1, |_| Act::Answer(200));
    let mut plan = closed(peer.url(), USERS, 300);
    plan.connections.max = Some(3);
    let counted = Cores::new(plan, 1, 1).start().finish().await;
    let turns = turns(&peer);
    assert!(turns.len() > 70, "{}", turns.len());
    assert_eq!(counted.outcomes(), all_ok(turns.len() as u64));
    assert_eq!(started_and_dropped(&counted), (turns.len() as u64, 0));
    assert_eq!(peer.seen().accepted, 3);
    // After its turn a user queues behind all others: between two turns of one user all waiting
    // users have one, give or take the three in flight.
    for own in 0..USERS {
        let places = turns.iter().enumerate().filter(|(_, user)| **user == own);
        let places: Vec<usize> = places.map(|(place, _)| place).collect();
        for pair in places.windows(2) {
            let apart = pair[1] - pair[0];
            assert!(
                (4..=10).contains(&apart),
                "user {own}: {apart} in {turns:?}"
            );
        }
    }
}

/// Broken if a user whose arrival was dropped after its maximum wait never returns, or if the drop
/// is not counted.
#[tokio::test]
async fn a_user_whose_arrival_was_dropped_comes_again() {
    const USERS: u32 = 3;
    let (open, gate) = watch::channel(false);
    let peer = peer(Http::V1, move |_| Act::Wait(gate.clone()));
    let mut plan = closed(peer.url(), USERS, 60_000);
    plan.connections.max = Some(1);
    plan.max_wait_us = 20_000;
    let mut cores = Cores::new(plan, 1, 1).start();
    let dropped = async {
        while cores.counted().dropped(DropReason::NoSlot) < 6 {
            cores.harvest().await;
        }
    };
    let dropped = tokio::time::timeout(Duration::from_secs(5), dropped).await;
    dropped.expect("users wait again");
    assert_eq!(peer.seen().calls.len(), 1);
    open.send_replace(true);
    peer.wait_until("back", |seen| {
        let back = |own: u32| seen.calls.iter().filter(|call| user(call) == own).count() >= 2;
        (0..USERS).all(back)
    });
    cores.cores[0].stop(DropReason::Stopped);
    let finish = tokio::time::timeout(Duration::from_secs(5), cores.finish());
    let counted = finish.await.expect("at rest after a stop");
    let seen = peer.seen().calls.len() as u64;
    assert_eq!(
        (counted.outcomes(), counted.started()),
        (all_ok(seen), seen)
    );
    assert_eq!(counted.dropped(DropReason::Stopped), 2);
}

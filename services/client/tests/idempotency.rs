//! A run that is asked for under a key is asked for once, whoever races and however often.

use std::collections::BTreeMap;

use bytes::Bytes;
use loadpilot_bus::testserver::TestServer;
use loadpilot_bus::{Bus, Step, Stream};
use loadpilot_client::idempotency::{IdempotencyKey, SubmittedRun};
use loadpilot_client::run_request::{self, RequestDefaults};
use loadpilot_client::session::{Session, SessionError};
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::wire::subject::Subjects;

const PLAN: &str = include_str!("../../../proto/golden/plan.v1.json");
const HANDLE: &str = "authorization-1";

fn request(mark: IdempotencyKey) -> RunRequested {
    let defaults = RequestDefaults::for_fleet(mark.seed());
    let read = run_request::read(PLAN.as_bytes(), &defaults);
    read.expect("the golden plan is one").request
}

fn secrets(value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(HANDLE.to_owned(), value.to_owned())])
}

fn subjects() -> Subjects {
    Subjects::new("lp", "local").expect("they are sound")
}

async fn ask(
    bus: &Bus,
    request: RunRequested,
    mark: IdempotencyKey,
) -> Result<SubmittedRun, SessionError> {
    ask_with(bus, request, mark, "s3cret").await
}

async fn ask_with(
    bus: &Bus,
    request: RunRequested,
    mark: IdempotencyKey,
    secret: &str,
) -> Result<SubmittedRun, SessionError> {
    let session = Session::on(bus.clone(), subjects());
    let bodies = BTreeMap::<String, Bytes>::new();
    session
        .submit_once(request, &secrets(secret), &bodies, mark)
        .await
}

/// How many requests the log holds.
async fn requests(bus: &Bus) -> usize {
    let filters = vec![subjects().req_of_all_runs()];
    let tail = bus.tail(Stream::Ctl, filters, 1).await;
    let mut tail = tail.expect("the log is there");
    let mut count = 0;
    while let Step::Event(_) = tail.next().await.expect("it can be read") {
        count += 1;
    }
    count
}

async fn law(buses: &[Bus]) {
    let [bus, ..] = buses else {
        unreachable!("a law has a bus")
    };
    bus.open_log().await.expect("it is new");
    let mark = IdempotencyKey::of("key", "ann");

    // Racing: one of them asks, and all are told of the same run.
    let asking = buses.iter().map(|bus| {
        let bus = bus.clone();
        tokio::spawn(async move { ask(&bus, request(mark), mark).await })
    });
    let mut told = Vec::new();
    for one in asking.collect::<Vec<_>>() {
        told.push(one.await.expect("it ends").expect("it is told"));
    }
    assert!(told.iter().all(|one| one.run == told[0].run), "{told:?}");
    assert_eq!(told.iter().filter(|one| one.is_new).count(), 1, "{told:?}");
    assert_eq!(requests(bus).await, 1);

    // Again, and again with something else.
    let again = ask(bus, request(mark), mark).await.expect("it is told");
    assert_eq!((&again.run, again.is_new), (&told[0].run, false));
    let mut other = request(mark);
    other.agents.want += 1;
    let refused = ask(bus, other, mark).await.expect_err("it is another one");
    assert!(refused.to_string().contains("stands for another request"));

    // With another secret, which the log does not show.
    let refused = ask_with(bus, request(mark), mark, "other s3cret").await;
    let refused = refused.expect_err("it is another one");
    assert!(refused.to_string().contains("stands for another request"));
    assert_eq!(requests(bus).await, 1);

    // Another key, another run and another seed; ids keep the time in front.
    let key = IdempotencyKey::of("other key", "ann");
    assert_ne!(key.seed(), mark.seed());
    let new = ask(bus, request(key), key).await.expect("it is told");
    assert!(new.is_new && new.run > told[0].run);
    assert_eq!(requests(bus).await, 2);

    // The same key of another caller, who learns nothing of the first.
    let key = IdempotencyKey::of("key", "bob");
    let new = ask(bus, request(key), key).await.expect("it is told");
    assert!(new.is_new && new.run > told[0].run);
    assert_eq!(requests(bus).await, 3);
    assert_ne!(IdempotencyKey::of("ab", "c"), IdempotencyKey::of("b", "ca"));

    // Who lost left no secret behind; who won did.
    let held = bus.kv_get(&subjects().secret_key(&told[0].run)).await;
    assert!(held.expect("it can be read").is_some());
}

/// Broken if a caller that does not know whether it was heard starts a second run.
#[tokio::test]
async fn a_key_asks_once_in_memory() {
    let Bus::Memory(memory) = Bus::memory() else {
        unreachable!("a memory bus is one")
    };
    let buses: Vec<Bus> = (0..8).map(|_| Bus::Memory(memory.peer())).collect();
    law(&buses).await;
}

/// Broken if the same holds in memory only.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_asks_once_of_a_server() {
    let Some(server) = TestServer::start_or_skip("a_key_asks_once_of_a_server") else {
        return;
    };
    let mut buses = Vec::new();
    for _ in 0..8 {
        buses.push(Bus::connect(&server.options()).await.expect("it accepts"));
    }
    law(&buses).await;
}

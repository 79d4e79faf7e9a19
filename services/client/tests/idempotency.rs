//! An idempotency key submits one run, however often its request is repeated and however many
//! clients race.

use std::collections::BTreeMap;

use bytes::Bytes;
use loadpilot_bus::testserver::TestServer;
use loadpilot_bus::{AppendError, Bus, Limits, Step, Stream};
use loadpilot_client::idempotency::{IdempotencyKey, SubmittedRun};
use loadpilot_client::run_request::{self, RequestDefaults};
use loadpilot_client::session::{Session, SessionError};
use loadpilot_events::RunId;
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::wire::subject::Subjects;

const PLAN: &str = include_str!("../../../proto/golden/plan.v1.json");
const HANDLE: &str = "authorization-1";

fn request(key: IdempotencyKey) -> RunRequested {
    let defaults = RequestDefaults::for_fleet(key.seed());
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
    key: IdempotencyKey,
) -> Result<SubmittedRun, SessionError> {
    ask_with(bus, request, key, "s3cret").await
}

async fn ask_with(
    bus: &Bus,
    request: RunRequested,
    key: IdempotencyKey,
    secret: &str,
) -> Result<SubmittedRun, SessionError> {
    let session = Session::on(bus.clone(), subjects());
    let bodies = BTreeMap::<String, Bytes>::new();
    session
        .submit_once(request, &secrets(secret), &bodies, key)
        .await
}

/// The number of requests in the log.
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
    let key = IdempotencyKey::of("key", "ann");

    // Racing clients: one creates the run, and all get its id.
    let asking = buses.iter().map(|bus| {
        let bus = bus.clone();
        tokio::spawn(async move { ask(&bus, request(key), key).await })
    });
    let mut submitted = Vec::new();
    for one in asking.collect::<Vec<_>>() {
        submitted.push(one.await.expect("it ends").expect("it answers"));
    }
    assert!(
        submitted.iter().all(|one| one.run == submitted[0].run),
        "{submitted:?}"
    );
    assert_eq!(
        submitted.iter().filter(|one| one.is_new).count(),
        1,
        "{submitted:?}"
    );
    assert_eq!(requests(bus).await, 1);

    // A repeat, then a different request under the same key.
    let again = ask(bus, request(key), key).await.expect("it answers");
    assert_eq!((&again.run, again.is_new), (&submitted[0].run, false));
    let mut other = request(key);
    other.agents.want += 1;
    let refused = ask(bus, other, key).await.expect_err("it is another one");
    assert!(refused.to_string().contains("stands for another request"));

    // With another secret, which is not in the log.
    let refused = ask_with(bus, request(key), key, "other s3cret").await;
    let refused = refused.expect_err("it is another one");
    assert!(refused.to_string().contains("stands for another request"));
    assert_eq!(requests(bus).await, 1);

    // Another key gives another run and another seed; ids sort by time.
    let other_key = IdempotencyKey::of("other key", "ann");
    assert_ne!(other_key.seed(), key.seed());
    let new = ask(bus, request(other_key), other_key)
        .await
        .expect("it answers");
    assert!(new.is_new && new.run > submitted[0].run);
    assert_eq!(requests(bus).await, 2);

    // The same key of another caller gives another run.
    let bobs_key = IdempotencyKey::of("key", "bob");
    let new = ask(bus, request(bobs_key), bobs_key)
        .await
        .expect("it answers");
    assert!(new.is_new && new.run > submitted[0].run);
    assert_eq!(requests(bus).await, 3);
    assert_ne!(IdempotencyKey::of("ab", "c"), IdempotencyKey::of("b", "ca"));

    // The secrets of the created run are stored.
    let stored_secrets = bus.kv_get(&subjects().secret_key(&submitted[0].run)).await;
    assert!(stored_secrets.expect("it can be read").is_some());
}

/// Broken if a caller that repeats a request starts a second run.
#[tokio::test]
async fn a_key_submits_once_in_memory() {
    let Bus::Memory(memory) = Bus::memory() else {
        unreachable!("a memory bus is one")
    };
    let buses: Vec<Bus> = (0..8).map(|_| Bus::Memory(memory.peer())).collect();
    law(&buses).await;
}

/// Broken if the bus in memory behaves differently from a real server.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_submits_once_on_a_server() {
    let Some(server) = TestServer::start_or_skip("a_key_submits_once_on_a_server") else {
        return;
    };
    let mut buses = Vec::new();
    for _ in 0..8 {
        buses.push(Bus::connect(&server.options()).await.expect("it accepts"));
    }
    law(&buses).await;
}

/// Broken if the secrets of a run that never existed stay stored for a week.
#[tokio::test]
async fn a_failed_request_leaves_no_secret() {
    let bus = Bus::memory_with(Limits {
        ctl_bytes: 1,
        ..Limits::default()
    });
    bus.open_log().await.expect("it is new");
    let key = IdempotencyKey::of("key", "ann");
    let full = ask(&bus, request(key), key).await.expect_err("no room");
    assert!(is_full(&full), "{full}");
    let run = RunId::parse("01run").expect("a token");
    let mut session = Session::on(bus.clone(), subjects());
    let (held, bodies) = (secrets("s3cret"), BTreeMap::<String, Bytes>::new());
    let submission = session.submit(request(key), &held, &bodies, Some(run.clone()));
    let full = submission.await.expect_err("no room");
    assert!(is_full(&full), "{full}");
    let Bus::Memory(memory) = &bus else {
        unreachable!("a memory bus is one")
    };
    assert_eq!(memory.keys(), Vec::<String>::new());
}

fn is_full(error: &SessionError) -> bool {
    matches!(error, SessionError::Append(AppendError::Full { .. }))
}

/// Broken if an id that was submitted before loses the secrets of its run to a request that fails.
#[tokio::test]
async fn a_failed_request_leaves_the_secrets_of_its_run() {
    let key = IdempotencyKey::of("key", "ann");
    let size = serde_json::to_vec(&request(key))
        .expect("it has a form")
        .len() as u64;
    assert!(size > 500, "there is room for one request only");
    let bus = Bus::memory_with(Limits {
        ctl_bytes: size + 500,
        ..Limits::default()
    });
    bus.open_log().await.expect("it is new");
    let (values, bodies) = (secrets("s3cret"), BTreeMap::<String, Bytes>::new());
    let mut session = Session::on(bus.clone(), subjects());
    let submission = session.submit(request(key), &values, &bodies, None);
    let run = submission.await.expect("it is stored");
    let again = session.submit(request(key), &values, &bodies, Some(run.clone()));
    let full = again.await.expect_err("no room");
    assert!(is_full(&full), "{full}");
    let stored_secrets = bus.kv_get(&subjects().secret_key(&run)).await;
    assert!(stored_secrets.expect("it can be read").is_some());
}

//! Faults that only a real server can produce: crashes, silence, restarts, drift, refusals.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "outage/lost_store.rs"]
mod lost_store;
#[path = "outage/objects.rs"]
mod objects;
#[path = "rig/mod.rs"]
mod rig;
#[path = "outage/server_names.rs"]
mod server_names;

use std::path::Path;
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, stream};
use futures_util::TryStreamExt;
use loadpilot_bus::testserver::TestServer;
use loadpilot_bus::{AppendError, Bus, Fault, Limits, Options, RequestError, Step, Stream, Tail};
use rig::{TIMEOUT, connect, contents, ctl, delta, event, put, step, text};
use tokio::time::timeout;

/// Access to the server without the bus, for changes that the bus must never make.
async fn raw(server: &TestServer) -> jetstream::Context {
    let options = async_nats::ConnectOptions::with_token(server.token.clone());
    jetstream::new(options.connect(&server.url).await.unwrap())
}

async fn wait_for_link(bus: &Bus, up: bool) {
    let mut link = bus.watch_link();
    timeout(TIMEOUT, link.wait_for(|link| link.is_up() == up))
        .await
        .unwrap()
        .unwrap();
}

/// Reads until `last` and checks that no event is missing or repeated.
async fn expect_through(tail: &mut Tail, from: u64, last: u64) {
    for seq in from..=last {
        assert_eq!(event(tail).await.seq, seq);
    }
}

/// Broken if a reader loses the rest of a run after a crash of the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tail_survives_kill_and_restart() {
    let Some(mut server) = TestServer::start_or_skip("a_tail_survives_kill_and_restart") else {
        return;
    };
    let bus = connect(&server.options()).await;
    bus.open_log().await.unwrap();
    // One tail from the start, one that begins later: the second must not fall back to the start.
    let mut whole = bus.tail(Stream::Ctl, vec![], 1).await.unwrap();
    assert_eq!(step(&mut whole).await, Step::CaughtUp);
    for n in 1..=20 {
        put(&bus, Stream::Ctl, &ctl("R"), &n.to_string()).await;
    }
    let mut late = bus.tail(Stream::Ctl, vec![], 21).await.unwrap();
    assert_eq!(step(&mut late).await, Step::CaughtUp);
    expect_through(&mut whole, 1, 10).await;
    for round in 1..=3 {
        server.kill();
        wait_for_link(&bus, false).await;
        assert_eq!(
            bus.publish("lp.local.hb.a", text("x")).await,
            Err(Fault::Disconnected)
        );
        let refused = bus.append(Stream::Ctl, &ctl("R"), "x", text("x")).await;
        assert_eq!(refused, Err(Fault::Disconnected.into()));
        server.restart().unwrap();
        wait_for_link(&bus, true).await;
        let back = Instant::now();
        for n in 1..=5 {
            put(&bus, Stream::Ctl, &ctl("R"), &format!("{round}/{n}")).await;
        }
        let last = 20 + round * 5;
        expect_through(&mut late, last - 4, last).await;
        let took = back.elapsed();
        eprintln!("round {round}: tail delivers {took:?} after the reconnect");
    }
    expect_through(&mut whole, 11, 35).await;
}

/// Broken if a crash before the tail has caught up changes the order or loses the marker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tail_catches_up_across_a_crash() {
    let Some(mut server) = TestServer::start_or_skip("a_tail_catches_up_across_a_crash") else {
        return;
    };
    let bus = connect(&server.options()).await;
    bus.open_log().await.unwrap();
    let large = "x".repeat(100_000);
    for _ in 0..300 {
        put(&bus, Stream::Data, &delta("R", "a"), &large).await;
    }
    let mut tail = bus.tail(Stream::Data, vec![], 1).await.unwrap();
    expect_through(&mut tail, 1, 10).await;
    server.kill();
    wait_for_link(&bus, false).await;
    server.restart().unwrap();
    expect_through(&mut tail, 11, 300).await;
    assert_eq!(step(&mut tail).await, Step::CaughtUp);
}

/// Broken if a tail stops with its consumer. The client library alone needs 15 s or more to detect
/// the loss.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tail_outlives_its_consumer() {
    let Some(server) = TestServer::start_or_skip("a_tail_outlives_its_consumer") else {
        return;
    };
    let bus = connect(&server.options()).await;
    bus.open_log().await.unwrap();
    let mut tail = bus.tail(Stream::Ctl, vec![ctl("*")], 1).await.unwrap();
    assert_eq!(step(&mut tail).await, Step::CaughtUp);
    for round in 1..=2 {
        for name in consumers(&server).await {
            let raw = raw(&server).await;
            raw.delete_consumer_from_stream(name, "LP_CTL")
                .await
                .unwrap();
        }
        let deleted = Instant::now();
        put(&bus, Stream::Ctl, &ctl("R"), "x").await;
        assert_eq!(event(&mut tail).await.seq, round);
        eprintln!(
            "tail delivers {:?} after its consumer was deleted",
            deleted.elapsed()
        );
    }
}

async fn consumers(server: &TestServer) -> Vec<String> {
    let stream = raw(server).await.get_stream("LP_CTL").await.unwrap();
    stream.consumer_names().try_collect().await.unwrap()
}

/// Broken if tails leave consumers behind: they reach the stream's limit of 256 within a day.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_tail_leaves_no_consumer() {
    let Some(server) = TestServer::start_or_skip("a_dropped_tail_leaves_no_consumer") else {
        return;
    };
    let bus = connect(&server.options()).await;
    bus.open_log().await.unwrap();
    for n in 0..300 {
        let read = bus.read(Stream::Ctl, vec![], None).await;
        assert_eq!(read, Ok(vec![]), "read {n}");
    }
    let none_left = async {
        while !consumers(&server).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(TIMEOUT, none_left).await.unwrap();
}

/// Broken if an append that timed out is reported as failed: the server stores it when it thaws.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_without_answer_is_unknown() {
    let Some(server) = TestServer::start_or_skip("an_append_without_answer_is_unknown") else {
        return;
    };
    let bus = connect(&server.options()).await;
    bus.open_log().await.unwrap();
    let first = bus.append_at(&ctl("R"), 0, "a", text("a")).await.unwrap();
    let mut tail = bus.tail(Stream::Ctl, vec![ctl("R")], 1).await.unwrap();
    assert_eq!(event(&mut tail).await.seq, first);
    assert_eq!(step(&mut tail).await, Step::CaughtUp);
    server.freeze();
    let outcome = bus.append_at(&ctl("R"), first, "b", text("b")).await;
    server.thaw();
    assert_eq!(outcome, Err(AppendError::Unknown));
    let late = event(&mut tail).await;
    assert_eq!(
        late.payload, "b",
        "stored although its writer got no acknowledgement"
    );
    let repeat = bus.append_at(&ctl("R"), first, "b", text("b")).await;
    assert_eq!(repeat, Err(AppendError::Conflict));
}

/// Broken if a stream without a leader, which has one again soon, is reported as absent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_without_a_responder_is_not_missing() {
    let Some(server) = TestServer::start_or_skip("a_stream_without_a_responder") else {
        return;
    };
    let bus = connect(&server.options()).await;
    bus.open_log().await.unwrap();
    let raw = raw(&server).await;
    let mut stream = raw.get_stream("LP_CTL").await.unwrap();
    let config = stream.info().await.unwrap().config.clone();
    // Nothing listens on the subjects of the log, as while a cluster elects a leader.
    let elsewhere = stream::Config {
        subjects: vec!["elsewhere".to_owned()],
        ..config.clone()
    };
    raw.update_stream(elsewhere).await.unwrap();
    let stream = "LP_CTL".to_owned();
    let refused = bus.append(Stream::Ctl, &ctl("R"), "a", text("x")).await;
    assert_eq!(refused, Err(Fault::Unanswered { stream }.into()));
    raw.update_stream(config).await.unwrap();
    let stored = bus.append(Stream::Ctl, &ctl("R"), "a", text("x")).await;
    assert_eq!(stored.map(|stored| stored.seq), Ok(1));
}

/// Broken if a restarted server stores a repeated event again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeat_after_a_crash_is_still_recognised() {
    let Some(mut server) = TestServer::start_or_skip("a_repeat_after_a_crash") else {
        return;
    };
    let bus = connect(&server.options()).await;
    bus.open_log().await.unwrap();
    let subject = delta("R", "a");
    let append = async |id: &str| bus.append(Stream::Data, &subject, id, text(id)).await;
    let first = append("one").await.unwrap();
    server.kill();
    wait_for_link(&bus, false).await;
    server.restart().unwrap();
    wait_for_link(&bus, true).await;
    let again = append("one").await.unwrap();
    assert_eq!((again.seq, again.duplicate), (first.seq, true));
    let stored = bus.read(Stream::Data, vec![], None).await.unwrap();
    assert_eq!(contents(&stored), ["one"]);
}

/// Broken if a silent network does not show as a link that is down.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_server_is_detected() {
    let Some(server) = TestServer::start_or_skip("a_frozen_server_is_detected") else {
        return;
    };
    let bus = connect(&server.options()).await;
    bus.flush().await.unwrap();
    server.freeze();
    let wait = Duration::from_millis(100);
    let reply = bus.request("lp.local.clock", text("?"), wait).await;
    let subject = "lp.local.clock".to_owned();
    assert_eq!(reply, Err(RequestError::TimedOut { subject }));
    let frozen = Instant::now();
    wait_for_link(&bus, false).await;
    eprintln!("silence detected after {:?}", frozen.elapsed());
    server.thaw();
    wait_for_link(&bus, true).await;
    bus.flush().await.unwrap();
}

/// Broken if a log whose settings can lose events is accepted, or is changed by the bus.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drifted_stream_is_refused_and_left_alone() {
    let Some(server) = TestServer::start_or_skip("a_drifted_stream_is_refused") else {
        return;
    };
    type Change = fn(&mut stream::Config);
    let drifts: [(&str, Change); 8] = [
        ("storage", |config| {
            config.storage = stream::StorageType::Memory
        }),
        ("retention", |config| {
            config.retention = stream::RetentionPolicy::Interest;
        }),
        ("discard", |config| {
            config.discard = stream::DiscardPolicy::Old
        }),
        ("max_age", |config| {
            config.max_age = Duration::from_secs(600)
        }),
        ("duplicate_window", |config| {
            config.duplicate_window = Duration::from_secs(1);
        }),
        ("max_consumers", |config| config.max_consumers = -1),
        ("subjects", |config| {
            config.subjects = vec!["lp.*.run.*.ctl".to_owned()]
        }),
        ("max_bytes", |config| config.max_bytes = -1),
    ];
    let raw = raw(&server).await;
    for (field, change) in drifts {
        let bus = connect(&server.options()).await;
        bus.open_log().await.unwrap();
        let mut good = raw.get_stream("LP_CTL").await.unwrap();
        let mut config = good.info().await.unwrap().config.clone();
        raw.delete_stream("LP_CTL").await.unwrap();
        change(&mut config);
        raw.create_stream(config.clone()).await.unwrap();
        raw.publish(ctl("R"), text("x"))
            .await
            .unwrap()
            .await
            .unwrap();
        match bus.open_log().await {
            Err(Fault::Drift {
                asset,
                field: named,
                ..
            }) => {
                assert_eq!((asset.as_str(), named), ("LP_CTL", field));
            }
            other => panic!("{field}: {other:?}"),
        }
        assert_eq!(
            bus.head(Stream::Ctl).await,
            Ok(1),
            "{field}: the stream was touched"
        );
        raw.delete_stream("LP_CTL").await.unwrap();
    }
}

/// Broken if the log is refused after an operator changed its size.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_size_is_no_drift() {
    let Some(server) = TestServer::start_or_skip("another_size_is_no_drift") else {
        return;
    };
    connect(&server.options()).await.open_log().await.unwrap();
    let limits = Limits {
        ctl_bytes: 1 << 20,
        data_bytes: 1 << 20,
        ..Limits::default()
    };
    let smaller = Options {
        limits,
        ..server.options()
    };
    connect(&smaller).await.open_log().await.unwrap();
}

/// Broken if the disk contains a secret after it was shredded or replaced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shredded_bytes_are_gone_from_the_disk() {
    let Some(server) = TestServer::start_or_skip("shredded_bytes_are_gone") else {
        return;
    };
    const HOUR: Duration = Duration::from_secs(3_600);
    let bus = connect(&server.options()).await;
    bus.kv_put("run", text("first-secret-value"), HOUR)
        .await
        .unwrap();
    assert!(
        on_disk(server.dir(), b"first-secret-value"),
        "the search can find a value"
    );
    bus.kv_put("run", text("second-secret-value"), HOUR)
        .await
        .unwrap();
    assert!(
        !on_disk(server.dir(), b"first-secret-value"),
        "replaced, but still on disk"
    );
    assert!(on_disk(server.dir(), b"second-secret-value"));
    bus.kv_shred("run").await.unwrap();
    assert!(
        !on_disk(server.dir(), b"second-secret-value"),
        "shredded, but still on disk"
    );
}

fn on_disk(dir: &Path, needle: &[u8]) -> bool {
    std::fs::read_dir(dir).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return on_disk(&path, needle);
        }
        let content = std::fs::read(&path).unwrap_or_default();
        content.windows(needle.len()).any(|window| window == needle)
    })
}

/// Broken if the error of a failed connection hides the cause or shows a token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_connection_says_why_without_secrets() {
    let Some(mut server) = TestServer::start_or_skip("a_failed_connection_says_why") else {
        return;
    };
    let url = server.url.clone();
    let wrong = Options {
        token: Some("wr0ng".to_owned()),
        ..server.options()
    };
    let refused = Bus::connect(&wrong).await.unwrap_err();
    assert_eq!(refused, Fault::Unauthorized { url: url.clone() });
    let none = Options {
        token: None,
        ..server.options()
    };
    assert_eq!(Bus::connect(&none).await.unwrap_err(), refused);
    let in_url = Options::new(url.replace("nats://", "nats://wr0ng@"));
    assert_eq!(Bus::connect(&in_url).await.unwrap_err(), refused);
    let in_url_right = url.replace("nats://", &format!("nats://{}@", server.token));
    connect(&Options::new(in_url_right)).await;
    server.kill();
    let away = Bus::connect(&in_url).await.unwrap_err();
    assert!(matches!(&away, Fault::Unreachable { .. }), "{away:?}");
    assert!(!format!("{away:?} {away}").contains("wr0ng"));
    let nonsense = Bus::connect(&Options::new("nats://tok@ho st:99999"))
        .await
        .unwrap_err();
    assert!(matches!(&nonsense, Fault::Address { .. }), "{nonsense:?}");
    assert!(!format!("{nonsense:?} {nonsense}").contains("tok@"));
    let comma = Bus::connect(&Options::new("nats://bob:hun,ter2@ho st"))
        .await
        .unwrap_err();
    let url = "nats://ho st".to_owned();
    assert_eq!(comma, Fault::Address { url });
}

/// Broken if a missing permission, to which the server does not reply, looks like a timeout.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_permission_is_named() {
    if TestServer::start_or_skip("a_missing_permission_is_named").is_none() {
        return;
    }
    let server = TestServer::start_with(
        "users: [\
         { user: all, password: pw }, \
         { user: some, password: pw, \
           permissions: { publish: [\"$JS.API.>\", \"lp.local.hb.*\"] } }, \
         { user: none, password: pw, permissions: { publish: [\"$JS.API.INFO\"] } }]",
    )
    .unwrap();
    let login = |user: &str| Options::new(server.url.replace("://", &format!("://{user}:pw@")));
    connect(&login("all")).await.open_log().await.unwrap();
    let bus = connect(&login("some")).await;
    let (subject, hidden) = (delta("R", "a"), "lp.local.clock");
    let append = bus.append(Stream::Data, &subject, "id", text("x"));
    let request = bus.request(hidden, text("?"), Duration::from_secs(5));
    let put = bus.kv_put("run", text("x"), TIMEOUT);
    let (append, request, put) = tokio::join!(append, request, put);
    match append {
        Err(AppendError::Fault(Fault::Denied { what, .. })) => assert_eq!(what, subject),
        other => panic!("{other:?}"),
    }
    match request {
        Err(RequestError::Fault(Fault::Denied { what, .. })) => assert_eq!(what, hidden),
        other => panic!("{other:?}"),
    }
    match put {
        Err(Fault::Denied { what, .. }) => assert_eq!(what, "$KV.LP.run"),
        other => panic!("{other:?}"),
    }
    match connect(&login("none")).await.open_log().await {
        Err(Fault::Denied { what, .. }) => assert_eq!(what, "$JS.API.STREAM.INFO.LP_CTL"),
        other => panic!("{other:?}"),
    }
    let allowed = bus.request("lp.local.hb.a", text("?"), TIMEOUT).await;
    let subject = "lp.local.hb.a".to_owned();
    assert_eq!(allowed, Err(RequestError::NoResponders { subject }));
}

//! Faults of objects that a real server or another of its clients can produce.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE;
use bytes::Bytes;
use futures_util::TryStreamExt;
use loadpilot_bus::testserver::TestServer;
use loadpilot_bus::{Fault, Options};

use super::raw;
use crate::rig::{connect, text};

const HOUR: Duration = Duration::from_secs(3_600);

/// Number of markers that the client has sent, shared by both directions of its connection.
type Seen = Arc<(Mutex<usize>, Condvar)>;

/// Options of a proxy to `server` that holds replies back while the client's first connection has
/// sent `marker` at least `from` times and less than `until` times. Later connections are free.
fn delayed(server: &TestServer, marker: &'static str, from: usize, until: usize) -> Options {
    let address = server.url.replace("nats://", "");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let mut from = from;
        for client in listener.incoming().flatten() {
            let upstream = TcpStream::connect(&address).unwrap();
            let seen = Seen::default();
            let (requests, replies) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
            let seen_requests = Arc::clone(&seen);
            thread::spawn(move || forward_requests(requests, upstream, marker, &seen_requests));
            let blocked = from..until;
            thread::spawn(move || forward_replies(replies, client, &seen, &blocked));
            from = until;
        }
    });
    Options {
        token: Some(server.token.clone()),
        ..Options::new(url)
    }
}

fn forward_requests(mut client: TcpStream, mut server: TcpStream, marker: &str, seen: &Seen) {
    let mut buffer = vec![0; 64 << 10];
    // The last bytes, which may be the beginning of a marker.
    let mut open = Vec::new();
    while let Ok(count @ 1..) = client.read(&mut buffer) {
        open.extend_from_slice(&buffer[..count]);
        let windows = open.windows(marker.len());
        *seen.0.lock().unwrap() += windows
            .filter(|window| *window == marker.as_bytes())
            .count();
        seen.1.notify_all();
        let left = open.len().saturating_sub(marker.len() - 1);
        open.drain(..left);
        if server.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    *seen.0.lock().unwrap() = usize::MAX;
    seen.1.notify_all();
    let _ = server.shutdown(Shutdown::Both);
}

fn forward_replies(
    mut server: TcpStream,
    mut client: TcpStream,
    seen: &Seen,
    blocked: &std::ops::Range<usize>,
) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = server.read(&mut buffer) {
        let times = seen.0.lock().unwrap();
        drop(
            seen.1
                .wait_while(times, |times| blocked.contains(times))
                .unwrap(),
        );
        if client.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
}

/// Broken if a put removes the parts of a description that was stored but not acknowledged: every
/// later run relies on that object and fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_put_without_acknowledgement_is_whole_or_absent() {
    let name = "a_put_without_acknowledgement_is_whole_or_absent";
    let Some(server) = TestServer::start_or_skip(name) else {
        return;
    };
    let cut = connect(&delayed(&server, "HPUB $O.LP.M.", 1, usize::MAX)).await;
    let content = Bytes::from(vec![7; 1 << 20]);
    let put = cut.object_put("lp.a.body.x", content.clone()).await;
    assert!(put.is_err(), "no acknowledgement has arrived");
    let bus = connect(&server.options()).await;
    let read = bus.object_get("lp.a.body.x", u64::MAX).await.unwrap();
    assert!(read == Some(content), "the server had it all");
}

/// Broken if a read takes one round trip for each part: a distant store would exceed the time-out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_are_requested_together() {
    let Some(server) = TestServer::start_or_skip("parts_are_requested_together") else {
        return;
    };
    let bus = connect(&server.options()).await;
    let content: Bytes = (0..2 << 20).map(|n: u32| (n % 251) as u8).collect();
    bus.object_put("lp.a.body.x", content.clone())
        .await
        .unwrap();
    // Replies with the description and the first part pass; the next one waits for four requests.
    let marker = "PUB $JS.API.STREAM.MSG.GET.OBJ_LP ";
    let far = connect(&delayed(&server, marker, 3, 6)).await;
    let read = far.object_get("lp.a.body.x", u64::MAX).await.unwrap();
    assert!(read == Some(content));
}

/// Broken if a touch does not reset the age, or changes anything else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_touch_stores_the_description_again() {
    let Some(server) = TestServer::start_or_skip("a_touch_stores_the_description_again") else {
        return;
    };
    let bus = connect(&server.options()).await;
    bus.object_put("lp.a.body.x", text("body")).await.unwrap();
    let store = raw(&server).await.get_stream("OBJ_LP").await.unwrap();
    let subject = format!("$O.LP.M.{}", BASE64_URL_SAFE.encode("lp.a.body.x"));
    let described = async || {
        store
            .get_last_raw_message_by_subject(&subject)
            .await
            .unwrap()
    };
    let before = described().await;
    for _ in 0..2 {
        assert_eq!(bus.object_touch("lp.a.body.x").await, Ok(Some(4)));
    }
    let after = described().await;
    assert!(after.time > before.time);
    assert_eq!(after.sequence, before.sequence + 2);
    assert_eq!(after.payload, before.payload);
    assert_eq!(store.get_info().await.unwrap().state.messages, 2);
}

/// Broken if a description of another tool is removed, or stops the removal of others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_description_is_left_alone() {
    let name = "an_unreadable_description_is_left_alone";
    let Some(server) = TestServer::start_or_skip(name) else {
        return;
    };
    let bus = connect(&server.options()).await;
    bus.object_put("lp.a.body.x", text("gone")).await.unwrap();
    let raw = raw(&server).await;
    let strange = format!("$O.LP.M.{}", BASE64_URL_SAFE.encode("lp.a.body.0"));
    for subject in [strange, "$O.LP.C.its-parts".to_owned()] {
        let put = raw.publish(subject, text("unreadable")).await.unwrap();
        put.await.unwrap();
    }
    let none = BTreeSet::new();
    for removed in [1, 0] {
        let done = bus.object_retain("lp.a.", &none, Duration::ZERO).await;
        assert_eq!(done, Ok(removed));
    }
    let store = raw.get_stream("OBJ_LP").await.unwrap();
    assert_eq!(store.cached_info().state.messages, 2, "of the other tool");
}

/// Broken if an object whose parts were purged is read as a shorter body.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_lost_a_part_is_broken_and_can_be_put_again() {
    let name = "an_object_that_lost_a_part_is_broken_and_can_be_put_again";
    let Some(server) = TestServer::start_or_skip(name) else {
        return;
    };
    let bus = connect(&server.options()).await;
    let content = Bytes::from(vec![7; 1 << 20]);
    bus.object_put("lp.a.body.x", content.clone())
        .await
        .unwrap();
    let store = raw(&server).await.get_stream("OBJ_LP").await.unwrap();
    let last_part = store.cached_info().state.last_sequence - 1;
    store.delete_message(last_part).await.unwrap();
    let read = bus.object_get("lp.a.body.x", u64::MAX).await;
    assert!(matches!(&read, Err(Fault::Broken { .. })), "{read:?}");
    bus.object_put("lp.a.body.x", content.clone())
        .await
        .unwrap();
    let read = bus.object_get("lp.a.body.x", u64::MAX).await.unwrap();
    assert!(read == Some(content));
    assert!(
        store
            .consumer_names()
            .try_collect::<Vec<_>>()
            .await
            .unwrap()
            .is_empty(),
        "reading leaves no consumer"
    );
}

/// Broken if the parts of a killed put take room for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_leftovers_of_a_put_are_removed() {
    let Some(server) = TestServer::start_or_skip("old_leftovers_of_a_put_are_removed") else {
        return;
    };
    let bus = connect(&server.options()).await;
    let keep = BTreeSet::from(["lp.a.body.x".to_owned()]);
    bus.object_put("lp.a.body.x", text("body")).await.unwrap();
    let raw = raw(&server).await;
    let left = raw.publish("$O.LP.C.left", text("x")).await.unwrap();
    left.await.unwrap();
    let messages = async || {
        let store = raw.get_stream("OBJ_LP").await.unwrap();
        store.cached_info().state.messages
    };
    bus.object_retain("lp.a.", &keep, HOUR).await.unwrap();
    assert_eq!(messages().await, 3, "the put may still be running");
    bus.object_retain("lp.a.", &keep, Duration::ZERO)
        .await
        .unwrap();
    assert_eq!(messages().await, 2);
    let needed = bus.object_get("lp.a.body.x", u64::MAX).await.unwrap();
    assert_eq!(needed, Some(text("body")));
}

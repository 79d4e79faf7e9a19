//! Laws of core messages and short-lived secrets, which are not in the log.

use std::time::Duration;

use loadpilot_bus::{AppendError, Bus, Limits, RequestError, Stream};
use tokio::time::timeout;

use crate::Rig;
use crate::rig::{TIMEOUT, contents, ctl, delta, put, text};

/// Broken if heartbeats or the kill switch do not arrive.
pub(crate) async fn core_messages_reach_their_listeners(rig: Rig) {
    let (bus, other) = {
        let bus = rig.connect(Limits::default()).await;
        let other = rig.peer(&bus).await;
        (bus, other)
    };
    let mut all = bus.subscribe("lp.local.hb.*").await.unwrap();
    let mut one = bus.subscribe("lp.local.hb.b").await.unwrap();
    bus.flush().await.unwrap();
    other.publish("lp.local.hb.a", text("1")).await.unwrap();
    other.publish("lp.local.hb.b", text("2")).await.unwrap();
    other.publish("lp.other.hb.b", text("3")).await.unwrap();
    other.publish("lp.local.hb.a", text("4")).await.unwrap();
    for expected in ["1", "2", "4"] {
        assert_eq!(
            timeout(TIMEOUT, all.next()).await.unwrap().unwrap().payload,
            expected
        );
    }
    let message = timeout(TIMEOUT, one.next()).await.unwrap().unwrap();
    assert_eq!(
        (message.subject.as_str(), message.reply),
        ("lp.local.hb.b", None)
    );
    assert!(
        other.publish("lp.local.*", text("x")).await.is_err(),
        "a wildcard is no subject"
    );
}

/// Broken if an agent does not get the reply to its heartbeat.
pub(crate) async fn a_request_gets_its_first_reply(rig: Rig) {
    let client = rig.connect(Limits::default()).await;
    let server = rig.peer(&client).await;
    let mut requests = server.subscribe("lp.local.clock").await.unwrap();
    server.flush().await.unwrap();
    let responder = tokio::spawn(async move {
        while let Some(message) = requests.next().await {
            if message.payload == "silent" {
                continue;
            }
            let reply = message.reply.unwrap();
            server.publish(&reply, text("first")).await.unwrap();
            server.publish(&reply, text("second")).await.unwrap();
        }
    });
    for _ in 0..20 {
        let reply = client.request("lp.local.clock", text("?"), TIMEOUT).await;
        assert_eq!(reply.unwrap(), "first");
    }
    let timed_out = client.request("lp.local.clock", text("silent"), Duration::from_millis(50));
    let subject = "lp.local.clock".to_owned();
    assert_eq!(timed_out.await, Err(RequestError::TimedOut { subject }));
    responder.abort();
}

/// Broken if an absent listener looks like a slow one.
pub(crate) async fn a_request_without_listeners_fails_at_once(rig: Rig) {
    let bus = rig.connect(Limits::default()).await;
    let outcome = timeout(
        TIMEOUT,
        bus.request("lp.local.clock", text("?"), TIMEOUT * 10),
    )
    .await;
    let subject = "lp.local.clock".to_owned();
    assert_eq!(
        outcome.unwrap(),
        Err(RequestError::NoResponders { subject })
    );
}

/// Storing depends on the subject alone, and a listener on a stream's subject receives appends.
pub(crate) async fn a_core_message_on_a_stream_subject_is_stored(rig: Rig) {
    let bus = rig.open(Limits::default()).await;
    let mut messages = bus.subscribe("lp.local.run.*.ctl").await.unwrap();
    bus.publish(&ctl("R"), text("core")).await.unwrap();
    bus.flush().await.unwrap();
    put(&bus, Stream::Ctl, &ctl("R"), "append").await;
    let stored = bus.read(Stream::Ctl, vec![ctl("R")], None).await.unwrap();
    assert_eq!(contents(&stored), ["core", "append"]);
    for expected in ["core", "append"] {
        assert_eq!(
            timeout(TIMEOUT, messages.next())
                .await
                .unwrap()
                .unwrap()
                .payload,
            expected
        );
    }
    let elsewhere = bus
        .append(Stream::Ctl, "lp.local.hb.a", "id", text("x"))
        .await;
    assert!(
        matches!(elsewhere, Err(AppendError::Fault(_))),
        "{elsewhere:?}"
    );
    let wrong = bus
        .append(Stream::Ctl, &delta("R", "a"), "id", text("x"))
        .await;
    assert!(matches!(wrong, Err(AppendError::Fault(_))), "{wrong:?}");
}

const HOUR: Duration = Duration::from_secs(3_600);

/// Broken if a shredded secret can still be read.
pub(crate) async fn a_secret_lives_until_it_is_shredded(rig: Rig) {
    let bus = rig.open(Limits::default()).await;
    assert_eq!(
        bus.kv_get("a.b").await.unwrap(),
        None,
        "before the first use"
    );
    bus.kv_shred("a.b").await.unwrap();
    bus.kv_put("a.b", text("one"), HOUR).await.unwrap();
    bus.kv_put("a.c", text("other"), HOUR).await.unwrap();
    bus.kv_put("a.b", text("two"), HOUR).await.unwrap();
    let peer: Bus = rig.peer(&bus).await;
    assert_eq!(peer.kv_get("a.b").await.unwrap(), Some(text("two")));
    peer.kv_shred("a.b").await.unwrap();
    assert_eq!(bus.kv_get("a.b").await.unwrap(), None);
    assert_eq!(bus.kv_get("a.c").await.unwrap(), Some(text("other")));
    bus.kv_shred("a.b").await.unwrap();
}

/// Broken if the secret of a lost run stays for ever.
pub(crate) async fn a_secret_expires(rig: Rig) {
    let bus = rig.open(Limits::default()).await;
    bus.kv_put("short", text("x"), Duration::from_millis(10))
        .await
        .unwrap();
    bus.kv_put("long", text("y"), HOUR).await.unwrap();
    let gone = async {
        while bus.kv_get("short").await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(TIMEOUT, gone).await.unwrap();
    assert_eq!(bus.kv_get("long").await.unwrap(), Some(text("y")));
}

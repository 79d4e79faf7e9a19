//! The contract of the bus, held against the memory twin and against a real nats-server.
//!
//! Each law is one function over a rig. A law that holds for only one of the two is a bug in the
//! other.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod messages;
mod objects;
mod reads;
#[path = "../rig/mod.rs"]
mod rig;
mod writing;

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use loadpilot_bus::testserver::{NoServer, TestServer};
use loadpilot_bus::{Bus, Fault, Limits, Options, Reach, Stream};
use rig::{connect, text};

macro_rules! laws {
    ($($chapter:ident::$law:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $law() {
                super::$chapter::$law(super::Rig::Memory).await;
            })*
        }
        mod real {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $law() {
                if let Some(server) = super::TestServer::start_or_skip(stringify!($law)) {
                    super::$chapter::$law(super::Rig::Real(server)).await;
                }
            })*
        }
    };
}

macro_rules! laws_of_confined_users {
    ($($chapter:ident::$law:ident),* $(,)?) => {
        mod confined {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $law() {
                match super::TestServer::start_with(super::USERS) {
                    Ok(server) => super::$chapter::$law(super::Rig::Confined(server)).await,
                    Err(super::NoServer::NotFound) => eprintln!("SKIPPED: no server"),
                    Err(failed) => panic!("{failed}"),
                }
            })*
        }
    };
}

laws_of_confined_users!(
    reads::a_tail_delivers_each_event_once_and_in_order,
    reads::a_tail_starts_at_its_sequence,
    reads::a_tail_on_nothing_is_caught_up_at_once,
    reads::a_late_reader_misses_nothing,
    reads::filters_select,
    reads::a_read_ends,
    reads::heads_and_creation_times,
    messages::a_secret_lives_until_it_is_shredded,
    messages::a_secret_expires,
    objects::an_object_is_read_as_it_was_put,
    objects::an_object_replaces_the_one_before,
    objects::equal_objects_may_be_put_at_the_same_time,
    objects::an_object_larger_than_expected_is_refused,
);

/// Broken if a coordinator or an agent lacks what a confined user has stored, if a shredded secret
/// can still be read, or if objects that no run needs stay for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_read_and_remove_what_a_confined_user_put() {
    let server = match TestServer::start_with(USERS) {
        Ok(server) => server,
        Err(NoServer::NotFound) => return eprintln!("SKIPPED: no server"),
        Err(failed) => panic!("{failed}"),
    };
    let confined = Rig::confined(&server, Limits::default()).await;
    let whole = Rig::coordinator(&server, Limits::default()).await;
    let large = Bytes::from(vec![7; 600_000]);
    for name in ["lp.a.body.x", "lp.a.body.y"] {
        confined.object_put(name, large.clone()).await.unwrap();
        assert_eq!(whole.object_bytes(name).await.unwrap(), Some(600_000));
        assert!(whole.object_get(name, 600_000).await.unwrap() == Some(large.clone()));
    }
    // From now on no description refers to the parts of the first object.
    confined
        .object_put("lp.a.body.y", text("new"))
        .await
        .unwrap();
    let keep = BTreeSet::from(["lp.a.body.y".to_owned()]);
    let denied = confined.object_retain("lp.a.", &keep, Duration::ZERO).await;
    assert!(denied.is_err(), "{denied:?}");
    let removed = whole.object_retain("lp.a.", &keep, Duration::ZERO).await;
    assert_eq!(removed.unwrap(), 1);
    assert_eq!(confined.object_bytes("lp.a.body.x").await.unwrap(), None);
    let stored = confined.object_get("lp.a.body.y", 10).await.unwrap();
    assert_eq!(stored, Some(text("new")));

    let hour = Duration::from_secs(3_600);
    confined
        .kv_put("a.secret.R", text("s"), hour)
        .await
        .unwrap();
    assert_eq!(whole.kv_get("a.secret.R").await.unwrap(), Some(text("s")));
    confined.kv_shred("a.secret.R").await.unwrap();
    assert_eq!(whole.kv_get("a.secret.R").await.unwrap(), None);
    let purged = confined.purge(Stream::Ctl, "lp.a.run.R.>").await;
    assert!(matches!(purged, Err(Fault::Denied { .. })), "{purged:?}");
}

/// In the JetStream API, user `b` may use only requests whose subject names what they read.
const USERS: &str = r#"users = [
    {user: a, password: a}
    {user: b, password: b, permissions: {
        subscribe: ["_INBOX.b.>", "lp.>"]
        publish: [
            "lp.>", "$KV.LP.>", "$O.LP.M.lp.*.body.*", "$O.LP.C.lp.*.body.*.*.*"
            "$JS.API.INFO", "$JS.API.DIRECT.GET.KV_LP.>"
            "$JS.API.DIRECT.GET.OBJ_LP.$O.LP.*.lp.>"
            "$JS.API.CONSUMER.CREATE.LP_CTL.*.lp.>"
            "$JS.API.CONSUMER.CREATE.LP_DATA.*.lp.>"
            "$JS.API.CONSUMER.MSG.NEXT.LP_CTL.*", "$JS.API.CONSUMER.MSG.NEXT.LP_DATA.*"
            "$JS.API.CONSUMER.INFO.LP_CTL.*", "$JS.API.CONSUMER.INFO.LP_DATA.*"
            "$JS.API.CONSUMER.DELETE.LP_CTL.*", "$JS.API.CONSUMER.DELETE.LP_DATA.*"
        ]
    }}
]"#;

laws!(
    writing::a_race_has_exactly_one_winner,
    writing::a_conflict_stores_nothing,
    writing::a_repeat_is_recognised_by_its_id,
    writing::a_purge_frees_the_subject,
    writing::a_full_stream_is_an_error,
    writing::an_event_too_large_is_refused,
    writing::a_log_must_be_opened,
    writing::all_clients_may_open_the_log,
    reads::a_tail_delivers_each_event_once_and_in_order,
    reads::a_tail_starts_at_its_sequence,
    reads::a_tail_on_nothing_is_caught_up_at_once,
    reads::a_tail_of_purged_events_catches_up,
    reads::a_late_reader_misses_nothing,
    reads::filters_select,
    reads::a_read_ends,
    reads::heads_and_creation_times,
    reads::the_time_advances,
    messages::core_messages_reach_their_listeners,
    messages::a_request_gets_its_first_reply,
    messages::a_request_without_listeners_fails_at_once,
    messages::a_core_message_on_a_stream_subject_is_stored,
    messages::a_secret_lives_until_it_is_shredded,
    messages::a_secret_expires,
    objects::an_object_is_read_as_it_was_put,
    objects::an_object_replaces_the_one_before,
    objects::equal_objects_may_be_put_at_the_same_time,
    objects::an_object_larger_than_expected_is_refused,
    objects::only_unneeded_objects_of_the_prefix_are_removed,
    objects::a_young_object_stays,
    objects::a_touched_object_is_young_again,
    objects::a_full_store_is_an_error_and_can_be_emptied,
);

/// A server of one kind, new for each test.
enum Rig {
    /// The memory twin.
    Memory,
    /// A nats-server.
    Real(TestServer),
    /// A nats-server that confines its user to one tenant's subjects.
    Confined(TestServer),
}

impl Rig {
    /// The first connection, with the log opened.
    async fn open(&self, limits: Limits) -> Bus {
        let bus = self.connect(limits).await;
        bus.open_log().await.expect("the log opens");
        bus
    }

    /// A connection as user `b`, once user `a` has opened log and stores, as coordinators do.
    async fn confined(server: &TestServer, limits: Limits) -> Bus {
        Rig::coordinator(server, limits).await;
        connect(&Options {
            token: Some("b:b".to_owned()),
            reach: Reach::Within("lp.>".to_owned()),
            limits,
            ..Options::new(&server.url)
        })
        .await
    }

    async fn coordinator(server: &TestServer, limits: Limits) -> Bus {
        let bus = connect(&Options {
            token: Some("a:a".to_owned()),
            limits,
            ..Options::new(&server.url)
        })
        .await;
        bus.open_log().await.expect("the log opens");
        bus.open_stores().await.expect("the stores open");
        bus
    }

    /// The first connection, with nothing opened.
    async fn connect(&self, limits: Limits) -> Bus {
        match self {
            Rig::Memory => Bus::memory_with(limits),
            Rig::Confined(server) => Rig::confined(server, limits).await,
            Rig::Real(server) => {
                connect(&Options {
                    limits,
                    ..server.options()
                })
                .await
            }
        }
    }

    /// Another connection to the server of `bus`.
    async fn peer(&self, bus: &Bus) -> Bus {
        match (self, bus) {
            (Rig::Confined(server), _) => Rig::confined(server, Limits::default()).await,
            (Rig::Real(server), _) => connect(&server.options()).await,
            (Rig::Memory, Bus::Memory(memory)) => Bus::Memory(memory.peer()),
            (Rig::Memory, _) => unreachable!("a rig makes connections of its kind"),
        }
    }
}

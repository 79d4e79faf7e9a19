//! The contract of the bus, held against the memory twin and against a real nats-server.
//!
//! Each law is one function over a rig; a law that only one of the two keeps is a bug in the other.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "rig/mod.rs"]
mod rig;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use loadpilot_bus::testserver::TestServer;
use loadpilot_bus::{AppendError, Bus, Fault, Limits, Options, RequestError, Step, Stream};
use rig::{PATIENCE, connect, contents, ctl, delta, event, put, step, text};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::timeout;

macro_rules! laws {
    ($($law:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $law() {
                super::$law(super::Rig::Memory).await;
            })*
        }
        mod real {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $law() {
                if let Some(server) = super::TestServer::start_or_skip(stringify!($law)) {
                    super::$law(super::Rig::Real(server)).await;
                }
            })*
        }
    };
}

laws!(
    a_race_has_exactly_one_winner,
    a_conflict_stores_nothing,
    a_repeat_is_recognised_by_its_id,
    a_tail_delivers_each_event_once_and_in_order,
    a_tail_starts_where_it_is_told,
    a_tail_on_nothing_is_caught_up_at_once,
    a_tail_of_purged_events_catches_up,
    a_late_reader_misses_nothing,
    filters_select,
    a_read_ends,
    a_purge_frees_the_subject,
    a_full_stream_says_so,
    an_event_too_large_is_refused,
    a_log_must_be_opened,
    anybody_may_open_the_log,
    heads_and_births,
    core_messages_reach_their_listeners,
    a_request_gets_its_first_reply,
    a_request_without_listeners_fails_at_once,
    what_is_published_to_a_stream_is_stored,
    a_secret_lives_until_it_is_shredded,
    a_secret_ends_by_itself,
);

/// A server of one kind, fresh for each test.
enum Rig {
    /// The memory twin.
    Memory,
    /// A nats-server.
    Real(TestServer),
}

impl Rig {
    /// The first connection, with the log opened.
    async fn open(&self, limits: Limits) -> Bus {
        let bus = self.connect(limits).await;
        bus.open_log().await.expect("the log opens");
        bus
    }

    /// The first connection, with nothing opened.
    async fn connect(&self, limits: Limits) -> Bus {
        match self {
            Rig::Memory => Bus::memory_with(limits),
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
            (Rig::Real(server), _) => connect(&server.options()).await,
            (Rig::Memory, Bus::Memory(memory)) => Bus::Memory(memory.peer()),
            (Rig::Memory, Bus::Nats(_)) => unreachable!("a rig makes connections of its kind"),
        }
    }
}

/// Two winners would be two coordinators deciding one run.
async fn a_race_has_exactly_one_winner(rig: Rig) {
    const WRITERS: usize = 6;
    const ROUNDS: usize = 100;
    let first = rig.open(Limits::default()).await;
    let start = Arc::new(Barrier::new(WRITERS));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (bus, start) = (rig.peer(&first).await, start.clone());
        writers.spawn(async move {
            let mut outcomes = Vec::new();
            for round in 0..ROUNDS {
                let last = bus.last(Stream::Ctl, &ctl("R")).await.unwrap();
                // All have read before anybody writes, and all write before anybody reads on.
                start.wait().await;
                let id = format!("{writer}/{round}");
                let expected = last.map_or(0, |stored| stored.seq);
                outcomes.push(bus.append_at(&ctl("R"), expected, &id, text(&id)).await);
                // A neighbour under the same wildcard must not disturb the race.
                put(&bus, Stream::Ctl, &ctl(&format!("other{writer}")), &id).await;
                start.wait().await;
            }
            outcomes
        });
    }
    let outcomes = writers.join_all().await;
    for round in 0..ROUNDS {
        let of_round: Vec<_> = outcomes.iter().map(|writer| &writer[round]).collect();
        let winners = of_round.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(winners, 1, "round {round}: {of_round:?}");
        for outcome in of_round.iter().filter_map(|outcome| outcome.as_ref().err()) {
            assert_eq!(outcome, &AppendError::Conflict, "round {round}");
        }
    }
    let stored = first.read(Stream::Ctl, vec![ctl("R")], None).await.unwrap();
    assert_eq!(stored.len(), ROUNDS, "as many decisions as rounds");
}

/// A loser whose event were stored anyway would have decided without being allowed to.
async fn a_conflict_stores_nothing(rig: Rig) {
    let bus = rig.open(Limits::default()).await;
    let seq = bus.append_at(&ctl("R"), 0, "a", text("a")).await.unwrap();
    for wrong in [0, seq + 1, seq + 100] {
        let refused = bus
            .append_at(&ctl("R"), wrong, &format!("b{wrong}"), text("b"))
            .await;
        assert_eq!(refused, Err(AppendError::Conflict), "expected {wrong}");
    }
    assert_eq!(bus.head(Stream::Ctl).await.unwrap(), seq);
    // The id of a loser is not burnt: it may win with the right sequence.
    assert_eq!(
        bus.append_at(&ctl("R"), seq, "b0", text("b")).await,
        Ok(seq + 1)
    );
}

/// An event that is repeated after an unknown outcome would be counted twice.
async fn a_repeat_is_recognised_by_its_id(rig: Rig) {
    let bus = rig.open(Limits::default()).await;
    let subject = delta("R", "a");
    let first = bus
        .append(Stream::Data, &subject, "id", text("x"))
        .await
        .unwrap();
    assert!(!first.duplicate);
    let again = bus
        .append(Stream::Data, &subject, "id", text("x"))
        .await
        .unwrap();
    assert_eq!((again.seq, again.duplicate), (first.seq, true));
    assert_eq!(bus.head(Stream::Data).await.unwrap(), first.seq);

    let decided = bus.append_at(&ctl("R"), 0, "d1", text("1")).await.unwrap();
    // The first write moved the subject on, so that its repeat conflicts like anybody else's.
    let repeated = bus.append_at(&ctl("R"), 0, "d1", text("1")).await;
    assert_eq!(repeated, Err(AppendError::Conflict));
    // Even where the sequence fits, an id is stored once.
    let repeated = bus.append_at(&ctl("R"), decided, "d1", text("1")).await;
    assert_eq!(repeated, Ok(decided));
    assert_eq!(bus.head(Stream::Ctl).await.unwrap(), decided);
}

/// A report is a fold of the tail: a missing or repeated event is a wrong report.
async fn a_tail_delivers_each_event_once_and_in_order(rig: Rig) {
    const BEFORE: usize = 40;
    const WRITERS: usize = 3;
    const EACH: usize = 150;
    let bus = rig.open(Limits::default()).await;
    for n in 0..BEFORE {
        put(&bus, Stream::Data, &delta("R", "before"), &n.to_string()).await;
    }
    let head = bus.head(Stream::Data).await.unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let bus = rig.peer(&bus).await;
        writers.spawn(async move {
            for n in 0..EACH {
                put(
                    &bus,
                    Stream::Data,
                    &delta("R", &format!("w{writer}")),
                    &n.to_string(),
                )
                .await;
            }
        });
    }
    let mut tail = bus.tail(Stream::Data, vec![], 1).await.unwrap();
    let (mut seqs, mut seen, mut caught_up_at) = (Vec::new(), HashSet::new(), None);
    while seqs.len() < BEFORE + WRITERS * EACH || caught_up_at.is_none() {
        match step(&mut tail).await {
            Step::Event(stored) => {
                seqs.push(stored.seq);
                seen.insert((stored.subject, stored.payload));
            }
            Step::CaughtUp => {
                assert_eq!(
                    caught_up_at.replace(seqs.len()),
                    None,
                    "caught up comes once"
                );
            }
        }
    }
    writers.join_all().await;
    assert_eq!(
        seqs,
        (1..=(BEFORE + WRITERS * EACH) as u64).collect::<Vec<_>>()
    );
    assert_eq!(seen.len(), seqs.len());
    assert!(
        caught_up_at >= Some(head as usize),
        "caught up before the start's head was delivered"
    );
}

/// A checkpoint that resumes one off loses or repeats an event.
async fn a_tail_starts_where_it_is_told(rig: Rig) {
    let bus = rig.open(Limits::default()).await;
    for n in 1..=9 {
        put(&bus, Stream::Ctl, &ctl("R"), &n.to_string()).await;
    }
    let mut tail = bus.tail(Stream::Ctl, vec![ctl("R")], 7).await.unwrap();
    for n in 7..=9 {
        assert_eq!(event(&mut tail).await.seq, n);
    }
    assert_eq!(step(&mut tail).await, Step::CaughtUp);
    let mut beyond = bus.tail(Stream::Ctl, vec![ctl("R")], 11).await.unwrap();
    assert_eq!(step(&mut beyond).await, Step::CaughtUp);
    put(&bus, Stream::Ctl, &ctl("R"), "10").await;
    put(&bus, Stream::Ctl, &ctl("R"), "11").await;
    assert_eq!(event(&mut beyond).await.seq, 11);
    assert_eq!(event(&mut tail).await.seq, 10);
}

/// A coordinator on a fresh log would wait for ever before it starts to work.
async fn a_tail_on_nothing_is_caught_up_at_once(rig: Rig) {
    let bus = rig.open(Limits::default()).await;
    put(&bus, Stream::Ctl, &ctl("other"), "x").await;
    let several = vec![ctl("S"), "lp.local.run.S.req".to_owned()];
    for (run, subjects) in [("R", vec![ctl("R")]), ("S", several)] {
        let mut tail = bus.tail(Stream::Ctl, subjects, 1).await.unwrap();
        assert_eq!(step(&mut tail).await, Step::CaughtUp);
        put(&bus, Stream::Ctl, &ctl(run), "first").await;
        assert_eq!(event(&mut tail).await.subject, ctl(run));
    }
}

/// Pruning while somebody reads must not leave the reader waiting for what is gone.
async fn a_tail_of_purged_events_catches_up(rig: Rig) {
    let bus = rig.open(Limits::default()).await;
    let large = "x".repeat(100_000);
    for n in 0..200 {
        put(&bus, Stream::Data, &delta("R", "a"), &format!("{n}{large}")).await;
    }
    let mut tail = bus
        .tail(Stream::Data, vec![delta("R", "*")], 1)
        .await
        .unwrap();
    bus.purge(Stream::Data, &delta("R", "*")).await.unwrap();
    let mut last = 0;
    while let Step::Event(stored) = step(&mut tail).await {
        assert!(stored.seq > last, "in order");
        last = stored.seq;
    }
    put(&bus, Stream::Data, &delta("R", "a"), "next").await;
    assert_eq!(event(&mut tail).await.seq, 201);
}

/// A reader that pauses while much is written gets everything, whatever queues lie between.
async fn a_late_reader_misses_nothing(rig: Rig) {
    const EVENTS: usize = 400;
    let bus = rig.open(Limits::default()).await;
    let mut tail = bus.tail(Stream::Data, vec![], 1).await.unwrap();
    assert_eq!(step(&mut tail).await, Step::CaughtUp);
    let large = "x".repeat(150_000);
    for n in 0..EVENTS {
        put(
            &bus,
            Stream::Data,
            &delta("R", "a"),
            &format!("{n} {large}"),
        )
        .await;
    }
    for n in 0..EVENTS {
        let stored = event(&mut tail).await;
        assert!(
            stored.payload.starts_with(format!("{n} ").as_bytes()),
            "event {n}"
        );
    }
}

/// A tenant must not see another's events, nor a fold the wrong kind.
async fn filters_select(rig: Rig) {
    let bus = rig.open(Limits::default()).await;
    for subject in [
        "lp.a.run.R.ctl",
        "lp.a.run.R.evt.x",
        "lp.b.run.R.ctl",
        "lp.a.run.S.req",
        "lp.a.adm",
    ] {
        put(&bus, Stream::Ctl, subject, subject).await;
    }
    let read = async |subjects: &[&str]| {
        let subjects = subjects.iter().map(ToString::to_string).collect();
        contents(&bus.read(Stream::Ctl, subjects, None).await.unwrap())
    };
    assert_eq!(read(&["lp.a.run.*.ctl"]).await, ["lp.a.run.R.ctl"]);
    assert_eq!(
        read(&["lp.a.run.*.ctl", "lp.a.run.*.evt.*", "lp.a.run.*.req"]).await,
        ["lp.a.run.R.ctl", "lp.a.run.R.evt.x", "lp.a.run.S.req"]
    );
    assert_eq!(
        read(&["lp.a.run.R.>"]).await,
        ["lp.a.run.R.ctl", "lp.a.run.R.evt.x"]
    );
    assert_eq!(read(&[]).await.len(), 5);
}

/// A read that waits for more than there is would hang every report.
async fn a_read_ends(rig: Rig) {
    let bus = rig.open(Limits::default()).await;
    let run = || vec![ctl("R")];
    assert_eq!(bus.read(Stream::Ctl, run(), None).await.unwrap(), []);
    for n in 1..=5 {
        put(&bus, Stream::Ctl, &ctl("R"), &n.to_string()).await;
        put(&bus, Stream::Ctl, &ctl("S"), &n.to_string()).await;
    }
    let all = bus.read(Stream::Ctl, run(), None).await.unwrap();
    assert_eq!(contents(&all), ["1", "2", "3", "4", "5"]);
    assert_eq!(
        all.iter().map(|stored| stored.seq).collect::<Vec<_>>(),
        [1, 3, 5, 7, 9]
    );
    for (up_to, expected) in [(0, 0), (1, 1), (4, 2), (5, 3), (9, 5), (1_000, 5)] {
        let some = bus.read(Stream::Ctl, run(), Some(up_to)).await.unwrap();
        assert_eq!(some.len(), expected, "up to {up_to}");
    }
    assert_eq!(
        bus.read(Stream::Ctl, vec![ctl("none")], Some(3))
            .await
            .unwrap(),
        []
    );
}

/// After a purge the subject starts anew, but sequences are never used twice.
async fn a_purge_frees_the_subject(rig: Rig) {
    let bus = rig.open(Limits::default()).await;
    for n in 0..3 {
        put(&bus, Stream::Ctl, &ctl("R"), &n.to_string()).await;
        put(&bus, Stream::Ctl, &ctl("S"), &n.to_string()).await;
    }
    assert_eq!(bus.purge(Stream::Ctl, &ctl("R")).await.unwrap(), 3);
    assert_eq!(bus.purge(Stream::Ctl, &ctl("R")).await.unwrap(), 0);
    assert_eq!(bus.last(Stream::Ctl, &ctl("R")).await.unwrap(), None);
    assert_eq!(
        bus.read(Stream::Ctl, vec![ctl("S")], None)
            .await
            .unwrap()
            .len(),
        3
    );
    assert_eq!(bus.append_at(&ctl("R"), 0, "anew", text("x")).await, Ok(7));
}

/// A full log must end runs by an error, never by silently dropping the oldest events.
async fn a_full_stream_says_so(rig: Rig) {
    let limits = Limits {
        ctl_bytes: 100_000,
        data_bytes: 100_000,
        replicas: 1,
    };
    let bus = rig.open(limits).await;
    let kilobyte = "x".repeat(1_000);
    let mut stored = 0;
    let refusal = loop {
        let id = format!("{stored}");
        match bus
            .append(Stream::Data, &delta("R", "a"), &id, text(&kilobyte))
            .await
        {
            Ok(_) => stored += 1,
            Err(refusal) => break refusal,
        }
        assert!(stored < 200, "the limit is not kept");
    };
    assert_eq!(
        refusal,
        AppendError::Full {
            stream: Stream::Data
        }
    );
    let first = bus.read(Stream::Data, vec![], Some(1)).await.unwrap();
    assert_eq!(first.len(), 1, "the oldest event is still there");
    put(
        &bus,
        Stream::Ctl,
        &ctl("R"),
        "the other stream still takes events",
    )
    .await;
    bus.purge(Stream::Data, &delta("R", "*")).await.unwrap();
    put(&bus, Stream::Data, &delta("R", "a"), "room again").await;
}

/// An outbox that cannot tell "too large" from "away" would retry for ever.
async fn an_event_too_large_is_refused(rig: Rig) {
    let bus = rig.open(Limits::default()).await;
    let large = "x".repeat((1 << 20) + 1);
    let refused = bus
        .append(Stream::Data, &delta("R", "a"), "id", text(&large))
        .await;
    assert_eq!(refused, Err(AppendError::TooLarge { limit: 1 << 20 }));
    let refused = bus.publish("lp.local.hb.a", text(&large)).await;
    assert_eq!(refused, Err(Fault::TooLarge { limit: 1 << 20 }));
    assert_eq!(bus.head(Stream::Data).await.unwrap(), 0);
}

/// A log that springs into being at the first write would have nobody's settings.
async fn a_log_must_be_opened(rig: Rig) {
    let bus = rig.connect(Limits::default()).await;
    let missing = |stream: &str| Fault::Missing {
        stream: stream.to_owned(),
    };
    assert_eq!(bus.head(Stream::Ctl).await, Err(missing("LP_CTL")));
    assert_eq!(
        bus.last(Stream::Ctl, &ctl("R")).await,
        Err(missing("LP_CTL"))
    );
    assert_eq!(
        bus.read(Stream::Data, vec![], None).await,
        Err(missing("LP_DATA"))
    );
    assert_eq!(
        bus.purge(Stream::Data, &delta("R", "*")).await,
        Err(missing("LP_DATA"))
    );
    let refused = bus.append(Stream::Ctl, &ctl("R"), "id", text("x")).await;
    assert_eq!(refused, Err(missing("LP_CTL").into()));
}

/// Any number of coordinators start at once, and none may fail for it.
async fn anybody_may_open_the_log(rig: Rig) {
    let first = rig.connect(Limits::default()).await;
    let mut openers = JoinSet::new();
    for _ in 0..6 {
        let bus = rig.peer(&first).await;
        openers.spawn(async move { bus.open_log().await });
    }
    for outcome in openers.join_all().await {
        assert_eq!(outcome, Ok(()));
    }
    put(&first, Stream::Ctl, &ctl("R"), "kept").await;
    first.open_log().await.unwrap();
    assert_eq!(
        first.head(Stream::Ctl).await.unwrap(),
        1,
        "opening again keeps what is there"
    );
}

/// A checkpoint is only good for the stream it was taken from.
async fn heads_and_births(rig: Rig) {
    let bus = rig.open(Limits::default()).await;
    assert_eq!(bus.head(Stream::Ctl).await.unwrap(), 0);
    let born = bus.created(Stream::Ctl).await.unwrap();
    let seq = put(&bus, Stream::Ctl, &ctl("R"), "x").await;
    let last = bus.last(Stream::Ctl, &ctl("R")).await.unwrap().unwrap();
    assert_eq!((last.seq, bus.head(Stream::Ctl).await.unwrap()), (seq, seq));
    assert_eq!(last.payload, text("x"));
    let hour_us = 3_600_000_000;
    assert!(
        last.stored_at_us >= born && last.stored_at_us < born + hour_us,
        "{last:?} {born}"
    );
    assert_eq!(bus.read(Stream::Ctl, vec![], None).await.unwrap(), [last]);
    assert_eq!(bus.created(Stream::Ctl).await.unwrap(), born);
    assert_eq!(
        bus.head(Stream::Data).await.unwrap(),
        0,
        "the streams count apart"
    );
}

/// Heartbeats and the kill switch travel this way.
async fn core_messages_reach_their_listeners(rig: Rig) {
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
            timeout(PATIENCE, all.next())
                .await
                .unwrap()
                .unwrap()
                .payload,
            expected
        );
    }
    let message = timeout(PATIENCE, one.next()).await.unwrap().unwrap();
    assert_eq!(
        (message.subject.as_str(), message.reply),
        ("lp.local.hb.b", None)
    );
    assert!(
        other.publish("lp.local.*", text("x")).await.is_err(),
        "a wildcard is no subject"
    );
}

/// The heartbeat's reply brings what an agent lacks.
async fn a_request_gets_its_first_reply(rig: Rig) {
    let asking = rig.connect(Limits::default()).await;
    let answering = rig.peer(&asking).await;
    let mut asked = answering.subscribe("lp.local.clock").await.unwrap();
    answering.flush().await.unwrap();
    let answerer = tokio::spawn(async move {
        while let Some(message) = asked.next().await {
            if message.payload == "silent" {
                continue;
            }
            let reply = message.reply.unwrap();
            answering.publish(&reply, text("first")).await.unwrap();
            answering.publish(&reply, text("second")).await.unwrap();
        }
    });
    for _ in 0..20 {
        let reply = asking.request("lp.local.clock", text("?"), PATIENCE).await;
        assert_eq!(reply.unwrap(), "first");
    }
    let unanswered = asking.request("lp.local.clock", text("silent"), Duration::from_millis(50));
    let subject = "lp.local.clock".to_owned();
    assert_eq!(unanswered.await, Err(RequestError::TimedOut { subject }));
    answerer.abort();
}

/// "Nobody is there" must not look like "somebody is slow".
async fn a_request_without_listeners_fails_at_once(rig: Rig) {
    let bus = rig.connect(Limits::default()).await;
    let outcome = timeout(
        PATIENCE,
        bus.request("lp.local.clock", text("?"), PATIENCE * 10),
    )
    .await;
    let subject = "lp.local.clock".to_owned();
    assert_eq!(
        outcome.unwrap(),
        Err(RequestError::NoResponders { subject })
    );
}

/// Storing depends on the subject alone; and who listens to a stored subject hears appends.
async fn what_is_published_to_a_stream_is_stored(rig: Rig) {
    let bus = rig.open(Limits::default()).await;
    let mut heard = bus.subscribe("lp.local.run.*.ctl").await.unwrap();
    bus.publish(&ctl("R"), text("core")).await.unwrap();
    bus.flush().await.unwrap();
    put(&bus, Stream::Ctl, &ctl("R"), "append").await;
    let stored = bus.read(Stream::Ctl, vec![ctl("R")], None).await.unwrap();
    assert_eq!(contents(&stored), ["core", "append"]);
    for expected in ["core", "append"] {
        assert_eq!(
            timeout(PATIENCE, heard.next())
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

/// A secret outlives its run only if nobody shreds it.
async fn a_secret_lives_until_it_is_shredded(rig: Rig) {
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

/// A secret whose run was lost must not stay for ever.
async fn a_secret_ends_by_itself(rig: Rig) {
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
    timeout(PATIENCE, gone).await.unwrap();
    assert_eq!(bus.kv_get("long").await.unwrap(), Some(text("y")));
}

//! Laws of reading: each event once, in order, and a defined end.

use std::collections::HashSet;

use loadpilot_bus::{Limits, Step, Stream};
use tokio::task::JoinSet;

use crate::Rig;
use crate::rig::{contents, ctl, delta, event, put, step, text};

/// Broken if a report, which is a fold of the tail, misses an event or counts one twice.
pub(crate) async fn a_tail_delivers_each_event_once_and_in_order(rig: Rig) {
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

/// Broken if a resumed checkpoint loses or repeats an event.
pub(crate) async fn a_tail_starts_at_its_sequence(rig: Rig) {
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

/// Broken if a coordinator on a new log waits for ever before it starts to work.
pub(crate) async fn a_tail_on_nothing_is_caught_up_at_once(rig: Rig) {
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

/// Broken if a reader waits for ever for events that were purged meanwhile.
pub(crate) async fn a_tail_of_purged_events_catches_up(rig: Rig) {
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

/// Broken if a queue drops events while the reader pauses.
pub(crate) async fn a_late_reader_misses_nothing(rig: Rig) {
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

/// Broken if a tenant reads another's events, or a fold gets events of the wrong kind.
pub(crate) async fn filters_select(rig: Rig) {
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
        read(&["lp.a.run.*.ctl", "lp.a.run.*.req"]).await,
        ["lp.a.run.R.ctl", "lp.a.run.S.req"]
    );
    assert_eq!(
        read(&["lp.a.run.R.>"]).await,
        ["lp.a.run.R.ctl", "lp.a.run.R.evt.x"]
    );
    assert_eq!(read(&[]).await.len(), 5);
}

/// Broken if a read waits for events beyond the end, so that every report hangs.
pub(crate) async fn a_read_ends(rig: Rig) {
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

/// Broken if the clock from which coordinators derive the start of a run stands still.
pub(crate) async fn the_time_advances(rig: Rig) {
    let bus = rig.open(Limits::default()).await;
    let created = bus.created(Stream::Ctl).await.unwrap();
    let early = bus.time_of(Stream::Ctl).await.unwrap();
    let seq = put(&bus, Stream::Ctl, &ctl("R"), "x").await;
    let late = bus.time_of(Stream::Ctl).await.unwrap();
    let last = bus.last(Stream::Ctl, &ctl("R")).await.unwrap().unwrap();
    assert_eq!(last.seq, seq);
    let times = [created, early, last.stored_at_us, late];
    assert!(times.is_sorted(), "{times:?}");
}

/// Broken if a checkpoint cannot be matched with the stream that it was taken from.
pub(crate) async fn heads_and_creation_times(rig: Rig) {
    let bus = rig.open(Limits::default()).await;
    assert_eq!(bus.head(Stream::Ctl).await.unwrap(), 0);
    let created = bus.created(Stream::Ctl).await.unwrap();
    let seq = put(&bus, Stream::Ctl, &ctl("R"), "x").await;
    let last = bus.last(Stream::Ctl, &ctl("R")).await.unwrap().unwrap();
    assert_eq!((last.seq, bus.head(Stream::Ctl).await.unwrap()), (seq, seq));
    assert_eq!(last.payload, text("x"));
    let hour_us = 3_600_000_000;
    assert!(
        last.stored_at_us >= created && last.stored_at_us < created + hour_us,
        "{last:?} {created}"
    );
    assert_eq!(bus.read(Stream::Ctl, vec![], None).await.unwrap(), [last]);
    assert_eq!(bus.created(Stream::Ctl).await.unwrap(), created);
    assert_eq!(
        bus.head(Stream::Data).await.unwrap(),
        0,
        "the streams count apart"
    );
}

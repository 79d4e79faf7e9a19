//! Laws of writing: races, repeats, refusals.

use std::sync::Arc;

use loadpilot_bus::{AppendError, Fault, Limits, Stream};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::Rig;
use crate::rig::{ctl, delta, put, text};

/// Broken if two coordinators can decide one run.
pub(crate) async fn a_race_has_exactly_one_winner(rig: Rig) {
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
                // All writers read before the first one writes, and write before the next read.
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

/// Broken if the event of a loser is stored.
pub(crate) async fn a_conflict_stores_nothing(rig: Rig) {
    let bus = rig.open(Limits::default()).await;
    let seq = bus.append_at(&ctl("R"), 0, "a", text("a")).await.unwrap();
    for wrong in [0, seq + 1, seq + 100] {
        let refused = bus
            .append_at(&ctl("R"), wrong, &format!("b{wrong}"), text("b"))
            .await;
        assert_eq!(refused, Err(AppendError::Conflict), "expected {wrong}");
    }
    assert_eq!(bus.head(Stream::Ctl).await.unwrap(), seq);
    // The id of a loser stays usable: it may win with the right sequence.
    assert_eq!(
        bus.append_at(&ctl("R"), seq, "b0", text("b")).await,
        Ok(seq + 1)
    );
}

/// Broken if an event that is repeated after an unknown outcome is counted twice.
pub(crate) async fn a_repeat_is_recognised_by_its_id(rig: Rig) {
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
    // The first write advanced the subject, so that its repeat conflicts like any other write.
    let repeated = bus.append_at(&ctl("R"), 0, "d1", text("1")).await;
    assert_eq!(repeated, Err(AppendError::Conflict));
    // Even where the sequence fits, an id is stored once.
    let repeated = bus.append_at(&ctl("R"), decided, "d1", text("1")).await;
    assert_eq!(repeated, Ok(decided));
    assert_eq!(bus.head(Stream::Ctl).await.unwrap(), decided);
}

/// After a purge the subject starts anew, but sequences are never used twice.
pub(crate) async fn a_purge_frees_the_subject(rig: Rig) {
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

/// Broken if a full log silently drops its oldest events.
pub(crate) async fn a_full_stream_is_an_error(rig: Rig) {
    let limits = Limits {
        ctl_bytes: 100_000,
        data_bytes: 100_000,
        ..Limits::default()
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
        assert!(stored < 200, "the limit is exceeded");
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
        "the other stream still accepts events",
    )
    .await;
    bus.purge(Stream::Data, &delta("R", "*")).await.unwrap();
    put(&bus, Stream::Data, &delta("R", "a"), "room again").await;
}

/// Broken if an outbox retries for ever, because "too large" looks like "unreachable".
pub(crate) async fn an_event_too_large_is_refused(rig: Rig) {
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

/// Broken if the first write creates a log, with settings that no operator chose.
pub(crate) async fn a_log_must_be_opened(rig: Rig) {
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

/// Broken if a coordinator fails because others start at the same time.
pub(crate) async fn all_clients_may_open_the_log(rig: Rig) {
    let first = rig.connect(Limits::default()).await;
    let mut openers = JoinSet::new();
    for _ in 0..6 {
        let bus = rig.peer(&first).await;
        openers.spawn(async move { bus.open_log().await });
    }
    for outcome in openers.join_all().await {
        assert_eq!(outcome, Ok(()));
    }
    put(&first, Stream::Ctl, &ctl("R"), "x").await;
    first.open_log().await.unwrap();
    assert_eq!(
        first.head(Stream::Ctl).await.unwrap(),
        1,
        "opening again removes no event"
    );
}

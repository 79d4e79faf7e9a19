//! The life of an agent without faults.

use std::collections::BTreeMap;
use std::time::Duration;

use loadpilot_agent::fleet::agent::Exit;
use loadpilot_agent::process::signals::Shutdown;
use loadpilot_agent::process::timeouts::Timeouts;
use loadpilot_bus::Limits;
use loadpilot_events::Outcome;
use loadpilot_events::log::assign::{Holding, Loss, LossReason};
use loadpilot_events::log::ctl::{Decision, StartScheduled, StopReason, StopScheduled};
use loadpilot_events::log::evt::{FinishReason, What};

use crate::script::now;
use crate::world::{SHARDS, World, holder, reassigned, timeouts};

/// The whole life once: the agent offers capacity, gets ready, fires what the plan says, reports
/// every tick, publishes its last words, and forgets the run when it is sealed.
#[tokio::test]
async fn one_run_from_creation_to_the_last_words() {
    let world = World::start(Limits::default(), timeouts(), Duration::ZERO).await;
    world.begin(world.plan(2)).await;
    let words = world.last_words().await;
    assert_eq!(words.reason, FinishReason::Completed);
    assert_eq!(words.totals.started, 200);
    assert_eq!(words.totals.calls, BTreeMap::from([(Outcome::Ok, 200)]));
    assert_eq!(
        world.target.counts(),
        BTreeMap::from([("/a".to_owned(), 150), ("/b".to_owned(), 50)])
    );
    world.adds_up(&words).await;
    assert!(words.final_seq > 1, "it reports while it runs");
    let facts = [
        "CapacityOffered",
        "ShardsReady",
        "ShardsStarted",
        "ShardsFinished",
    ];
    assert_eq!(world.script.facts().await, facts);

    world.script.beat(|beat| beat.seen.len() == 1).await;
    world.seal().await;
    world.script.beat(|beat| beat.seen.is_empty()).await;
}

/// Broken if no heartbeat follows an offer: a coordinator that began to listen after the last
/// heartbeat would take the offer a whole interval later.
#[tokio::test]
async fn an_offer_is_followed_by_a_heartbeat() {
    let timeouts = Timeouts {
        heartbeat: Duration::from_secs(3_600),
        seek: Duration::from_secs(3_600),
        ..timeouts()
    };
    let world = World::start(Limits::default(), timeouts, Duration::ZERO).await;
    world.script.beat(|beat| beat.seen.is_empty()).await;
    world.create(world.plan(2)).await;
    world.script.beat(|beat| beat.seen.len() == 1).await;
}

/// Broken if an agent is ready before its connections are open: the first calls would include the
/// handshakes.
#[tokio::test]
async fn it_is_ready_when_its_connections_are_open() {
    let world = World::start(Limits::default(), timeouts(), Duration::ZERO).await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a loopback port");
    let mut plan = world.plan(60);
    plan.target = format!("http://{}", listener.local_addr().expect("its address"));
    plan.connections.open_first = Some(5);
    world.create(plan).await;
    world.assign().await;
    world
        .script
        .fact(|what| matches!(what, What::ShardsReady(_)).then_some(()))
        .await;
    listener.set_nonblocking(true).expect("an open socket");
    let open = std::iter::from_fn(|| listener.accept().ok()).count();
    assert_eq!(open, 5);
}

/// Broken if an agent is ready before its handshakes are done, or is never ready if the target
/// cannot be reached.
#[tokio::test]
async fn it_is_not_ready_while_a_handshake_lasts() {
    let world = World::start(Limits::default(), timeouts(), Duration::ZERO).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a loopback port");
    let mut plan = world.plan(60);
    let address = listener.local_addr().expect("its address");
    plan.target = format!("https://{address}");
    plan.connections.tls.insecure = true;
    plan.connections.open_first = Some(1);
    world.create(plan).await;
    world.assign().await;
    let (silent, _) = listener.accept().await.expect("a connection");
    // There is no event to wait for: the test is that nothing happens.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let facts = world.script.facts().await;
    assert!(!facts.contains(&"ShardsReady".to_owned()), "{facts:?}");
    drop(silent);
    world
        .script
        .fact(|what| matches!(what, What::ShardsReady(_)).then_some(()))
        .await;
}

/// The open tick is in one file for each thread. Closing a delta frees its space, and a clean end
/// leaves no file.
#[tokio::test]
async fn the_open_tick_lies_in_rings_until_the_end() {
    let mut world = World::start(Limits::default(), timeouts(), Duration::ZERO).await;
    world.begin(world.plan(3)).await;
    world.script.deltas_stored(5).await;
    let left = world.rings();
    assert_eq!(left.len(), 2, "one for each thread");
    for left in left {
        assert_eq!(left.owner.holder, world.shell.me);
        assert!(left.closed.turn >= 3, "closed up to {:?}", left.closed);
        assert!(
            left.finished.len() < 100,
            "{} are open",
            left.finished.len()
        );
    }
    let words = world.last_words().await;
    assert_eq!(words.totals.calls, BTreeMap::from([(Outcome::Ok, 300)]));
    world.adds_up(&words).await;
    // The agent removes its files once its last words are stored, and does not leave before.
    world.wish.send_replace(Shutdown::Drain);
    let exit = (&mut world.life).await;
    assert_eq!(exit.expect("no panic"), Exit::Left);
    let left = std::fs::read_dir(world.state.path()).expect("a folder");
    assert_eq!(left.count(), 0);
}

/// Even if all live events are lost, the replies to heartbeats contain every one of them.
#[tokio::test]
async fn heartbeats_bring_what_was_missed() {
    let mut world = World::start(Limits::default(), timeouts(), Duration::ZERO).await;
    world.script.tells = false;
    world.begin(world.plan(1)).await;
    let words = world.last_words().await;
    assert_eq!(words.totals.calls, BTreeMap::from([(Outcome::Ok, 100)]));
    world.adds_up(&words).await;
}

/// After a stop, calls in flight come to their end.
#[tokio::test]
async fn a_stop_drains() {
    let world = World::start(Limits::default(), timeouts(), Duration::from_millis(300)).await;
    world.begin(world.plan(30)).await;
    world.target.seen(20).await;
    let reason = StopReason::Requested {
        by: "test".to_owned(),
    };
    let stop = StopScheduled {
        stop_at: now(),
        reason,
        unanswered: None,
    };
    world.script.decide(Decision::StopScheduled(stop)).await;
    let words = world.last_words().await;
    assert_eq!(words.reason, FinishReason::Stopped);
    assert_eq!(
        words.totals.calls.keys().copied().collect::<Vec<_>>(),
        [Outcome::Ok]
    );
    world.adds_up(&words).await;
}

/// SIGTERM without another agent: after the time for a takeover nothing new is started, calls in
/// flight end, everything is stored, and the fleet is informed.
#[tokio::test]
async fn leaving_alone_drains_and_says_so() {
    for hand_over in [Duration::ZERO, Duration::from_millis(300)] {
        let timeouts = Timeouts {
            hand_over,
            ..timeouts()
        };
        let world = World::start(Limits::default(), timeouts, Duration::from_millis(300)).await;
        world.begin(world.plan(30)).await;
        world.target.seen(20).await;
        world.wish.send_replace(Shutdown::Drain);
        let words = world.last_words().await;
        assert_eq!(words.reason, FinishReason::Left);
        assert_eq!(
            words.totals.calls.keys().copied().collect::<Vec<_>>(),
            [Outcome::Ok]
        );
        world.adds_up(&words).await;
        assert_eq!(world.life.await.expect("no panic"), Exit::Left);
        let facts = world.script.facts().await;
        assert_eq!(facts[facts.len() - 2..], ["AgentLeaving", "ShardsFinished"]);
    }
}

/// SIGTERM while others can take over: the agent fires all that is due before their tick, and then
/// ends.
#[tokio::test]
async fn leaving_serves_its_shards_until_others_take_them() {
    let world = World::start(Limits::default(), timeouts(), Duration::ZERO).await;
    world.begin(world.plan(120)).await;
    world.script.deltas_stored(1).await;
    world.wish.send_replace(Shutdown::Drain);
    world
        .script
        .fact(|what| matches!(what, What::AgentLeaving).then_some(()))
        .await;
    let heirs = vec![world.all_shards(holder("agent-2"))];
    world.script.decide(reassigned(10, heirs, Vec::new())).await;
    let words = world.last_words().await;
    assert_eq!(words.reason, FinishReason::Superseded);
    assert_eq!(words.totals.started, 200, "all that is due before tick 10");
    world.adds_up(&words).await;
    assert_eq!(world.life.await.expect("no panic"), Exit::Left);
    let facts = world.script.facts().await;
    let leaving = facts.iter().filter(|fact| *fact == "AgentLeaving");
    assert_eq!(leaving.count(), 1);
}

/// Shards that go to others at a tick: the agent fires all that is due before, and nothing after.
#[tokio::test]
async fn a_takeover_ends_at_its_tick() {
    let world = World::start(Limits::default(), timeouts(), Duration::ZERO).await;
    world.begin(world.plan(120)).await;
    world.script.deltas_stored(1).await;
    let losses = vec![Loss {
        holder: world.shell.me.clone(),
        reason: LossReason::Left,
    }];
    let heirs = vec![world.all_shards(holder("agent-2"))];
    world.script.decide(reassigned(10, heirs, losses)).await;
    let words = world.last_words().await;
    assert_eq!(words.reason, FinishReason::Superseded);
    assert_eq!(
        words.totals.started, 200,
        "ten ticks of 200 ms at 100 per second"
    );
    world.adds_up(&words).await;
}

/// A holder whose share grows during a run fires the old share up to the tick and the new one from
/// it.
#[tokio::test]
async fn a_share_that_grows_is_fired_exactly() {
    let world = World::start(Limits::default(), timeouts(), Duration::ZERO).await;
    let (me, other) = (world.shell.me.clone(), holder("agent-2"));
    let half = |holder, first| Holding {
        holder,
        shards: (first..SHARDS).step_by(2).collect(),
    };
    world.create(world.plan(4)).await;
    world
        .assign_to(vec![half(me.clone(), 0), half(other, 1)])
        .await;
    world
        .script
        .fact(|what| matches!(what, What::ShardsReady(_)).then_some(()))
        .await;
    let start_at = now();
    world
        .script
        .decide(Decision::StartScheduled(StartScheduled { start_at }))
        .await;
    world.script.deltas_stored(1).await;
    world
        .script
        .decide(reassigned(10, vec![world.all_shards(me)], Vec::new()))
        .await;
    let words = world.last_words().await;
    assert_eq!(words.reason, FinishReason::Completed);
    assert_eq!(words.totals.started, 300, "half of 200, then all of 200");
    world.adds_up(&words).await;
}

/// An agent that joins a running run must not fire what was due before it held anything.
#[tokio::test]
async fn a_late_joiner_begins_at_its_tick() {
    let world = World::start(Limits::default(), timeouts(), Duration::ZERO).await;
    world.create(world.plan(4)).await;
    world
        .assign_to(vec![world.all_shards(holder("agent-2"))])
        .await;
    let start_at = now();
    world
        .script
        .decide(Decision::StartScheduled(StartScheduled { start_at }))
        .await;
    let all = vec![world.all_shards(world.shell.me.clone())];
    world.script.decide(reassigned(10, all, Vec::new())).await;
    let words = world.last_words().await;
    assert_eq!(words.reason, FinishReason::Completed);
    assert_eq!(words.totals.started, 200, "ticks 10 to 19 of 20");
    world.adds_up(&words).await;
}

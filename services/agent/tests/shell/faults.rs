//! Reactions of an agent to faults around it.

use std::collections::BTreeMap;
use std::time::Duration;

use loadpilot_agent::process::timeouts::Timeouts;
use loadpilot_bus::Limits;
use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_events::log::evt::{FinishReason, What};
use loadpilot_events::plan::Shape;
use loadpilot_events::{Outcome, Rate};

use crate::world::{World, silence, sum, timeouts};

/// Longer than a busy machine stalls, so that an agent fences itself only because of the fault that
/// the test makes.
const FENCE: Duration = Duration::from_secs(2);

/// The death of a coordinator during a run must cost nothing; the decisions of the next one reach
/// the agent.
#[tokio::test]
async fn a_coordinator_restarts_and_nothing_is_lost() {
    let mut world = World::start(Limits::default(), timeouts(), Duration::ZERO).await;
    world.begin(world.plan(3)).await;
    world.script.deltas_stored(2).await;
    world.script.die().await;
    world.script.deltas_stored(8).await;
    world.script.listen(true).await;
    let words = world.last_words().await;
    assert_eq!(words.reason, FinishReason::Completed);
    assert_eq!(words.totals.calls, BTreeMap::from([(Outcome::Ok, 300)]));
    world.adds_up(&words).await;
    world.seal().await;
    world.script.beat(|beat| beat.seen.is_empty()).await;
}

/// Without a connection to NATS an agent must fence itself, keep its counts, and publish them when
/// the link is back.
#[tokio::test]
async fn cut_off_it_fences_itself_and_reports_afterwards() {
    let timeouts = Timeouts {
        fence: FENCE,
        ..timeouts()
    };
    let world = World::start(Limits::default(), timeouts, Duration::ZERO).await;
    world.begin(world.plan(30)).await;
    world.target.seen(30).await;
    world.link.cut();
    let silent_at = silence(&world.target).await;
    assert!(silent_at < 1_000, "{silent_at} of 3,000 arrivals were sent");
    world.link.heal();
    let words = world.last_words().await;
    assert_eq!(words.reason, FinishReason::Isolated);
    world.adds_up(&words).await;
    assert_eq!(
        world.target.total(),
        silent_at,
        "nothing was sent after the fence"
    );
    let facts = world.script.facts().await;
    assert_eq!(
        facts[facts.len() - 2..],
        ["IsolationStop", "ShardsFinished"]
    );
}

/// If the open tick cannot be stored, the agent reports that before it sends anything.
#[tokio::test]
async fn a_state_directory_that_cannot_be_used_fails_its_shards() {
    let world = World::start(Limits::default(), timeouts(), Duration::ZERO).await;
    std::fs::remove_dir(world.state.path()).expect("it is empty");
    std::fs::write(world.state.path(), "a file in its place").expect("room");
    world.create(world.plan(1)).await;
    world.assign().await;
    let reason = world.failure().await;
    let folder = world.state.path().display().to_string();
    assert!(reason.contains(&folder), "{reason}");
    assert_eq!(world.target.total(), 0);
}

/// Broken if a plan that names the address of the agent's NATS server reaches it while the server's
/// name is not resolved.
#[tokio::test]
async fn a_nats_server_whose_addresses_are_unknown_fails_its_shards() {
    // No resolver accepts a label of 64 characters.
    let server = format!("{}.invalid", "n".repeat(64));
    let targets = TargetPolicy::local().with_own_server(&format!("nats://{server}:4222"));
    let (limits, delay) = (Limits::default(), Duration::ZERO);
    let world = World::start_with(limits, timeouts(), delay, targets).await;
    world.create(world.plan(1)).await;
    world.assign().await;
    let reason = world.failure().await;
    let named = format!("its NATS server {server}:4222 to the run");
    assert!(reason.contains(&named), "{reason}");
    assert_eq!(world.target.total(), 0);
}

/// NATS reports that there are no responders. A coordinator may be restarting, so the agent must
/// not fence itself; but without a coordinator it must not fire for ever.
#[tokio::test]
async fn without_a_coordinator_it_goes_on_and_stops_in_the_end() {
    let timeouts = Timeouts {
        fence: FENCE,
        no_coordinator: Duration::from_secs(6),
        ..timeouts()
    };
    let mut world = World::start(Limits::default(), timeouts, Duration::ZERO).await;
    world.begin(world.plan(30)).await;
    world.target.seen(10).await;
    world.script.die().await;
    // After the fence time, and still firing: NATS reports no responders.
    world.target.seen(world.target.total() + 300).await;
    let fenced = world.script.fact(|what| match what {
        What::IsolationStop(stop) => Some(stop.reason.clone()),
        _ => None,
    });
    assert!(fenced.await.contains("no coordinator"));
    let words = world.last_words().await;
    assert_eq!(words.reason, FinishReason::Isolated);
    world.adds_up(&words).await;
}

/// A coordinator listens but never answers: the agent cannot know whether it is connected, and
/// fences itself.
#[tokio::test]
async fn a_coordinator_that_never_answers_fences() {
    let timeouts = Timeouts {
        fence: FENCE,
        ..timeouts()
    };
    let mut world = World::start(Limits::default(), timeouts, Duration::ZERO).await;
    world.begin(world.plan(30)).await;
    world.target.seen(10).await;
    world.script.die().await;
    world.script.listen(false).await;
    let words = world.last_words().await;
    assert_eq!(words.reason, FinishReason::Isolated);
    assert!(words.totals.started < 1_000);
    world.adds_up(&words).await;
}

/// The kill switch needs no coordinator and does not wait for answers.
#[tokio::test]
async fn a_halt_cuts_everything_at_once() {
    let mut world = World::start(Limits::default(), timeouts(), Duration::from_secs(4)).await;
    world.begin(world.plan(30)).await;
    world.target.seen(20).await;
    world.script.die().await;
    let halt = world.script.subjects.halt(&world.script.run);
    world
        .script
        .bus
        .publish(&halt, bytes::Bytes::new())
        .await
        .expect("the bus is up");
    let words = world.last_words().await;
    assert_eq!(words.reason, FinishReason::Stopped);
    let cancelled = words.totals.calls.get(&Outcome::Cancelled).copied();
    assert!(
        cancelled.is_some_and(|count| count >= 20),
        "{:?}",
        words.totals
    );
    assert_eq!(sum(&world.script.deltas().await), words.totals);
}

/// A full log must end the load: an agent must not send what it cannot report.
#[tokio::test]
async fn a_full_log_stops_the_load() {
    let limits = Limits {
        data_bytes: 20_000,
        ..Limits::default()
    };
    let world = World::start(limits, timeouts(), Duration::ZERO).await;
    world.begin(world.plan(60)).await;
    let failure = world.failure().await;
    assert!(failure.starts_with("stream LP_DATA is full: "), "{failure}");
    let sent = silence(&world.target).await;
    assert!(sent < 6_000, "{sent} of 6,000");
}

/// Broken if a run starts whose users need more open files than the limit: their calls would fail
/// one by one.
#[tokio::test]
async fn too_few_open_files_fail_before_the_start() {
    let world = World::start(Limits::default(), timeouts(), Duration::ZERO).await;
    let mut plan = world.plan(60);
    plan.profile.shape = Shape::Closed;
    plan.profile.pieces[0].from = Rate(0);
    plan.profile.pieces[0].to = Rate(0);
    plan.users = Some(901);
    world.create(plan).await;
    world.assign().await;
    let reason = world.failure().await;
    for part in ["1001 open files", "may have 1000", "ulimit -n 1001"] {
        assert!(reason.contains(part), "{reason}");
    }
    assert_eq!(world.target.total(), 0);
}

/// Missing secrets: the run fails, and names the missing handle.
#[tokio::test]
async fn missing_secrets_fail_and_present_ones_do_not() {
    let mut world = World::start(Limits::default(), timeouts(), Duration::ZERO).await;
    let values = BTreeMap::from([("other".to_owned(), "hunter2".to_owned())]);
    world.script.die().await;
    world.script.secrets = Some(values);
    world.script.listen(true).await;
    let mut plan = world.plan(1);
    let header = serde_json::json!({"name": "authorization", "value": {"secret": "token"}});
    let header = serde_json::from_value(header).expect("a header");
    plan.tasks[0].steps[0].headers.push(header);
    world.create(plan).await;
    world.assign().await;
    let reason = world.failure().await;
    assert!(
        reason.contains("token") && !reason.contains("hunter2"),
        "{reason}"
    );
    assert_eq!(world.target.total(), 0);
}

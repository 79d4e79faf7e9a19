//! Steering against a target that counts for itself: pauses and changed rates in a core.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::support::cores::{Cores, SHARDS, hold, plan, step, task};
use crate::support::target::{Act, Gate, Target};
use loadpilot_engine::schedule::rate_change::RateChange;
use loadpilot_engine::schedule::share::Share;
use loadpilot_events::plan::{Shape, Task};
use loadpilot_events::{DropReason, Outcome, Rate};

const USERS: u32 = 8;

fn one_task() -> Vec<Task> {
    vec![task("only", 1, vec![step("/only")])]
}

/// Broken if a pause loses arrivals that wait or come due in it, sends them afterwards, or cuts off
/// calls in flight.
#[tokio::test]
async fn a_pause_drops_what_waits_and_what_comes_due() {
    let gate = Arc::new(Gate::default());
    let target_gate = Arc::clone(&gate);
    let target = Target::start(move |_| Act::Wait(Arc::clone(&target_gate)));
    let mut cores = Cores::new(plan(target.url(), 100, 1_000, one_task()), 1, 2).start();
    target.wait_for(2);
    while cores.harvest().await[0].waiting < 5 {}
    cores.cores[0].pause(true);
    assert_eq!(cores.harvest().await[0].waiting, 0);
    let waited = cores.counted().dropped(DropReason::Paused);
    assert!(waited >= 5);
    while cores.counted().dropped(DropReason::Paused) < waited + 20 {
        cores.harvest().await;
    }
    gate.open();
    cores.cores[0].pause(false);
    let counted = cores.finish().await;
    let paused = counted.dropped(DropReason::Paused);
    assert_eq!(counted.started() + paused, 100);
    let all_ok = BTreeMap::from([(Outcome::Ok, counted.started())]);
    assert_eq!(counted.outcomes(), all_ok);
    assert_eq!(target.seen().len() as u64, counted.started());
}

/// Broken if a change of the rate affects earlier ticks, doubles arrivals, or is counted for the
/// holding before it.
#[tokio::test]
async fn a_rate_changes_at_its_tick() {
    let target = Target::start(|_| Act::Answer(200));
    let mut cores = Cores::new(plan(target.url(), 100, 2_000, one_task()), 2, 100).start();
    target.wait_for(20);
    let halves = Share::new(SHARDS, (0..SHARDS).collect()).split(2);
    // Tick 5 begins at 1 s.
    let rate = Rate::per_second(300);
    let change = RateChange { from_tick: 5, rate };
    for (core, half) in cores.cores.iter().zip(halves) {
        let before = hold(1, (0, Some(5)), half.clone());
        core.hold(vec![before, hold(2, (5, None), half)], [change].into());
    }
    let counted = cores.finish().await;
    let arrivals: BTreeSet<u64> = target.seen().iter().map(|seen| seen.id().0).collect();
    assert_eq!(arrivals, (0..400).collect());
    assert_eq!(target.seen().len(), 400);
    assert_eq!(counted.generations(), BTreeMap::from([(1, 100), (2, 300)]));
    let ticks = counted.ticks();
    assert!(
        ticks
            .iter()
            .all(|(generation, tick)| (*generation == 2) == (*tick >= 5))
    );
}

/// Broken if an arrival that was sent before the core learned of a change is sent again under the
/// new rate.
#[tokio::test]
async fn a_change_heard_of_late_sends_nothing_twice() {
    let target = Target::start(|_| Act::Answer(200));
    let mut cores = Cores::new(plan(target.url(), 100, 1_000, one_task()), 1, 100).start();
    target.wait_for(60);
    let all = Share::new(SHARDS, (0..SHARDS).collect());
    // Tick 1 began at 200 ms.
    let rate = Rate::per_second(200);
    let change = RateChange { from_tick: 1, rate };
    let before = hold(1, (0, Some(1)), all.clone());
    cores.cores[0].hold(vec![before, hold(2, (1, None), all)], [change].into());
    let counted = cores.finish().await;
    let seen = target.seen();
    let arrivals: BTreeSet<u64> = seen.iter().map(|seen| seen.id().0).collect();
    assert_eq!(seen.len(), arrivals.len());
    assert!(counted.dropped(DropReason::Late) >= 40);
    assert!(
        arrivals.last().is_some_and(|&last| last == 179),
        "{arrivals:?}"
    );
}

/// Broken if users continue in a pause, or do not all return after it.
#[tokio::test]
async fn users_rest_in_a_pause_and_come_back() {
    let target = Target::start(|_| {
        std::thread::sleep(Duration::from_millis(2));
        Act::Answer(200)
    });
    let mut plan = plan(target.url(), 0, 1_500, one_task());
    plan.profile.shape = Shape::Closed;
    plan.users = Some(USERS);
    let mut cores = Cores::new(plan, 1, 1).start();
    target.wait_for(2 * USERS as usize);
    cores.cores[0].pause(true);
    while cores.harvest().await[0].in_flight > 0 {}
    let before = (cores.counted().started(), target.seen().len());
    // There is no event to wait for: the test is that nothing happens.
    tokio::time::sleep(Duration::from_millis(200)).await;
    cores.harvest().await;
    assert_eq!((cores.counted().started(), target.seen().len()), before);
    cores.cores[0].pause(false);
    let counted = cores.finish().await;
    let back = target.seen().split_off(before.1);
    let id = |header: Option<&str>| header.and_then(|id| id.split(['/', '.']).nth(1)?.parse().ok());
    let back: BTreeSet<u32> = back
        .iter()
        .filter_map(|seen| id(seen.header("x-id")))
        .collect();
    assert_eq!(back, (0..USERS).collect());
    assert_eq!(counted.started() as usize, target.seen().len());
}

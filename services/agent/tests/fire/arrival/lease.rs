//! After the end of its lease a core starts no arrival, even without a command to stop: a process
//! that was frozen may fire before it reads a command.

use loadpilot_agent::fire::MonoTime;
use loadpilot_events::{DropReason, Outcome};

use crate::support::cores::{Cores, plan, step, task};
use crate::support::target::{Act, Target};

/// Broken if a firing thread goes on until a command says that it has lost its shards.
#[tokio::test]
async fn nothing_is_started_beyond_its_end() {
    let target = Target::start(|_| Act::Answer(200));
    let tasks = vec![task("two", 1, vec![step("/one"), step("/two")])];
    let mut cores = Cores::new(plan(target.url(), 200, 2_000, tasks), 2, 100);
    let start = MonoTime::now();
    let end = start.plus_us(500_000);
    cores.lease.renew(end);
    cores = cores.start_at(start);
    let counted = cores.finish().await;
    let due_by_then = 101;
    assert!(counted.started() <= due_by_then, "{}", counted.started());
    assert!(counted.started() > 0, "it fired until then");
    assert_eq!(
        counted.outcomes().keys().collect::<Vec<_>>(),
        [&Outcome::Ok]
    );
    let calls = counted.calls_of(0) + counted.calls_of(1);
    assert_eq!(target.seen().len() as u64, calls);
}

/// Broken if a thread that wakes after the end of its lease sends what is due now, or does not
/// report it.
#[tokio::test]
async fn what_is_due_when_it_wakes_too_late_is_fenced() {
    let target = Target::start(|_| Act::Answer(200));
    let tasks = vec![task("one", 1, vec![step("/one")])];
    let mut cores = Cores::new(plan(target.url(), 100, 1_000, tasks), 1, 100);
    let now = MonoTime::now();
    cores.lease.renew(now);
    // The start lies in the past, as after a freeze; the plan allows arrivals to be five seconds
    // late.
    let start = MonoTime::from_ns(now.as_ns() - 400_000_000);
    cores = cores.start_at(start);
    let counted = cores.finish().await;
    assert_eq!((counted.started(), target.seen().len()), (0, 0));
    let fenced = counted.dropped(DropReason::Fenced);
    assert!(
        (40..=45).contains(&fenced),
        "{fenced} of those that were due"
    );
}

//! Helpers of all suites: subjects, and writes and reads that fail instead of hanging.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use loadpilot_bus::{Bus, Options, Step, Stored, Stream, Tail};
use tokio::time::timeout;

/// Timeout of one step of a test, so that a hang fails.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) async fn connect(options: &Options) -> Bus {
    Bus::connect(options)
        .await
        .expect("the test's own server accepts")
}

pub(crate) fn text(content: impl ToString) -> Bytes {
    Bytes::from(content.to_string())
}

/// Subject of decisions of a run.
pub(crate) fn ctl(run: &str) -> String {
    format!("lp.local.run.{run}.ctl")
}

/// Subject of measurements of an agent.
pub(crate) fn delta(run: &str, agent: &str) -> String {
    format!("lp.local.run.{run}.delta.{agent}")
}

/// Appends `content` under an id of its own.
pub(crate) async fn put(bus: &Bus, stream: Stream, subject: &str, content: &str) -> u64 {
    static IDS: AtomicU64 = AtomicU64::new(0);
    let id = format!("put/{}", IDS.fetch_add(1, Ordering::Relaxed));
    bus.append(stream, subject, &id, text(content))
        .await
        .expect("an append succeeds")
        .seq
}

pub(crate) async fn step(tail: &mut Tail) -> Step {
    let step = timeout(TIMEOUT, tail.next())
        .await
        .expect("a step comes in time");
    step.expect("the tail continues")
}

pub(crate) async fn event(tail: &mut Tail) -> Stored {
    match step(tail).await {
        Step::Event(stored) => stored,
        Step::CaughtUp => panic!("caught up where an event was due"),
    }
}

pub(crate) fn contents(events: &[Stored]) -> Vec<String> {
    events
        .iter()
        .map(|stored| String::from_utf8_lossy(&stored.payload).into_owned())
        .collect()
}

//! Judges the gates of a run in progress by the report of its log so far: for a live view, and to
//! hold the gates.
//!
//! It reads the log in parallel with the follower, which never waits for it, and takes a small
//! share of a core, however long the run is. Must never compute a figure of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use loadpilot_events::RunId;
use loadpilot_events::answers::report::ThresholdResult;
use tokio::sync::Notify;

use crate::session::Session;

/// Minimum pause after a judgement; agents report every second, all at about the same time.
const PAUSE_MIN: Duration = Duration::from_millis(500);
/// Time to wait for the reports of other agents after the first one.
const SETTLE_TIME: Duration = Duration::from_millis(100);
/// Minimum pause after a judgement, as a multiple of its duration: at most 1 % of a core.
const PAUSE_FACTOR: u32 = 100;
/// Maximum pause: even if a busy machine makes a judgement slow, gates must not stay unjudged for
/// long.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Author of changes of the rate that hold gates.
const BY_HOLD: &str = "--hold";

/// The gates to judge.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged {
    /// The gates, for the view.
    pub(crate) gates: bool,
    /// The gates that the run holds: the rate is changed by them.
    pub(crate) hold: bool,
}

/// Judges the gates of `run` when its log `has_grown`, until it is over or the task is aborted.
/// While the log cannot be read there are no judgements; the follower reports why.
pub(crate) async fn judge(
    session: Session,
    run: RunId,
    has_grown: Arc<Notify>,
    judged: Judged,
    send: impl Fn(Vec<ThresholdResult>),
) {
    let mut indexed = loop {
        match session.read(&run, None).await {
            Ok(indexed) => break indexed,
            Err(_) => tokio::time::sleep(PAUSE_MIN).await,
        }
    };
    let mut is_new = true;
    loop {
        let mut pause = PAUSE_MIN;
        if is_new {
            // Computing a report would block the thread that follows the run for too long.
            let judging = tokio::task::spawn_blocking(move || {
                let begun = Instant::now();
                let gates = judged.gates.then(|| indexed.gates());
                let change = judged.hold.then(|| indexed.next_change()).flatten();
                (indexed, gates, change, begun.elapsed())
            });
            let Ok((back, gates, change, took)) = judging.await else {
                return;
            };
            indexed = back;
            pause = (took * PAUSE_FACTOR).clamp(PAUSE_MIN, PAUSE_MAX);
            if let Some(Ok(gates)) = gates {
                send(gates);
            }
            if let Some((rate, window)) = change {
                // A request that is not stored is repeated with the next report.
                let _ = session.change_rate(&run, BY_HOLD, rate, window).await;
            }
        }
        if indexed.position().over {
            return;
        }
        tokio::time::sleep(pause).await;
        has_grown.notified().await;
        tokio::time::sleep(SETTLE_TIME).await;
        is_new = indexed.refresh().await.unwrap_or(false);
    }
}

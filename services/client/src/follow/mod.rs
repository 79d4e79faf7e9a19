//! Follows one run: its timeline as it is stored, snapshots, and its end.
//!
//! A snapshot is the live view; only the report has a verdict.
//!
//! - `gates`: judges the gates of one run in progress
//! - [`replay`]: repeats the updates of a run that is over

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use loadpilot_bus::{Bus, Fault, Link, Step, Stored, Stream, Tail};
use loadpilot_engine::control::{Control, ControlLog};
use loadpilot_engine::report::live::LiveView;
use loadpilot_engine::report::timeline;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::RunId;
use loadpilot_events::answers::live::Snapshot;
use loadpilot_events::answers::report::{StoryLine, ThresholdResult};
use loadpilot_events::wire::subject::{Kind, Subjects};
use serde::Serialize;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::session::{Session, control_of, now, retry_unreachable};

use gates::{Judged, judge};

mod gates;
pub mod replay;

/// Interval between two snapshots for readers that draw nothing in between.
const SNAPSHOT_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of updates that wait for a slow reader; following then pauses until it reads.
pub(crate) const UPDATES_MAX: usize = 256;
/// Timeout after which an unreadable log ends following: the nodes of a cluster may elect a leader
/// and recover meanwhile.
const UNREADABLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Minimum gap between two faults for the second one to start a new streak. A failing tail reports
/// a fault every 10 s, so in a longer gap it did not fail, even if it brought no record.
const SOUND_GAP_MIN: Duration = Duration::from_secs(25);
/// Minimum time without a stored record of a running run after which the server's storage is
/// probed. If the server is frozen or gone, the tail reports a fault.
const SILENCE_TIMEOUT_MIN: Duration = Duration::from_secs(15);
/// Number of ticks without a stored record that count as silence: agents report after each tick.
const SILENT_TICKS: u32 = 3;
/// Timeout of the last read of a run that is over: the view must not delay the run's report.
const LAST_READ_TIMEOUT: Duration = Duration::from_secs(2);
/// Time without a connection after which the reader is notified: a restarted server is back sooner.
const OUTAGE_MIN: Duration = Duration::from_secs(5);
/// Number of bytes of a probe, as many as a delta of many tasks has: an almost full disk refuses
/// it.
const PROBE_BYTES: usize = 64 * 1024;
/// Time to live of a probe.
const PROBE_TTL: Duration = Duration::from_secs(60);

/// One update of a followed run.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunUpdate {
    /// The run as of now.
    Snapshot(Box<Snapshot>),
    /// The gates, judged by the log so far.
    Gates(Vec<ThresholdResult>),
    /// A decision or a fact, as a line of the timeline.
    Story(StoryLine),
    /// The server answers but stores nothing of the run; contains its reason. It may recover.
    Unstored(String),
    /// The connection to the server is lost or restored, as a sentence; following continues.
    Connection(String),
    /// The run is over (sealed or refused); nothing follows.
    Sealed(bool),
    /// The log cannot be followed any more; nothing follows.
    Fault(String),
}

/// The settings of a reader of a run, in addition to the timeline.
#[derive(Debug, Clone, Copy)]
pub struct Detail {
    /// Interval between two snapshots.
    pub snapshot_interval: Duration,
    /// Whether the gates are judged while the run is in progress.
    pub gates: bool,
    /// Whether this reader changes the rate of a run that holds gates. Exactly one reader must.
    pub hold: bool,
}

impl Default for Detail {
    fn default() -> Self {
        Self {
            snapshot_interval: SNAPSHOT_INTERVAL,
            gates: false,
            hold: false,
        }
    }
}

/// Follows `run` until it is over and sends the updates in the order of the log.
#[must_use]
pub fn follow_run(
    bus: Bus,
    subjects: Subjects,
    run: RunId,
    detail: Detail,
) -> mpsc::Receiver<RunUpdate> {
    let (updates, receiver) = mpsc::channel(UPDATES_MAX);
    tokio::spawn(async move {
        let last = match Follower::new(bus, subjects, run, updates.clone()).await {
            Ok(follower) => follower.follow(detail).await,
            Err(fault) => Err(fault),
        };
        if let Err(fault) = last {
            // The receiver may be gone.
            let _ = updates.send(RunUpdate::Fault(fault.to_string())).await;
        }
    });
    receiver
}

/// Consecutive faults of one tail: the times of the first and the last.
#[derive(Debug, Clone, Copy)]
struct FaultStreak {
    first: Instant,
    last: Instant,
}

/// The step that a tail brought; `None` after a transient fault, which the tail retries.
///
/// # Errors
/// A permanent fault, or a streak of transient ones of [`UNREADABLE_TIMEOUT`].
fn step_or_retry(
    step: Result<Step, Fault>,
    fails: &mut Option<FaultStreak>,
    now: Instant,
) -> Result<Option<Step>, Fault> {
    let fault = match step {
        Ok(step) => {
            *fails = None;
            return Ok(Some(step));
        }
        Err(fault) => fault,
    };
    let begun = fails.filter(|known| now - known.last < SOUND_GAP_MIN);
    let first = begun.map_or(now, |known| known.first);
    *fails = Some(FaultStreak { first, last: now });
    let passes = matches!(fault, Fault::TimedOut { .. } | Fault::Server { .. });
    match passes && now - first < UNREADABLE_TIMEOUT {
        true => Ok(None),
        false => Err(fault),
    }
}

/// Whether a fault is about storage; the others concern the client's rights or connection.
fn is_no_storage(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::TimedOut { .. } | Fault::Server { .. } | Fault::Full { .. }
    )
}

/// Time without a stored record after which the server's storage is probed.
fn silence_timeout(tick_us: u64) -> Duration {
    SILENCE_TIMEOUT_MIN.max(Duration::from_micros(tick_us) * SILENT_TICKS)
}

struct Follower {
    bus: Bus,
    subjects: Subjects,
    updates: mpsc::Sender<RunUpdate>,
    /// Notified of each delta.
    has_grown: Arc<Notify>,
    control_tail: Tail,
    data_tail: Tail,
    log: ControlLog,
    control: Control,
    /// Sequence of the last record whose timeline line was sent.
    sent_seq: u64,
    workload: Option<Workload>,
    /// Whether a stop was seen.
    is_stopping: bool,
    live: LiveView,
    /// Sequence of the last delta in `live`.
    data_seq: u64,
    /// The current streak of faults of each tail.
    control_fails: Option<FaultStreak>,
    data_fails: Option<FaultStreak>,
    /// Arrival of the last stored record or of the last probe's result.
    stored_at: Instant,
    /// At most one probe; its result is the fault that prevents the server from storing, if any.
    probes: JoinSet<Option<Fault>>,
    /// Begin of the outage that the reader was notified of.
    known_outage: Option<Instant>,
}

impl Follower {
    async fn new(
        bus: Bus,
        subjects: Subjects,
        run: RunId,
        updates: mpsc::Sender<RunUpdate>,
    ) -> Result<Self, Fault> {
        let control = control_of(&subjects, &run);
        let data = vec![subjects.delta_all(&run)];
        let control_tail = retry_unreachable(|| bus.tail(Stream::Ctl, control.clone(), 1)).await?;
        let data_tail = retry_unreachable(|| bus.tail(Stream::Data, data.clone(), 1)).await?;
        let log = ControlLog::new(run);
        let control = log.close();
        Ok(Self {
            bus,
            subjects,
            updates,
            has_grown: Arc::new(Notify::new()),
            control_tail,
            data_tail,
            log,
            control,
            sent_seq: 0,
            workload: None,
            is_stopping: false,
            live: LiveView::default(),
            data_seq: 0,
            control_fails: None,
            data_fails: None,
            stored_at: Instant::now(),
            probes: JoinSet::new(),
            known_outage: None,
        })
    }

    async fn follow(mut self, detail: Detail) -> Result<(), Fault> {
        // Judging ends with following.
        let mut judging = JoinSet::new();
        if detail.gates || detail.hold {
            let session = Session::on(self.bus.clone(), self.subjects.clone());
            let (run, grown) = (self.control.run.clone(), Arc::clone(&self.has_grown));
            let updates = self.updates.clone();
            let judged = Judged {
                gates: detail.gates,
                hold: detail.hold,
            };
            judging.spawn(judge(session, run, grown, judged, move |gates| {
                // A reader that is behind gets the next judgement.
                let _ = updates.try_send(RunUpdate::Gates(gates));
            }));
        }
        let mut clock = tokio::time::interval(detail.snapshot_interval);
        // After a pause for a slow reader one snapshot is enough.
        clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            let updates = tokio::select! {
                step = self.control_tail.next() => {
                    let step = step_or_retry(step, &mut self.control_fails, Instant::now())?;
                    step.map_or_else(Vec::new, |step| self.on_control(step))
                }
                step = self.data_tail.next() => {
                    let step = step_or_retry(step, &mut self.data_fails, Instant::now())?;
                    step.and_then(|step| self.on_data(step)).into_iter().collect()
                }
                Some(probe) = self.probes.join_next() => self.on_probe(probe.ok().flatten()),
                _ = clock.tick() => {
                    self.probe();
                    self.connection().into_iter().chain(self.snapshot()).collect()
                }
            };
            for update in updates {
                if self.updates.send(update).await.is_err() {
                    return Ok(());
                }
            }
            if self.control.state.over {
                // A run that never started has nothing to show: a caller of the coordinator reads
                // its refusal from the first update.
                let has_started = self.control.state.start.is_some();
                let last = tokio::time::timeout(LAST_READ_TIMEOUT, self.read_rest()).await;
                if has_started
                    && let Ok(Ok(())) = last
                    && let Some(snapshot) = self.snapshot()
                {
                    let _ = self.updates.send(snapshot).await;
                }
                let _ = self.updates.send(RunUpdate::Sealed(true)).await;
                return Ok(());
            }
        }
    }

    fn on_control(&mut self, step: Step) -> Vec<RunUpdate> {
        self.stored_at = Instant::now();
        let Step::Event(stored) = step else {
            return Vec::new();
        };
        let Some(kind) = self.kind(&stored) else {
            return Vec::new();
        };
        self.log
            .add(&stored.subject, &kind, stored.seq, &stored.payload);
        let rates = self.control.state.steering.rates.len();
        self.log.catch_up(&mut self.control);
        let is_steered = self.control.state.steering.rates.len() != rates;
        if let Some(created) = self
            .control
            .state
            .created
            .as_ref()
            .filter(|_| self.workload.is_none() || is_steered)
        {
            let workload = Workload::new(&created.plan, created.seed);
            self.workload = Some(workload.steered(&self.control.state.steering.rates));
        }
        let lines = timeline::lines_after(&self.control, self.sent_seq);
        self.sent_seq = lines.last().map_or(self.sent_seq, |line| line.seq);
        // A stop is shown at once, so that its requester sees its effect.
        let is_new = !std::mem::replace(&mut self.is_stopping, self.control.state.stop.is_some());
        let stopping = self.snapshot().filter(|_| is_new && self.is_stopping);
        lines
            .into_iter()
            .map(RunUpdate::Story)
            .chain(stopping)
            .collect()
    }

    /// Adds the deltas that the seal covers and that have not arrived yet, so that the last
    /// snapshot contains the whole run.
    async fn read_rest(&mut self) -> Result<(), Fault> {
        let Some(last_seq) = self.control.sealed.as_ref().map(|sealed| sealed.data_seq) else {
            return Ok(());
        };
        let deltas = vec![self.subjects.delta_all(&self.control.run)];
        let mut tail = self
            .bus
            .tail(Stream::Data, deltas, self.data_seq + 1)
            .await?;
        while let Some(stored) = tail.next_stored().await? {
            if stored.seq > last_seq {
                break;
            }
            self.add(&stored);
        }
        Ok(())
    }

    /// Adds a delta. The first one that reports that no call reached a server is shown at once.
    fn on_data(&mut self, step: Step) -> Option<RunUpdate> {
        let was_unreached = self.live.is_unreached();
        self.stored_at = Instant::now();
        if let Step::Event(stored) = step {
            self.add(&stored);
            self.has_grown.notify_one();
        }
        let is_news = self.live.is_unreached() && !was_unreached;
        is_news.then(|| self.snapshot()).flatten()
    }

    fn add(&mut self, stored: &Stored) {
        if let Some(Kind::Delta(agent)) = self.kind(stored) {
            self.live.add(&agent, &stored.payload);
        }
        self.data_seq = stored.seq;
    }

    /// Probes the server's storage when agents should report and no record arrives.
    fn probe(&mut self) {
        let start = self.control.state.start.as_ref();
        let has_begun = start.is_some_and(|start| start.start_at < now());
        let created = self.control.state.created.as_ref();
        let silence = silence_timeout(created.map_or(0, |created| created.plan.tick_us));
        if !has_begun || self.stored_at.elapsed() < silence || !self.probes.is_empty() {
            return;
        }
        let (bus, key) = (self.bus.clone(), self.subjects.probe_key(&self.control.run));
        self.probes.spawn(async move {
            let filler = Bytes::from_static(&[0; PROBE_BYTES]);
            bus.kv_put(&key, filler.clone(), PROBE_TTL).await.err()?;
            // Without an answer the server is gone or frozen, which says nothing about its disk.
            // The second put rules out a server that was frozen during the first.
            bus.head(Stream::Data).await.ok()?;
            let refused = bus.kv_put(&key, filler, PROBE_TTL).await.err();
            refused.filter(is_no_storage)
        });
    }

    fn on_probe(&mut self, unstored: Option<Fault>) -> Vec<RunUpdate> {
        let silent_s = self.stored_at.elapsed().as_secs();
        self.stored_at = Instant::now();
        let update = |fault: Fault| {
            let what = format!("nothing of the run was stored for {silent_s} s, and the server");
            RunUpdate::Unstored(format!("{what} stores nothing else: {fault}"))
        };
        unstored.map(update).into_iter().collect()
    }

    /// Reports once that an outage continues, and once that it is over.
    fn connection(&mut self) -> Option<RunUpdate> {
        let what = match (self.bus.link(), self.known_outage) {
            (Link::Down { since }, None) if since.elapsed() >= OUTAGE_MIN => {
                let begin = since.into_std();
                self.known_outage = Some(begin);
                let why = self.bus.why_down();
                let why = why.map_or(String::new(), |why| format!(" (last attempt: {why})"));
                let outage_s = OUTAGE_MIN.as_secs();
                let what = format!("no connection to NATS for {outage_s} s{why}");
                format!("{what}; the figures follow once it is back")
            }
            (Link::Up { since }, Some(begin)) => {
                self.known_outage = None;
                let outage = since.into_std().saturating_duration_since(begin);
                format!("connected to NATS again after {} s", outage.as_secs())
            }
            _ => return None,
        };
        Some(RunUpdate::Connection(what))
    }

    fn snapshot(&self) -> Option<RunUpdate> {
        let workload = self.workload.as_ref()?;
        let snapshot = self.live.snapshot(&self.control, workload, now());
        Some(RunUpdate::Snapshot(Box::new(snapshot)))
    }

    fn kind(&self, stored: &Stored) -> Option<Kind> {
        self.subjects
            .parse(&stored.subject)
            .map(|subject| subject.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a command gives up its run while a cluster elects a leader, or waits for ever for
    /// a log that is gone.
    #[test]
    fn a_log_that_is_unreadable_for_a_while_is_retried() {
        let timed_out = || {
            let what = "read".to_owned();
            Err(Fault::TimedOut { what })
        };
        let begin = Instant::now();
        let at = |secs| begin + Duration::from_secs(secs);
        let mut fails = None;
        for secs in [0, 10, 20, 30, 40, 50, 59] {
            assert_eq!(
                step_or_retry(timed_out(), &mut fails, at(secs)),
                Ok(None),
                "{secs}"
            );
        }
        assert!(step_or_retry(timed_out(), &mut fails.clone(), at(60)).is_err());
        assert_eq!(
            step_or_retry(timed_out(), &mut fails.clone(), at(100)),
            Ok(None),
            "it was sound in between"
        );
        let read = step_or_retry(Ok(Step::CaughtUp), &mut fails, at(60));
        assert_eq!((read, fails.is_none()), (Ok(Some(Step::CaughtUp)), true));
        let gone = Err(Fault::Missing {
            stream: "LP_CTL".to_owned(),
        });
        assert!(step_or_retry(gone, &mut None, begin).is_err());
    }

    /// Broken if a run whose agents report once a minute is probed between two reports.
    #[test]
    fn silence_is_longer_than_a_tick() {
        assert_eq!(silence_timeout(1_000_000), Duration::from_secs(15));
        assert_eq!(silence_timeout(60_000_000), Duration::from_secs(180));
    }
}

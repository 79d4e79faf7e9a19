//! Replays a run that is over: the updates of [`super`] again, at the run's speed or another one.
//!
//! A record counts from its own time on, as in a report as of an instant ([`AsOf`]): at every
//! instant, the view shows the figures of the report as of that instant. Must never follow a run in
//! progress.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use loadpilot_bus::{Bus, Stored, Stream, Tail};
use loadpilot_engine::control::{Control, ControlLog, Parsed};
use loadpilot_engine::fold::as_of::{AsOf, DeltaOrder};
use loadpilot_engine::fold::project::Projection;
use loadpilot_engine::report::live::LiveView;
use loadpilot_engine::report::{report_without_series, timeline};
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::id::AgentId;
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::refusal::Problem;
use loadpilot_events::wire::subject::{Kind, Subjects};
use loadpilot_events::{RunId, Timestamp};
use tokio::sync::mpsc;

use super::{Detail, RunUpdate, UPDATES_MAX};
use crate::indexed_run::is_still_valid;
use crate::session::{Session, SessionError, retry_unreachable};

/// Maximum time of the run between two snapshots: a view draws its trend from one a second.
const STEP_MAX_US: u64 = 1_000_000;
/// Minimum time between two steps.
const PERIOD_MIN: Duration = Duration::from_micros(100);
/// Minimum pause after a judgement of the gates.
const PAUSE_MIN: Duration = Duration::from_millis(500);
/// Minimum pause after a judgement, as a multiple of its duration.
const PAUSE_FACTOR: u32 = 10;

/// How fast a run is replayed, and from where on.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Seconds of the run per second of the reader, above 0.
    pub speed: f64,
    /// First instant, in µs after the start of the run.
    pub from_us: u64,
}

impl Session {
    /// Replays a run: its timeline so far, then all updates to its end.
    ///
    /// # Errors
    /// When the log holds no such run, it never started or is not over; or a fault of the bus.
    pub async fn replay(
        &self,
        run: &RunId,
        detail: Detail,
        pace: Pace,
    ) -> Result<mpsc::Receiver<RunUpdate>, SessionError> {
        let replay = Replay::open(self, run).await?;
        let (updates, receiver) = mpsc::channel(UPDATES_MAX);
        tokio::spawn(async move {
            if let Err(fault) = replay.play(detail, pace, &updates).await {
                // The receiver may be gone.
                let _ = updates.send(RunUpdate::Fault(fault.to_string())).await;
            }
        });
        Ok(receiver)
    }
}

struct Replay {
    bus: Bus,
    subjects: Subjects,
    run: RunId,
    log: ControlLog,
    start_at: Timestamp,
    /// Time of the seal, in µs after the start.
    end_us: u64,
    /// Sequence of the last delta that the seal covers.
    last_seq: u64,
    deltas: Deltas,
    /// Number of records of the control side at the last step.
    records: usize,
    /// Sequences of the timeline lines that were sent.
    sent: BTreeSet<u64>,
    /// The workload of the plan.
    planned: Workload,
    /// The workload with the rate changes so far.
    workload: Workload,
    /// Number of these changes.
    rates: usize,
    live: LiveView,
    gates: Gates,
}

/// The deltas of the run in the order of their windows.
struct Deltas {
    order: DeltaOrder,
    tail: Tail,
    /// Sequence up to which the log was read.
    read_seq: u64,
    /// Deltas whose windows end later, by that end and their sequence.
    ahead: BTreeMap<(u64, u64), Stored>,
}

/// The fold by which gates are judged.
struct Gates {
    control: Control,
    data: Projection,
    /// Sequence of the last delta in it.
    data_seq: u64,
    /// When the next judgement may begin.
    due: Instant,
}

impl Replay {
    async fn open(session: &Session, run: &RunId) -> Result<Self, SessionError> {
        let (log, _) = session.control_log(run).await?;
        let control = log.close();
        let wrong = |rule: &str| SessionError::from(Problem::new("run", rule, run));
        let (state, sealed) = (&control.state, control.sealed.as_ref());
        let start = state.start.as_ref().zip(state.created.as_deref());
        let (start, created) = start.ok_or_else(|| wrong("must be a run that started"))?;
        let last_seq = sealed.ok_or_else(|| wrong("must be over"))?.data_seq;
        let planned = Workload::new(&created.plan, created.seed);
        let (bus, subjects) = session.parts();
        Ok(Self {
            run: run.clone(),
            start_at: start.start_at,
            end_us: sealed_at(&control).since_us(start.start_at),
            last_seq,
            deltas: Deltas::open(&bus, &subjects, (run, last_seq)).await?,
            records: 0,
            sent: BTreeSet::new(),
            workload: planned.clone(),
            planned,
            rates: 0,
            live: LiveView::default(),
            gates: Gates::new(control),
            bus,
            subjects,
            log,
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "a step is at most a second")]
    async fn play(
        mut self,
        detail: Detail,
        pace: Pace,
        updates: &mpsc::Sender<RunUpdate>,
    ) -> Result<(), SessionError> {
        let shown = detail.snapshot_interval.mul_f64(pace.speed);
        let step_us = u64::try_from((shown.as_nanos() + 500) / 1_000).unwrap_or(STEP_MAX_US);
        let step_us = step_us.clamp(1, STEP_MAX_US);
        let period = Duration::from_secs_f64(step_us as f64 / 1e6 / pace.speed);
        let mut clock = tokio::time::interval(period.max(PERIOD_MIN));
        let mut at_us = pace.from_us;
        loop {
            clock.tick().await;
            at_us = at_us.min(self.end_us);
            let is_end = at_us == self.end_us;
            for update in self.advance(at_us, detail.gates).await? {
                if updates.send(update).await.is_err() {
                    return Ok(());
                }
            }
            if is_end {
                let _ = updates.send(RunUpdate::Sealed(true)).await;
                return Ok(());
            }
            at_us += step_us;
        }
    }

    /// Continues to an instant; returns the updates since the previous one. At the end all records
    /// count.
    async fn advance(&mut self, us: u64, gates: bool) -> Result<Vec<RunUpdate>, SessionError> {
        let is_end = us == self.end_us;
        let then = AsOf::new(&self.log, us).filter(|_| !is_end);
        let control = then.map_or_else(|| self.log.close(), AsOf::into_control);
        let until_us = if is_end { u64::MAX } else { us };
        let due = self.deltas.until(until_us).await?;
        for stored in &due {
            if let Some(agent) = agent_of(&self.subjects, stored) {
                self.live.add(&agent, &stored.payload);
            }
        }
        let mut updates = self.story(&control);
        if gates {
            self.fold(&control, &due, until_us).await?;
            updates.extend(self.gates.judge(is_end));
        }
        if control.state.steering.rates.len() != self.rates {
            self.rates = control.state.steering.rates.len();
            self.workload = self.planned.clone().steered(&control.state.steering.rates);
        }
        let now = self.start_at.plus_us(us);
        let snapshot = self.live.snapshot(&control, &self.workload, now);
        updates.push(RunUpdate::Snapshot(Box::new(snapshot)));
        Ok(updates)
    }

    /// The lines of the timeline that were not sent.
    fn story(&mut self, control: &Control) -> Vec<RunUpdate> {
        if std::mem::replace(&mut self.records, control.records.len()) == control.records.len() {
            return Vec::new();
        }
        let mut lines = timeline::lines_after(control, 0);
        lines.retain(|line| self.sent.insert(line.seq));
        lines.into_iter().map(RunUpdate::Story).collect()
    }

    /// Adds the deltas that became due to the fold for the gates. The fold is begun again when
    /// deltas in it now count differently.
    async fn fold(
        &mut self,
        control: &Control,
        due: &[Stored],
        until_us: u64,
    ) -> Result<(), SessionError> {
        let gates = &mut self.gates;
        let before = std::mem::replace(&mut gates.control, control.clone());
        if is_still_valid(&gates.data, gates.data_seq, (&before, control)) {
            gates.add(&self.subjects, due);
            return Ok(());
        }
        (gates.data, gates.data_seq) = (Projection::default(), 0);
        let run = (&self.run, self.last_seq);
        let mut again = Deltas::open(&self.bus, &self.subjects, run).await?;
        gates.add(&self.subjects, &again.until(until_us).await?);
        Ok(())
    }
}

impl Deltas {
    /// Reads the log once for its order; the deltas are read again when they are due.
    async fn open(
        bus: &Bus,
        subjects: &Subjects,
        (run, last_seq): (&RunId, u64),
    ) -> Result<Self, SessionError> {
        let filter = vec![subjects.delta_all(run)];
        let mut order = DeltaOrder::default();
        let mut tail = retry_unreachable(|| bus.tail(Stream::Data, filter.clone(), 1)).await?;
        while let Some(stored) = tail.next_stored().await? {
            if stored.seq <= last_seq {
                order.add(stored.seq, &stored.payload);
            }
        }
        Ok(Self {
            order,
            tail: retry_unreachable(|| bus.tail(Stream::Data, filter.clone(), 1)).await?,
            read_seq: 0,
            ahead: BTreeMap::new(),
        })
    }

    /// The deltas whose windows end at or before an instant, and that were not returned yet.
    async fn until(&mut self, us: u64) -> Result<Vec<Stored>, SessionError> {
        let last_seq = self.order.last_seq(us);
        while self.read_seq < last_seq {
            let Some(stored) = self.tail.next_stored().await? else {
                break;
            };
            self.read_seq = stored.seq;
            let ended_us = DeltaOrder::ended_us(&stored.payload);
            self.ahead.insert((ended_us, stored.seq), stored);
        }
        let later = self.ahead.split_off(&(us.saturating_add(1), 0));
        let due = std::mem::replace(&mut self.ahead, later);
        Ok(due.into_values().collect())
    }
}

impl Gates {
    fn new(control: Control) -> Self {
        Self {
            control,
            data: Projection::default(),
            data_seq: 0,
            due: Instant::now(),
        }
    }

    fn add(&mut self, subjects: &Subjects, due: &[Stored]) {
        for stored in due {
            if let Some(agent) = agent_of(subjects, stored) {
                let (subject, payload) = (&stored.subject, &stored.payload);
                self.data
                    .add(&self.control, &agent, subject, stored.seq, payload);
            }
            self.data_seq = self.data_seq.max(stored.seq);
        }
    }

    /// The current state of the gates; `None` before a judgement is due.
    fn judge(&mut self, is_last: bool) -> Option<RunUpdate> {
        let begun = Instant::now();
        if begun < self.due && !is_last {
            return None;
        }
        let report = report_without_series(&self.control, &self.data).ok()?;
        self.due = Instant::now() + PAUSE_MIN.max(begun.elapsed() * PAUSE_FACTOR);
        Some(RunUpdate::Gates(report.verdict.thresholds))
    }
}

/// The agent that reported a delta.
fn agent_of(subjects: &Subjects, stored: &Stored) -> Option<AgentId> {
    match subjects.parse(&stored.subject)?.kind {
        Kind::Delta(agent) => Some(agent),
        _ => None,
    }
}

/// When the run was sealed, by the clock of its coordinator.
fn sealed_at(control: &Control) -> Timestamp {
    let records = control.records.iter().rev().map(|(_, parsed)| parsed);
    let mut sealed = records.filter_map(|parsed| match parsed {
        Parsed::Decision(envelope) => match envelope.event {
            Decision::RunSealed(_) => Some(envelope.at),
            _ => None,
        },
        _ => None,
    });
    sealed.next().unwrap_or_default()
}

//! From the start of a run to its last acknowledged delta: one loop over what may happen.
//!
//! Everything here is either a command that returns at once or a future that the loop polls
//! beside the others: it must never wait for one thing while another could be obeyed.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use loadpilot_bus::{AppendError, Appended, Stream};
use loadpilot_events::DropReason;
use loadpilot_events::log::delta::Totals;
use loadpilot_events::log::evt::{FailureCause, FinishReason, ShardsStarted, What};
use tokio::time::Instant;

use crate::bugs::{Bug, bug};
use crate::crash::spool::Spool;
use crate::fire::MonoTime;
use crate::process::shell::Shell;
use crate::process::sleep_until::sleep_until_opt;
use crate::runs::assignment::Assignment;
use crate::runs::cores::{Cores, Harvest};
use crate::runs::longest_timeout;
use crate::runs::prepare::Prepared;
use crate::runs::reports::{Reports, next_close, phase_us};
use crate::runs::run_commands::{RunCommands, Stop, When};

/// Timeout after a cancel; a thread that is busy then counts as hung.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// Counts are fetched this long after the start (µs), before the end of the first tick: a run whose
/// calls all fail to connect reports that at once.
const FIRST_LOOK_US: u64 = 500_000;

/// How it ended.
pub(super) enum Fired {
    /// All deltas are stored.
    Done {
        /// Why it stopped.
        reason: FinishReason,
        /// The last delta's number.
        last_seq: u64,
        /// What it counted.
        totals: Totals,
    },
    /// Threads died: what they had counted cannot be known, and was said so.
    Broken,
    /// It never began: the users of its scenario could not be prepared, which was said so.
    Unprepared,
    /// Nobody needs it any more.
    RunOver,
}

type Pending<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

/// How far the end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Arrivals are started.
    Pacing,
    /// Nothing is started; what is in flight may end.
    Draining { cancel_at: Instant },
    /// What is in flight was told to end.
    Cancelled { idle_by: Instant },
    /// No thread does anything; the last rows are still with the threads.
    Idle,
    /// The last rows are being fetched.
    LastHarvest,
    /// The last delta is closed.
    Closed,
}

struct Firing<'a> {
    shell: &'a Shell,
    task: &'a mut Assignment,
    cores: Arc<Cores>,
    prepared: &'a Prepared,
    start: MonoTime,
    reports: Reports,
    progress: Progress,
    reason: FinishReason,
    has_published_start: bool,
    broken: bool,
    refused: bool,
    close_at: MonoTime,
    /// When the first look is due, until it was taken.
    look_at: Option<MonoTime>,
    /// When the counts that are being fetched were asked for.
    asked_at: MonoTime,
    retry_at: Option<Instant>,
}

/// What woke the loop.
enum Wake {
    RunCommands(bool),
    Harvest(Box<Harvest>),
    Stored(Result<Appended, AppendError>),
    Idle,
    Alarm,
}

/// Fires from `start` on until all is over and stored.
pub(super) async fn fire(
    shell: &Shell,
    task: &mut Assignment,
    prepared: &Prepared,
    start: MonoTime,
    spool: Option<Spool>,
) -> Fired {
    let reports = Reports::new(shell, task.run.clone(), start, spool);
    let cores = prepared.cores.clone();
    cores.start(start, prepared.alignment.shown_at(start));
    let mut firing = Firing {
        shell,
        task,
        cores: cores.clone(),
        prepared,
        start,
        reports,
        progress: Progress::Pacing,
        reason: FinishReason::Completed,
        has_published_start: false,
        broken: false,
        refused: false,
        close_at: start,
        look_at: Some(start.plus_us(FIRST_LOOK_US)),
        asked_at: start,
        retry_at: None,
    };
    firing.schedule_close();
    firing.apply_commands();
    let fired = firing.run().await;
    if matches!(fired, Fired::RunOver) {
        cores.stop(DropReason::Stopped);
        cores.cancel();
    }
    fired
}

impl Firing<'_> {
    async fn run(&mut self) -> Fired {
        let mut idle: Pending<()> = Some(watch_idle(self.cores.clone()));
        let mut harvest: Pending<Harvest> = None;
        let mut append: Pending<Result<Appended, AppendError>> = None;
        loop {
            if self.task.commands.borrow().over() {
                return Fired::RunOver;
            }
            if self.progress == Progress::Closed && self.reports.all_stored() {
                return self.end();
            }
            self.begin_harvest(&mut harvest);
            if append.is_none() && self.retry_at.is_none() {
                append = self.send();
            }
            let alarm = self.alarm(harvest.is_none());
            let wake = tokio::select! {
                biased;
                changed = self.task.commands.changed() => Wake::RunCommands(changed.is_ok()),
                () = sleep_until_opt(alarm) => Wake::Alarm,
                () = finished(&mut idle) => Wake::Idle,
                sum = finished(&mut harvest) => Wake::Harvest(Box::new(sum)),
                stored = finished(&mut append) => Wake::Stored(stored),
            };
            match wake {
                Wake::RunCommands(true) => self.apply_commands(),
                Wake::RunCommands(false) => return Fired::RunOver,
                Wake::Alarm => self.on_time(),
                Wake::Idle => self.on_idle(),
                Wake::Harvest(sum) => self.on_harvest(*sum),
                Wake::Stored(stored) => self.on_stored(stored),
            }
        }
    }

    /// Acts upon the orders as they are now, and upon stops that have come due.
    fn apply_commands(&mut self) {
        let commands = self.task.commands.borrow_and_update().clone();
        self.cores.apply(&commands);
        let now = MonoTime::now();
        let due = self
            .stops(&commands)
            .into_iter()
            .filter(|(at, _)| *at <= now);
        let due: Vec<Stop> = due.map(|(_, stop)| stop).collect();
        if let (Progress::Pacing, Some(stop)) = (self.progress, due.first()) {
            self.stop(stop.reason, stop.drop);
        }
        if due.iter().any(|stop| stop.cancel) {
            self.cancel();
        }
    }

    /// Every stop with its instant, the earliest first. A takeover is none: what was due before it
    /// runs to its end.
    fn stops(&self, commands: &RunCommands) -> Vec<(MonoTime, Stop)> {
        let at = |stop: &Stop| match stop.when {
            When::Now => Some(MonoTime::from_ns(i64::MIN)),
            When::At(at) => Some(self.prepared.alignment.mono_of(at)),
            When::Takeover(_) => None,
        };
        let stops = commands.stops().into_iter();
        let mut stops: Vec<_> = stops.filter_map(|stop| Some((at(&stop)?, stop))).collect();
        stops.sort_by_key(|(at, _)| *at);
        stops
    }

    fn stop(&mut self, reason: FinishReason, drop: DropReason) {
        tracing::info!(run = %self.task.run, ?reason, "stops");
        self.cores.stop(drop);
        self.reason = reason;
        let drain_timeout =
            longest_timeout(&self.task.created.plan) + self.shell.timeouts.drain_slack;
        self.progress = Progress::Draining {
            cancel_at: Instant::now() + drain_timeout,
        };
        if reason == FinishReason::Isolated {
            self.task.publish_isolation();
        }
    }

    fn cancel(&mut self) {
        if let Progress::Pacing | Progress::Draining { .. } = self.progress {
            self.cores.cancel();
            self.progress = Progress::Cancelled {
                idle_by: Instant::now() + CANCEL_TIMEOUT,
            };
        }
    }

    fn on_time(&mut self) {
        let now = Instant::now();
        if !self.has_published_start && MonoTime::now() >= self.start {
            self.has_published_start = true;
            self.publish_started();
        }
        if self.retry_at.is_some_and(|at| at <= now) {
            self.retry_at = None;
        }
        self.apply_commands();
        match self.progress {
            Progress::Draining { cancel_at } if cancel_at <= now => self.cancel(),
            Progress::Cancelled { idle_by } if idle_by <= now => {
                self.on_threads_lost("its firing threads do not end".to_owned());
                self.progress = Progress::Idle;
            }
            _ => {}
        }
    }

    fn on_idle(&mut self) {
        if !self.closes_ticks() {
            return;
        }
        if self.progress == Progress::Pacing && self.task.commands.borrow().superseded {
            self.reason = FinishReason::Superseded;
        }
        self.progress = Progress::Idle;
    }

    /// A harvest is due at the end of each tick, and one more when all is quiet: a harvest that
    /// was under way by then may have missed the last rows.
    fn begin_harvest(&mut self, harvest: &mut Pending<Harvest>) {
        let cores = self.cores.clone();
        let idle = harvest.is_none();
        if self.progress == Progress::Idle && self.broken {
            self.progress = Progress::LastHarvest;
            *harvest = Some(Box::pin(async move {
                cores.harvest_living(CANCEL_TIMEOUT).await
            }));
        } else if harvest.is_none() && self.progress == Progress::Idle {
            self.progress = Progress::LastHarvest;
            *harvest = Some(Box::pin(async move { cores.harvest().await }));
        } else if harvest.is_none() && self.closes_ticks() && MonoTime::now() >= self.next_look() {
            *harvest = Some(Box::pin(async move { cores.harvest().await }));
        }
        if idle && harvest.is_some() {
            self.asked_at = MonoTime::now();
        }
    }

    /// When counts are to be fetched next.
    fn next_look(&self) -> MonoTime {
        self.look_at
            .map_or(self.close_at, |at| at.min(self.close_at))
    }

    /// Notes whether a call has reached a server; returns whether calls have finished and none did.
    fn record_reach(&self, sum: &Harvest) -> bool {
        let tick_us = self.task.created.plan.tick_us;
        let until_us = self.asked_at.since_us(self.start);
        let Ok(mut reach) = self.task.reach.lock() else {
            return false;
        };
        reach.add(&sum.rows, tick_us, until_us);
        reach.is_unreached()
    }

    fn closes_ticks(&self) -> bool {
        !matches!(
            self.progress,
            Progress::Idle | Progress::LastHarvest | Progress::Closed
        )
    }

    fn on_harvest(&mut self, sum: Harvest) {
        let marks = sum.marks.clone();
        let dead = sum.dead;
        let quiet = sum.figures.in_flight + sum.figures.waiting == 0;
        let in_vain = self.record_reach(&sum);
        self.reports.add(sum);
        if dead > 0 {
            self.on_threads_lost(format!("{dead} of its firing threads died"));
        }
        let now = MonoTime::now();
        if self.progress == Progress::LastHarvest {
            self.reports.close_last(now);
            self.cores.close(&marks);
            self.progress = Progress::Closed;
        } else {
            let only_looks = now < self.close_at && !in_vain;
            if !only_looks && self.reports.close(now) {
                self.cores.close(&marks);
            }
            self.look_at = None;
            self.schedule_close();
        }
        if quiet && self.progress == Progress::Pacing && self.is_taken_over(now) {
            self.stop(FinishReason::Superseded, DropReason::Stopped);
        }
    }

    /// Whether everything that is due from now on belongs to others. The threads pace until then
    /// and carry what they began to its end; only then is there nothing left to stop.
    fn is_taken_over(&self, now: MonoTime) -> bool {
        let tick_us = self.task.created.plan.tick_us;
        let begin = |tick: u32| self.start.plus_us(u64::from(tick).saturating_mul(tick_us));
        let stops = self.task.commands.borrow().stops();
        stops
            .iter()
            .any(|stop| matches!(stop.when, When::Takeover(tick) if begin(tick) <= now))
    }

    /// Threads do not answer any more: says so, and saves what the others have.
    fn on_threads_lost(&mut self, reason: String) {
        if self.broken {
            return;
        }
        self.broken = true;
        tracing::error!(run = %self.task.run, reason, "breaks down");
        self.task.publish_failure(FailureCause::Broken, reason);
        if let Progress::Pacing | Progress::Draining { .. } = self.progress {
            self.stop(FinishReason::Stopped, DropReason::Stopped);
            self.cancel();
        }
    }

    /// Sends the oldest delta that is not stored.
    fn send(&self) -> Pending<Result<Appended, AppendError>> {
        let delta = self.reports.front()?.clone();
        let bus = self.shell.bus.clone();
        let subject = self
            .shell
            .subjects
            .delta(&self.task.run, &self.shell.me.agent);
        Some(Box::pin(async move {
            bus.append(Stream::Data, &subject, &delta.msg_id, delta.payload)
                .await
        }))
    }

    fn on_stored(&mut self, stored: Result<Appended, AppendError>) {
        let timeouts = &self.shell.timeouts;
        let pause = match stored {
            Ok(_) => {
                self.reports.acknowledge();
                return;
            }
            Err(_) if bug(Bug::AckBeforeEffect) => return self.reports.acknowledge(),
            // It took its time already.
            Err(AppendError::Unknown) => return,
            Err(error @ (AppendError::Full { .. } | AppendError::TooLarge { .. })) => {
                self.on_refused(&error);
                timeouts.retry_slow
            }
            Err(error @ (AppendError::Conflict | AppendError::Fault(_))) => {
                tracing::debug!(run = %self.task.run, %error, "a delta waits");
                timeouts.retry
            }
        };
        self.retry_at = Some(Instant::now() + pause);
    }

    /// The log takes nothing more: firing on would make load that no report can show.
    fn on_refused(&mut self, error: &AppendError) {
        if self.refused {
            return;
        }
        self.refused = true;
        tracing::error!(run = %self.task.run, %error, "the log refuses deltas");
        let cause = match error {
            AppendError::Full { .. } => FailureCause::LogFull,
            _ => FailureCause::LogRefuses,
        };
        self.task.publish_failure(cause, error.to_string());
        if self.progress == Progress::Pacing {
            self.stop(FinishReason::Stopped, DropReason::Stopped);
        }
    }

    fn publish_started(&self) {
        let generation = self.task.commands.borrow().held_generation();
        if let Some(generation) = generation {
            self.task
                .publisher
                .publish(What::ShardsStarted(ShardsStarted { generation }));
        }
    }

    fn schedule_close(&mut self) {
        let tick_us = self.task.created.plan.tick_us;
        let phase_us = phase_us(&self.shell.me.agent, tick_us);
        self.close_at = next_close(self.start, tick_us, phase_us, MonoTime::now());
    }

    /// The next instant at which something is to be done by time alone.
    fn alarm(&self, may_harvest: bool) -> Option<Instant> {
        let commands = self.task.commands.borrow();
        let mut alarms: Vec<Option<Instant>> = vec![self.retry_at];
        if !self.has_published_start {
            alarms.push(Some(instant_of(self.start)));
        }
        if may_harvest && self.closes_ticks() {
            alarms.push(Some(instant_of(self.next_look())));
        }
        match self.progress {
            Progress::Pacing => {
                let next = self.stops(&commands).into_iter().next();
                alarms.push(next.map(|(at, _)| instant_of(at)));
            }
            Progress::Draining { cancel_at } => alarms.push(Some(cancel_at)),
            Progress::Cancelled { idle_by } => alarms.push(Some(idle_by)),
            Progress::Idle | Progress::LastHarvest | Progress::Closed => {}
        }
        alarms.into_iter().flatten().min()
    }

    fn end(&self) -> Fired {
        if self.broken {
            return Fired::Broken;
        }
        let (last_seq, totals) = self.reports.sums();
        Fired::Done {
            reason: self.reason,
            last_seq,
            totals,
        }
    }
}

fn watch_idle(cores: Arc<Cores>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move { cores.idle().await })
}

/// Waits for `pending`, for ever when there is none, and takes it away once it is done.
async fn finished<T>(pending: &mut Pending<T>) -> T {
    match pending {
        Some(future) => {
            let output = future.await;
            *pending = None;
            output
        }
        None => std::future::pending().await,
    }
}

/// The same instant on the runtime's clock; now for what lies in the past.
fn instant_of(at: MonoTime) -> Instant {
    Instant::now() + Duration::from_micros(at.since_us(MonoTime::now()))
}

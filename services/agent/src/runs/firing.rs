//! Fires a run, from its start to its last acknowledged delta: one loop over all events that wake
//! it.
//!
//! Each step is a call that returns at once, or a future that the loop polls beside the others. The
//! loop must never wait for one of them alone: it has to follow each command at once.

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

/// Delay of the first harvest after the start, in µs. It is shorter than a tick, so that a run
/// whose calls all fail to connect reports that at once.
const FIRST_HARVEST_US: u64 = 500_000;

/// End of firing.
pub(super) enum Fired {
    /// All deltas are stored.
    Done {
        /// Reason of the stop.
        reason: FinishReason,
        /// Number of the last delta.
        last_seq: u64,
        /// Totals of all deltas.
        totals: Totals,
    },
    /// Threads died, and their counts are unknown; `ShardsFailed` is published.
    Broken,
    /// The users of the scenario could not be prepared; `ShardsFailed` is published.
    Unprepared,
    /// The run is over.
    RunOver,
}

type Pending<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

/// Progress of the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Arrivals are started.
    Pacing,
    /// No arrival is started; calls in flight may end.
    Draining { cancel_at: Instant },
    /// Calls in flight are cancelled.
    Cancelled { idle_by: Instant },
    /// All threads are idle; the last rows are not fetched yet.
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
    /// Whether the threads ended with their lease, before the command to stop.
    is_idle: bool,
    broken: bool,
    refused: bool,
    close_at: MonoTime,
    /// Time of the first harvest; `None` after it.
    first_harvest_at: Option<MonoTime>,
    /// Start of the latest harvest.
    harvest_begun_at: MonoTime,
    retry_at: Option<Instant>,
}

/// Event that wakes the loop.
enum Wake {
    RunCommands(bool),
    Harvest(Box<Harvest>),
    Stored(Result<Appended, AppendError>),
    Idle,
    Alarm,
}

/// Fires from `start` until all deltas are stored.
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
        is_idle: false,
        broken: false,
        refused: false,
        close_at: start,
        first_harvest_at: Some(start.plus_us(FIRST_HARVEST_US)),
        harvest_begun_at: start,
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

    /// Applies the current commands, and stops that are due.
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

    /// Stops with their times, the earliest first. A takeover has no time: arrivals due before it
    /// continue to their end.
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
        self.progress = match self.is_idle {
            true => Progress::Idle,
            false => Progress::Draining {
                cancel_at: Instant::now() + drain_timeout,
            },
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
        if self.progress == Progress::Pacing {
            if self.task.lease.is_over(MonoTime::now()) {
                // The threads ended with their lease, which they check themselves. The command to
                // stop as isolated follows, and says so.
                self.is_idle = true;
                return;
            }
            if self.task.commands.borrow().superseded {
                self.reason = FinishReason::Superseded;
            }
        }
        self.progress = Progress::Idle;
    }

    /// Begins a harvest at the end of each tick, and a last one when all threads are idle: an
    /// earlier harvest may have missed the last rows.
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
        } else if harvest.is_none() && self.closes_ticks() && MonoTime::now() >= self.next_harvest()
        {
            *harvest = Some(Box::pin(async move { cores.harvest().await }));
        }
        if idle && harvest.is_some() {
            self.harvest_begun_at = MonoTime::now();
        }
    }

    /// Time of the next harvest.
    fn next_harvest(&self) -> MonoTime {
        self.first_harvest_at
            .map_or(self.close_at, |at| at.min(self.close_at))
    }

    /// Records whether a call has reached a server; returns whether calls have finished and none
    /// reached one.
    fn record_reach(&self, sum: &Harvest) -> bool {
        let tick_us = self.task.created.plan.tick_us;
        let until_us = self.harvest_begun_at.since_us(self.start);
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
        let is_quiet = sum.figures.in_flight + sum.figures.waiting == 0;
        let is_unreached = self.record_reach(&sum);
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
            let is_tick_over = now >= self.close_at;
            if (is_tick_over || is_unreached) && self.reports.close(now) {
                self.cores.close(&marks);
            }
            self.first_harvest_at = None;
            self.schedule_close();
        }
        if is_quiet && self.progress == Progress::Pacing && self.is_taken_over(now) {
            self.stop(FinishReason::Superseded, DropReason::Stopped);
        }
    }

    /// Whether the takeover tick has begun: arrivals due from now on belong to other agents. The
    /// threads pace until that tick and finish the arrivals that they began.
    fn is_taken_over(&self, now: MonoTime) -> bool {
        let tick_us = self.task.created.plan.tick_us;
        let begin = |tick: u32| self.start.plus_us(u64::from(tick).saturating_mul(tick_us));
        let stops = self.task.commands.borrow().stops();
        stops
            .iter()
            .any(|stop| matches!(stop.when, When::Takeover(tick) if begin(tick) <= now))
    }

    /// Threads have died: publishes that, and saves the counts of the other threads.
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

    /// Publishes the oldest delta that is not stored.
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
            // The attempt itself lasted long enough: no further delay.
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

    /// The log refuses deltas: stops, since no report could show any further load.
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

    /// The next time at which the loop must wake.
    fn alarm(&self, may_harvest: bool) -> Option<Instant> {
        let commands = self.task.commands.borrow();
        let mut alarms: Vec<Option<Instant>> = vec![self.retry_at];
        if !self.has_published_start {
            alarms.push(Some(instant_of(self.start)));
        }
        if may_harvest && self.closes_ticks() {
            alarms.push(Some(instant_of(self.next_harvest())));
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

/// Awaits `pending` and clears it; waits for ever if it is `None`.
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

/// The same time on the runtime's clock; the current time if it is in the past.
fn instant_of(at: MonoTime) -> Instant {
    Instant::now() + Duration::from_micros(at.since_us(MonoTime::now()))
}

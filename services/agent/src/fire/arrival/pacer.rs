//! The pacer: releases every arrival when it is due, never earlier and with little delay.
//!
//! It awaits only its timer, its commands and the wake-up of users that start earlier. No request,
//! no lock and no queue of the target may delay an arrival.

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use loadpilot_engine::schedule::rate_change::RateChange;
use loadpilot_engine::tally::Rows;
use loadpilot_engine::tally::crash_recovery::Watermark;
use loadpilot_events::Timestamp;
use loadpilot_events::log::outcome::DropReason;
use tokio::sync::{mpsc, oneshot};

use super::closed_loop::ClosedLoop;
use super::schedule_cursor::{CoreHold, ScheduleCursor};
use super::slots::Slots;
use super::users::hooks::Retired;
use crate::fire::allocator_tuning;
use crate::fire::arrival_id::{Arrival, ArrivalId};
use crate::fire::clock::timer::Timer;
use crate::fire::clock::{MonoTime, thread_cpu_us};
use crate::fire::http::wire::Wire;

/// Maximum number of arrivals released before I/O runs: enough to catch up fast, and few enough for
/// answers to wait some tens of µs at most.
const BATCH: usize = 64;

/// Time without use after which seats and connections of a burst are released, in µs: an agent's
/// memory follows its load and not the peak of its run.
const UNUSED_US: u64 = 60_000_000;

/// Minimum number of released seats and connections for which the allocator is asked to return
/// their memory.
const TRIM_FROM: usize = 256;

/// Commands of the agent to a core.
#[derive(Debug)]
pub(crate) enum Command {
    Hold(Vec<CoreHold>, Arc<[RateChange]>),
    Pause(bool),
    Start(MonoTime, Timestamp),
    Stop(DropReason),
    Cancel,
    Harvest(oneshot::Sender<Harvest>),
    Close(Watermark),
    /// Lets users clean up, then replies.
    Retire(oneshot::Sender<Retired>),
}

/// The counts of a core since the last harvest, and its state.
#[derive(Debug)]
pub struct Harvest {
    /// Counts since the last harvest.
    pub rows: Rows,
    /// Number of arrivals in flight.
    pub in_flight: u64,
    /// Number of arrivals waiting for a slot.
    pub waiting: u64,
    /// Age, from due, of the oldest arrival in flight or waiting, in µs.
    pub oldest_us: u64,
    /// Maximum lateness of the pacer for its own timer since the last harvest, in µs.
    pub stall_us: u64,
    /// CPU time of the thread in total, in µs.
    pub cpu_us: u64,
    /// Watermark up to which the ring holds the calls in the rows; `None` without a ring.
    pub mark: Option<Watermark>,
    /// Number of calls that found no room in the ring since the last harvest.
    pub unrecorded: u64,
}

/// Where arrivals come from.
pub(crate) enum Source {
    /// The plan's schedule.
    Schedule(ScheduleCursor),
    /// Users. The pacer releases their first iterations; the next ones follow without it.
    Users(Rc<ClosedLoop>),
}

impl Source {
    /// When the next arrival is to be released, in µs after the start.
    fn next_us(&self) -> Option<u64> {
        match self {
            Self::Schedule(cursor) => Some(cursor.head()?.due_us),
            Self::Users(closed_loop) => closed_loop.next_join_us(),
        }
    }

    /// The length of the run in µs. A feed can end a run early; a change of the rate moves that
    /// end.
    fn duration_us(&self) -> u64 {
        match self {
            Self::Schedule(cursor) => cursor.duration_us(),
            Self::Users(closed_loop) => closed_loop.duration_us(),
        }
    }

    /// Waits until [`Self::next_us`] becomes earlier for another reason than a command.
    async fn earlier(&self) {
        match self {
            Self::Schedule(_) => std::future::pending().await,
            Self::Users(closed_loop) => closed_loop.earlier().await,
        }
    }
}

/// The pacer of one core.
pub(crate) struct Pacer<W> {
    slots: Rc<Slots<W>>,
    source: Source,
    timer: Timer,
    armed: Option<MonoTime>,
    stopped_at: Option<MonoTime>,
    stall_us: u64,
    /// Number of released seats and connections whose memory the allocator may still hold.
    released: usize,
    /// Rows of a harvest whose receiver is gone.
    unclaimed: Rows,
    unclaimed_unrecorded: u64,
}

impl<W: Wire> Pacer<W> {
    pub(crate) fn new(slots: Rc<Slots<W>>, source: Source, timer: Timer) -> Self {
        Self {
            slots,
            source,
            timer,
            armed: None,
            stopped_at: None,
            stall_us: 0,
            released: 0,
            unclaimed: Rows::default(),
            unclaimed_unrecorded: 0,
        }
    }

    /// Paces until the sender of `commands` is dropped.
    ///
    /// # Errors
    /// The timer fails, which is not expected.
    pub(crate) async fn run(
        mut self,
        mut commands: mpsc::UnboundedReceiver<Command>,
    ) -> io::Result<()> {
        loop {
            let woken = MonoTime::now();
            self.record_stall(woken);
            if self.stopped_at.is_none()
                && let Some(reason) = self.slots.barred(woken)
            {
                self.stop(reason);
            }
            let more = self.release_batch();
            // One reading of the clock for both calls: with two readings, neither call would see an
            // end between them.
            let now = MonoTime::now();
            self.slots.drop_expired(now);
            self.update_pacing_done(now);
            if more {
                while let Ok(command) = commands.try_recv() {
                    self.handle(command);
                }
                tokio::task::yield_now().await;
                continue;
            }
            self.arm(now)?;
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(command) => self.handle(command),
                    None => return Ok(()),
                },
                fired = self.timer.fired() => fired?,
                () = self.source.earlier() => {}
            }
        }
    }

    fn handle(&mut self, command: Command) {
        match command {
            Command::Hold(holds, rates) => match &mut self.source {
                Source::Schedule(cursor) => cursor.replace(holds, &rates),
                Source::Users(closed_loop) => closed_loop.replace(holds),
            },
            Command::Pause(paused) => self.pause(paused),
            Command::Start(at, coordinator_time) => self.slots.start_at(at, coordinator_time),
            Command::Stop(reason) => self.stop(reason),
            Command::Cancel => {
                self.stop(DropReason::Stopped);
                self.slots.cancel();
            }
            Command::Close(mark) => self.slots.close(mark),
            Command::Retire(done) => {
                let slots = Rc::clone(&self.slots);
                tokio::task::spawn_local(async move {
                    // The sender of the command may have stopped waiting.
                    let _ = done.send(slots.retire().await);
                });
            }
            Command::Harvest(reply) => {
                // When the receiver is gone, the rows stay for the next harvest.
                let harvest = self.harvest();
                if let Err(unwanted) = reply.send(harvest) {
                    self.unclaimed = unwanted.rows;
                    self.unclaimed_unrecorded = unwanted.unrecorded;
                }
            }
        }
    }

    fn stop(&mut self, reason: DropReason) {
        let now = MonoTime::now();
        self.stopped_at.get_or_insert(now);
        if let Source::Users(closed_loop) = &self.source {
            closed_loop.close();
        }
        self.slots.stop(reason, now);
    }

    fn pause(&mut self, paused: bool) {
        if let Source::Users(closed_loop) = &self.source {
            closed_loop.pause(paused);
        }
        self.slots.pause(paused);
    }

    fn harvest(&mut self) -> Harvest {
        let now = MonoTime::now();
        self.record_stall(now);
        self.slots.drop_expired(now);
        self.release_idle(now.minus_us(UNUSED_US));
        let occupancy = self.slots.occupancy(now);
        let mut rows = std::mem::take(&mut self.unclaimed);
        let (more, epoch_end) = self.slots.take_rows();
        rows.merge(more);
        Harvest {
            rows,
            in_flight: occupancy.in_flight,
            waiting: occupancy.waiting,
            oldest_us: occupancy.oldest_us,
            stall_us: std::mem::take(&mut self.stall_us),
            cpu_us: thread_cpu_us(),
            mark: epoch_end.mark,
            unrecorded: std::mem::take(&mut self.unclaimed_unrecorded) + epoch_end.unrecorded,
        }
    }

    /// Releases seats and connections that no arrival has needed since `unused_since`, and later
    /// their memory.
    fn release_idle(&mut self, unused_since: MonoTime) {
        let count =
            self.slots.release_idle(unused_since) + self.slots.wire().close_idle(unused_since);
        self.released += count;
        if count == 0 && self.released >= TRIM_FROM {
            self.released = 0;
            allocator_tuning::trim();
        }
    }

    /// Releases the arrivals that are due, at most a batch; returns whether there may be more.
    fn release_batch(&mut self) -> bool {
        let Some(start) = self.slots.start() else {
            return false;
        };
        match &mut self.source {
            Source::Schedule(cursor) => release_due(&self.slots, cursor, start, self.stopped_at),
            Source::Users(closed_loop) => {
                let now = MonoTime::now();
                if now >= start {
                    for iteration in closed_loop.join(now.since_us(start)) {
                        self.slots.reach(Arrival::of_user(&iteration, now));
                    }
                }
                false
            }
        }
    }

    fn update_pacing_done(&self, now: MonoTime) {
        let until = self
            .stopped_at
            .map_or(now, |stopped_at| stopped_at.min(now));
        let pacing_done = match self.slots.start() {
            None => self.stopped_at.is_some(),
            Some(start) => {
                let over =
                    now >= start.plus_us(self.source.duration_us()) || self.stopped_at.is_some();
                let next = self.source.next_us();
                over && next.is_none_or(|next_us| start.plus_us(next_us) > until)
            }
        };
        self.slots.pacing_done(pacing_done);
    }

    /// Arms the timer for the next arrival, the end of a wait or the end of the run.
    fn arm(&mut self, now: MonoTime) -> io::Result<()> {
        let stopped = self.slots.stopped().is_some();
        let pacing = self.slots.start().filter(|_| !stopped);
        let next_us = self.source.next_us();
        let next = pacing.map(|start| start.plus_us(next_us.unwrap_or(self.source.duration_us())));
        // The end of the run needs the timer only while it lies in the future.
        let ended = next_us.is_none() && next.is_some_and(|at| at <= now);
        let next = next.filter(|_| !ended);
        let wanted = next.into_iter().chain(self.slots.next_expiry()).min();
        if wanted != self.armed {
            self.timer.arm(wanted)?;
            self.armed = wanted;
        }
        Ok(())
    }

    fn record_stall(&mut self, now: MonoTime) {
        if let Some(armed) = self.armed.take_if(|armed| *armed <= now) {
            self.stall_us = self.stall_us.max(now.since_us(armed));
        }
    }
}

/// Releases the arrivals that are due by now, at most a batch; returns whether there may be more.
fn release_due<W: Wire>(
    slots: &Rc<Slots<W>>,
    cursor: &mut ScheduleCursor,
    start: MonoTime,
    stopped_at: Option<MonoTime>,
) -> bool {
    for _ in 0..BATCH {
        let now = MonoTime::now();
        let until = stopped_at.map_or(now, |stopped_at| stopped_at.min(now));
        if until < start {
            return false;
        }
        let Some(due) = cursor.take_due(until.since_us(start)) else {
            return false;
        };
        let arrival = Arrival {
            id: ArrivalId::Planned(due.n),
            key: due.key,
            due: start.plus_us(due.due_us),
            reached: now,
            session: None,
        };
        if due.repeated {
            // It was released under a generation that was fenced before this core knew of that: it
            // is never sent twice.
            slots.drop_arrival(&arrival, DropReason::Late);
        } else {
            slots.reach(arrival);
        }
    }
    true
}

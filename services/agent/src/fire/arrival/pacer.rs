//! The pacer: releases every arrival when it is due, not before and hardly after.
//!
//! It must never await anything but its timer and its commands: no request, no lock, no queue of
//! the target's making may delay an arrival.

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use loadpilot_engine::schedule::rate_change::RateChange;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::Rows;
use loadpilot_engine::tally::crash_recovery::Watermark;
use loadpilot_events::Timestamp;
use loadpilot_events::log::outcome::DropReason;
use tokio::sync::{mpsc, oneshot};

use super::arrival_runner::{Arrival, Name};
use super::closed_loop::Roster;
use super::schedule_cursor::{CoreHold, Lanes};
use super::slots::Slots;
use crate::fire::clock::timer::Timer;
use crate::fire::clock::{MonoTime, thread_cpu_us};
use crate::fire::core::allocator_tuning;
use crate::fire::http::wire::Wire;

/// Arrivals released in one go before I/O gets its turn: enough to catch up fast, few enough that
/// answers are not kept waiting for more than some tens of µs.
const BATCH: usize = 64;

/// What a burst took, seats and connections, is given back when no arrival has needed it for so
/// long, in µs: an agent's memory is that of its load and not of the worst moment of its run.
const UNNEEDED_US: u64 = 60_000_000;

/// Seats and connections given back that are worth asking the allocator for their memory.
const TRIM_FROM: usize = 256;

/// What the shell tells a core.
#[derive(Debug)]
pub(crate) enum Command {
    Hold(Vec<CoreHold>, Arc<[RateChange]>),
    Pause(bool),
    Start(MonoTime, Timestamp),
    Stop(DropReason),
    Cancel,
    Harvest(oneshot::Sender<Harvest>),
    Close(Watermark),
    /// Lets users clean up, and says when they have.
    Retire(oneshot::Sender<()>),
}

/// What a core did since the last harvest, and how it stands.
#[derive(Debug)]
pub struct Harvest {
    /// What was counted since the last harvest.
    pub rows: Rows,
    /// Arrivals in flight.
    pub in_flight: u64,
    /// Arrivals waiting for a slot.
    pub waiting: u64,
    /// Age, from due, of the oldest arrival in flight or waiting, in µs.
    pub oldest_us: u64,
    /// The most by which the pacer was late for its own timer since the last harvest, in µs.
    pub stall_us: u64,
    /// CPU time that the thread has used in all, in µs.
    pub cpu_us: u64,
    /// Up to where its ring holds what is in the rows; `None` when it has none.
    pub mark: Option<Watermark>,
    /// Calls that found no room in the ring since the last harvest.
    pub unrecorded: u64,
}

/// Where arrivals come from.
pub(crate) enum Source {
    /// The plan's schedule.
    Schedule(Lanes),
    /// Users, for their first iterations; the next ones follow by themselves.
    Users(Rc<Roster>),
}

impl Source {
    /// When something is to be released next, in µs after the start.
    fn next_us(&self) -> Option<u64> {
        match self {
            Self::Schedule(lanes) => Some(lanes.head()?.due_us),
            Self::Users(roster) => roster.next_join_us(),
        }
    }

    /// Waits until that has become sooner by itself.
    async fn sooner(&self) {
        match self {
            Self::Schedule(_) => std::future::pending().await,
            Self::Users(roster) => roster.sooner().await,
        }
    }
}

/// The pacer of one core.
pub(crate) struct Pacer<W> {
    slots: Rc<Slots<W>>,
    source: Source,
    duration_us: u64,
    timer: Timer,
    armed: Option<MonoTime>,
    stopped_at: Option<MonoTime>,
    stall_us: u64,
    /// Seats and connections whose memory the allocator may still keep.
    given_back: usize,
    /// Rows of a harvest that its reader did not wait for.
    kept: Rows,
    kept_unrecorded: u64,
}

impl<W: Wire> Pacer<W> {
    pub(crate) fn new(
        slots: Rc<Slots<W>>,
        workload: &Workload,
        source: Source,
        timer: Timer,
    ) -> Self {
        Self {
            slots,
            source,
            duration_us: workload.duration_us(),
            timer,
            armed: None,
            stopped_at: None,
            stall_us: 0,
            given_back: 0,
            kept: Rows::default(),
            kept_unrecorded: 0,
        }
    }

    /// Paces until the other end of `commands` is dropped.
    ///
    /// # Errors
    /// When the timer fails, which it has no reason to.
    pub(crate) async fn run(
        mut self,
        mut commands: mpsc::UnboundedReceiver<Command>,
    ) -> io::Result<()> {
        loop {
            let woken = MonoTime::now();
            self.note_stall(woken);
            if self.stopped_at.is_none()
                && let Some(reason) = self.slots.barred(woken)
            {
                self.stop(reason);
            }
            let more = self.release_batch();
            // One moment for both: an end that came between them would be noted by neither.
            let now = MonoTime::now();
            self.slots.sweep(now);
            self.note_paced_out(now);
            if more {
                while let Ok(command) = commands.try_recv() {
                    self.obey(command);
                }
                tokio::task::yield_now().await;
                continue;
            }
            self.arm(now)?;
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(command) => self.obey(command),
                    None => return Ok(()),
                },
                fired = self.timer.fired() => fired?,
                () = self.source.sooner() => {}
            }
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Hold(holds, rates) => match &mut self.source {
                Source::Schedule(lanes) => lanes.replace(holds, &rates),
                Source::Users(roster) => roster.replace(holds),
            },
            Command::Pause(paused) => self.pause(paused),
            Command::Start(at, shown) => self.slots.start_at(at, shown),
            Command::Stop(reason) => self.stop(reason),
            Command::Cancel => {
                self.stop(DropReason::Stopped);
                self.slots.cancel();
            }
            Command::Close(mark) => self.slots.close(mark),
            Command::Retire(done) => {
                let slots = Rc::clone(&self.slots);
                tokio::task::spawn_local(async move {
                    slots.retire().await;
                    // Whoever asked may have lost patience.
                    let _ = done.send(());
                });
            }
            Command::Harvest(reply) => {
                // When nobody waits for it any more, the rows stay for the next one.
                let harvest = self.harvest();
                if let Err(unwanted) = reply.send(harvest) {
                    self.kept = unwanted.rows;
                    self.kept_unrecorded = unwanted.unrecorded;
                }
            }
        }
    }

    fn stop(&mut self, reason: DropReason) {
        let now = MonoTime::now();
        self.stopped_at.get_or_insert(now);
        if let Source::Users(roster) = &self.source {
            roster.close();
        }
        self.slots.stop(reason, now);
    }

    fn pause(&mut self, paused: bool) {
        if let Source::Users(roster) = &self.source {
            roster.pause(paused);
        }
        self.slots.pause(paused);
    }

    fn harvest(&mut self) -> Harvest {
        let now = MonoTime::now();
        self.note_stall(now);
        self.slots.sweep(now);
        self.give_back(now.minus_us(UNNEEDED_US));
        let filling = self.slots.filling(now);
        let mut rows = std::mem::take(&mut self.kept);
        let (more, turned) = self.slots.take_rows();
        rows.merge(more);
        Harvest {
            rows,
            in_flight: filling.in_flight,
            waiting: filling.waiting,
            oldest_us: filling.oldest_us,
            stall_us: std::mem::take(&mut self.stall_us),
            cpu_us: thread_cpu_us(),
            mark: turned.mark,
            unrecorded: std::mem::take(&mut self.kept_unrecorded) + turned.unrecorded,
        }
    }

    /// Gives back what no arrival has needed since, and in the end its memory.
    fn give_back(&mut self, unneeded: MonoTime) {
        let count = self.slots.give_back(unneeded) + self.slots.wire().tidy(unneeded);
        self.given_back += count;
        if count == 0 && self.given_back >= TRIM_FROM {
            self.given_back = 0;
            allocator_tuning::trim();
        }
    }

    /// Releases what is due, at most a batch of it; says whether there may be more.
    fn release_batch(&mut self) -> bool {
        let Some(start) = self.slots.start() else {
            return false;
        };
        match &mut self.source {
            Source::Schedule(lanes) => release_due(&self.slots, lanes, start, self.stopped_at),
            Source::Users(roster) => {
                let now = MonoTime::now();
                if now >= start {
                    for iteration in roster.join(now.since_us(start)) {
                        self.slots.reach(Arrival::of_user(&iteration, now));
                    }
                }
                false
            }
        }
    }

    fn note_paced_out(&self, now: MonoTime) {
        let until = self
            .stopped_at
            .map_or(now, |stopped_at| stopped_at.min(now));
        let paced_out = match self.slots.start() {
            None => self.stopped_at.is_some(),
            Some(start) => {
                let over = now >= start.plus_us(self.duration_us) || self.stopped_at.is_some();
                let next = self.source.next_us();
                over && next.is_none_or(|next_us| start.plus_us(next_us) > until)
            }
        };
        self.slots.paced_out(paced_out);
    }

    /// Arms the timer for whatever comes next: an arrival, the end of a wait, the end of the run.
    fn arm(&mut self, now: MonoTime) -> io::Result<()> {
        let stopped = self.slots.stopped().is_some();
        let pacing = self.slots.start().filter(|_| !stopped);
        let next_us = self.source.next_us();
        let next = pacing.map(|start| start.plus_us(next_us.unwrap_or(self.duration_us)));
        // The end of the run is an alarm only while it is ahead.
        let ended = next_us.is_none() && next.is_some_and(|at| at <= now);
        let next = next.filter(|_| !ended);
        let wanted = next.into_iter().chain(self.slots.next_sweep()).min();
        if wanted != self.armed {
            self.timer.arm(wanted)?;
            self.armed = wanted;
        }
        Ok(())
    }

    fn note_stall(&mut self, now: MonoTime) {
        if let Some(armed) = self.armed.take_if(|armed| *armed <= now) {
            self.stall_us = self.stall_us.max(now.since_us(armed));
        }
    }
}

/// Releases what is due by now, at most a batch of it; says whether there may be more.
fn release_due<W: Wire>(
    slots: &Rc<Slots<W>>,
    lanes: &mut Lanes,
    start: MonoTime,
    stopped_at: Option<MonoTime>,
) -> bool {
    for _ in 0..BATCH {
        let now = MonoTime::now();
        let until = stopped_at.map_or(now, |stopped_at| stopped_at.min(now));
        if until < start {
            return false;
        }
        let Some(owned) = lanes.take_due(until.since_us(start)) else {
            return false;
        };
        let arrival = Arrival {
            name: Name::Planned(owned.n),
            key: owned.key,
            due: start.plus_us(owned.due_us),
            reached: now,
        };
        if owned.repeated {
            // It went out under a generation that was fenced before we knew: never twice.
            slots.drop_arrival(&arrival, DropReason::Late);
        } else {
            slots.reach(arrival);
        }
    }
    true
}

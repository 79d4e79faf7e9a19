//! The slots for arrivals in flight, and the queue of arrivals that found no free slot.
//!
//! A slot is a seat: a task of the runtime that performs one arrival after another. At most
//! `max_in_flight` arrivals hold a slot, and at most as many as the connections carry: an arrival
//! that waits for a connection waits here, where the wait counts as queue. Must never start
//! anything after a stop.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use loadpilot_engine::tally::Rows;
use loadpilot_engine::tally::crash_recovery::Watermark;
use loadpilot_events::Timestamp;
use loadpilot_events::log::outcome::DropReason;
use tokio::sync::watch;

use crate::bugs::{Bug, bug};

use super::arrival_runner::ArrivalRunner;
use super::closed_loop::{ClosedLoop, Iteration};
use super::users::hooks::Retired;
use super::users::virtual_users::{VirtualUsers, VirtualUsersSetup};
use crate::fire::arrival_id::{Arrival, ArrivalId};
use crate::fire::clock::MonoTime;
use crate::fire::http::wire::Wire;
use crate::fire::journal::ring::EpochEnd;
use crate::fire::request::scratch::Scratch;

/// Limits of arrivals.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotLimits {
    /// Maximum number in flight.
    pub max_in_flight: usize,
    /// Maximum wait for a slot, in µs from due.
    pub max_wait_us: u64,
    /// Maximum lateness, in µs after due, at which an arrival that the pacer reaches is still
    /// started.
    pub max_lateness_us: u64,
    /// Reason of a drop after the maximum wait.
    pub no_slot_reason: DropReason,
}

/// The arrivals of one core that are in flight or waiting.
pub(crate) struct Slots<W> {
    runner: ArrivalRunner<W>,
    limits: SlotLimits,
    /// The users that perform arrivals in Python, once prepared; absent for a compiled plan.
    virtual_users: OnceCell<Rc<VirtualUsers>>,
    /// The users of a closed loop; `None` when arrivals come from a schedule.
    closed_loop: Option<Rc<ClosedLoop>>,
    /// The instant of due 0.
    start: Cell<Option<MonoTime>>,
    /// The seats: as many as were needed at the same time in the recent past.
    seats: RefCell<Vec<Rc<Seat>>>,
    /// Free seats, each with the time since when it is free. Last in, first out: at a low rate few
    /// seats, and so few connections, do all the work.
    free: RefCell<Vec<(Rc<Seat>, MonoTime)>>,
    /// First in, first out; its length is bounded by rate × `max_wait`.
    waiting: RefCell<VecDeque<Arrival>>,
    paused: Cell<bool>,
    pacing_done: Cell<bool>,
    idle: watch::Sender<bool>,
}

/// One slot, and the arrival in it.
#[derive(Debug, Default)]
struct Seat {
    /// The arrival in flight.
    arrival: Cell<Option<Arrival>>,
    /// When it was dispatched, until it has begun.
    dispatched: Cell<Option<MonoTime>>,
    waker: RefCell<Option<Waker>>,
    /// Whether it gets no further arrival.
    is_released: Cell<bool>,
}

/// Numbers of arrivals in flight and waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Occupancy {
    pub in_flight: u64,
    pub waiting: u64,
    /// Age, from due, of the oldest arrival in flight or waiting, in µs.
    pub oldest_us: u64,
}

impl Seat {
    fn assign(&self, arrival: Arrival, dispatched: MonoTime) {
        self.arrival.set(Some(arrival));
        self.dispatched.set(Some(dispatched));
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// The next arrival, and when it was dispatched; `None` when no more will come.
    fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<(Arrival, MonoTime)>> {
        // The waker is also needed while the arrival is in flight, to cancel it.
        match &mut *self.waker.borrow_mut() {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        match self.arrival.get().zip(self.dispatched.take()) {
            Some(next) => Poll::Ready(Some(next)),
            None if self.is_released.get() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl Arrival {
    /// An iteration that begins at `now`, which is also when it is due.
    pub(crate) fn of_user(iteration: &Iteration, now: MonoTime) -> Self {
        Self {
            id: ArrivalId::Iteration {
                user: iteration.user,
                k: iteration.k,
            },
            key: iteration.key,
            due: now,
            reached: now,
            session: iteration.session,
        }
    }
}

impl<W: Wire> Slots<W> {
    pub(crate) fn new(
        runner: ArrivalRunner<W>,
        limits: SlotLimits,
        closed_loop: Option<Rc<ClosedLoop>>,
        idle: watch::Sender<bool>,
    ) -> Self {
        Self {
            runner,
            limits,
            virtual_users: OnceCell::new(),
            closed_loop,
            start: Cell::new(None),
            seats: RefCell::default(),
            free: RefCell::default(),
            waiting: RefCell::default(),
            paused: Cell::new(false),
            pacing_done: Cell::new(false),
            idle,
        }
    }

    /// Loads the scenario and prepares its users on this core.
    ///
    /// # Errors
    /// The reason why the run cannot begin, for the author of the scenario.
    pub(crate) async fn prepare_users(&self, setup: &VirtualUsersSetup) -> Result<(), String> {
        let loaded = VirtualUsers::load(setup, self.closed_loop.is_some());
        let virtual_users = loaded.map_err(|why| self.runner.redact(&why))?;
        let prepared = self
            .runner
            .prepare(self.virtual_users.get_or_init(|| Rc::new(virtual_users)))
            .await;
        if prepared.is_err() {
            // The reason of the failed preparation is reported; this error is in the log.
            drop(self.retire().await);
        }
        prepared
    }

    /// Lets the users clean up; they perform nothing after it.
    pub(crate) async fn retire(&self) -> Retired {
        match self.virtual_users.get() {
            Some(virtual_users) => self.runner.retire(virtual_users).await,
            None => Retired::default(),
        }
    }

    pub(crate) fn wire(&self) -> &W {
        self.runner.wire()
    }

    pub(crate) fn start(&self) -> Option<MonoTime> {
        self.start.get()
    }

    pub(crate) fn start_at(&self, start: MonoTime, coordinator_time: Timestamp) {
        self.start.set(Some(start));
        self.runner.start_at(start, coordinator_time);
    }

    pub(crate) fn stopped(&self) -> Option<DropReason> {
        self.runner.stopped()
    }

    /// The reason why nothing may be started at `now`, if there is one.
    pub(crate) fn barred(&self, now: MonoTime) -> Option<DropReason> {
        self.runner.barred(now)
    }

    /// Takes an arrival from the pacer: starts it, queues it or drops it.
    pub(crate) fn reach(self: &Rc<Self>, arrival: Arrival) {
        let late = arrival.reached.since_us(arrival.due) > self.limits.max_lateness_us;
        if late && !bug(Bug::BurstOnResume) {
            return self.drop_arrival(&arrival, DropReason::Late);
        }
        let paused = self.paused.get().then_some(DropReason::Paused);
        if let Some(reason) = self.barred(arrival.reached).or(paused) {
            return self.drop_arrival(&arrival, reason);
        }
        self.waiting.borrow_mut().push_back(arrival);
        self.fill_seats(arrival.reached);
    }

    /// Counts an arrival that will never start.
    pub(crate) fn drop_arrival(&self, arrival: &Arrival, reason: DropReason) {
        self.runner.drop_arrival(arrival, reason);
    }

    /// Drops arrivals at the head of the queue whose wait is over. Their users in a closed loop
    /// queue up again behind the others.
    pub(crate) fn drop_expired(&self, now: MonoTime) {
        while let Some(arrival) = self.pop_waiting(|head| self.has_expired(head, now)) {
            self.drop_arrival(&arrival, self.limits.no_slot_reason);
            let next = self.follow(&arrival, now);
            self.waiting.borrow_mut().extend(next);
        }
        self.update_idle();
    }

    /// When the wait of the arrival at the head of the queue is over.
    pub(crate) fn next_expiry(&self) -> Option<MonoTime> {
        let waiting = self.waiting.borrow();
        let head = waiting.front()?;
        Some(head.due.plus_us(self.limits.max_wait_us))
    }

    /// Ends all dispatching; drops the queue for `reason`. The first stop counts.
    pub(crate) fn stop(&self, reason: DropReason, now: MonoTime) {
        if self.runner.stopped().is_some() {
            return;
        }
        self.drop_expired(now);
        self.runner.stop(reason);
        while let Some(arrival) = self.pop_waiting(|_| true) {
            self.drop_arrival(&arrival, reason);
        }
        // Resting users need not wait any longer.
        self.seats.borrow().iter().for_each(|seat| seat.wake());
        self.update_idle();
    }

    /// While `paused` no arrival is started, and the queue is dropped at once.
    pub(crate) fn pause(&self, paused: bool) {
        self.paused.set(paused);
        if !paused {
            return;
        }
        let now = MonoTime::now();
        self.drop_expired(now);
        while let Some(arrival) = self.pop_waiting(|_| true) {
            self.drop_arrival(&arrival, DropReason::Paused);
            // A user of a closed loop leaves the queue here, and joins again after the pause.
            let next = self.follow(&arrival, now);
            debug_assert!(next.is_none(), "no user goes on in a pause");
        }
        self.update_idle();
    }

    /// Ends all calls in flight as cancelled. The caller must have stopped dispatching before.
    pub(crate) fn cancel(&self) {
        self.runner.cancel();
        self.seats.borrow().iter().for_each(|seat| seat.wake());
    }

    /// Ends the seats that have been free since before `unused_since`; returns their number.
    pub(crate) fn release_idle(&self, unused_since: MonoTime) -> usize {
        let mut free = self.free.borrow_mut();
        let spare = free.partition_point(|(_, since)| *since < unused_since);
        if spare == 0 {
            return 0;
        }
        for (seat, _) in free.drain(..spare) {
            seat.is_released.set(true);
            seat.wake();
        }
        let mut seats = self.seats.borrow_mut();
        seats.retain(|seat| !seat.is_released.get());
        spare
    }

    /// Sets whether the pacer has nothing more to release.
    pub(crate) fn pacing_done(&self, pacing_done: bool) {
        self.pacing_done.set(pacing_done);
        self.update_idle();
    }

    /// Rows since the last harvest, and the watermark up to which the ring holds their records.
    ///
    /// # Panics
    /// An arrival's task panicked: the rows would lack its calls.
    pub(crate) fn take_rows(&self) -> (Rows, EpochEnd) {
        self.runner.take_rows()
    }

    /// The records up to `mark` are in a delta: the ring may reuse their space.
    pub(crate) fn close(&self, mark: Watermark) {
        self.runner.close(mark);
    }

    pub(crate) fn occupancy(&self, now: MonoTime) -> Occupancy {
        let (seats, waiting) = (self.seats.borrow(), self.waiting.borrow());
        let in_flight = seats.iter().filter_map(|seat| seat.arrival.get());
        let oldest = in_flight.chain(waiting.front().copied());
        let oldest = oldest.map(|arrival| arrival.due).min();
        Occupancy {
            in_flight: self.in_flight() as u64,
            waiting: waiting.len() as u64,
            oldest_us: oldest.map_or(0, |due| now.since_us(due)),
        }
    }

    fn in_flight(&self) -> usize {
        self.seats.borrow().len() - self.free.borrow().len()
    }

    fn has_expired(&self, arrival: &Arrival, now: MonoTime) -> bool {
        now.since_us(arrival.due) >= self.limits.max_wait_us
    }

    fn pop_waiting(&self, wanted: impl FnOnce(&Arrival) -> bool) -> Option<Arrival> {
        let mut waiting = self.waiting.borrow_mut();
        if !waiting.front().is_some_and(wanted) {
            return None;
        }
        waiting.pop_front()
    }

    /// Assigns free seats to the arrivals at the head of the queue.
    fn fill_seats(self: &Rc<Self>, now: MonoTime) {
        while !self.waiting.borrow().is_empty() && self.barred(now).is_none() {
            let Some(seat) = self.free_seat() else {
                return;
            };
            if let Some(arrival) = self.pop_waiting(|_| true) {
                seat.assign(arrival, now);
            }
        }
    }

    fn free_seat(self: &Rc<Self>) -> Option<Rc<Seat>> {
        if self.in_flight() >= self.runner.wire().calls_max() {
            return None;
        }
        if let Some((seat, _)) = self.free.borrow_mut().pop() {
            return Some(seat);
        }
        let mut seats = self.seats.borrow_mut();
        if seats.len() >= self.limits.max_in_flight {
            return None;
        }
        let seat = Rc::new(Seat::default());
        seats.push(Rc::clone(&seat));
        let (slots, own) = (Rc::clone(self), Rc::clone(&seat));
        // Two kinds of tasks: a common one would always have the size that Python needs.
        match self.virtual_users.get().cloned() {
            None => tokio::task::spawn_local(slots.serve(own, ArrivalRunner::perform)),
            Some(virtual_users) => tokio::task::spawn_local(slots.serve(
                own,
                async move |runner: &ArrivalRunner<W>,
                            arrival: &Arrival,
                            dispatched,
                            scratch: &mut Scratch| {
                    runner
                        .perform_script(&virtual_users, arrival, dispatched, scratch)
                        .await
                },
            )),
        };
        Some(seat)
    }

    /// Performs the arrivals assigned to a seat, until the seat is released.
    async fn serve<P>(self: Rc<Self>, seat: Rc<Seat>, perform: P)
    where
        P: AsyncFn(&ArrivalRunner<W>, &Arrival, MonoTime, &mut Scratch) -> MonoTime,
    {
        let _guard = self.runner.guard();
        let mut scratch = self.runner.new_scratch();
        while let Some(next) = poll_fn(|cx| seat.poll_next(cx)).await {
            let (mut arrival, mut dispatched) = next;
            let end = loop {
                let end = perform(&self.runner, &arrival, dispatched, &mut scratch).await;
                let Some(next) = self.follow(&arrival, end) else {
                    break end;
                };
                if self.is_crowded() {
                    self.waiting.borrow_mut().push_back(next);
                    break end;
                }
                (arrival, dispatched) = (next, end);
                seat.arrival.set(Some(next));
                // Without it, calls that fail at once would prevent the pacer from reading its
                // commands.
                tokio::task::consume_budget().await;
            };
            self.vacate(&seat, end);
            tokio::task::consume_budget().await;
        }
        self.runner.release_scratch(scratch);
    }

    /// The next arrival of a closed-loop user whose arrival ended at `end`.
    fn follow(&self, arrival: &Arrival, end: MonoTime) -> Option<Arrival> {
        let (Some(closed_loop), ArrivalId::Iteration { user, .. }) =
            (&self.closed_loop, arrival.id)
        else {
            return None;
        };
        let start = self.start.get().filter(|_| self.barred(end).is_none())?;
        let next = closed_loop.follow(user, end.since_us(start))?;
        Some(Arrival::of_user(&next, end))
    }

    /// Whether a user has to queue up again: others wait for a seat, or the connections now carry
    /// fewer calls.
    fn is_crowded(&self) -> bool {
        !self.waiting.borrow().is_empty() || self.in_flight() > self.runner.wire().calls_max()
    }

    /// Frees a seat at `now`, for the head of the queue or a later arrival.
    fn vacate(self: &Rc<Self>, seat: &Rc<Seat>, now: MonoTime) {
        seat.arrival.set(None);
        self.free.borrow_mut().push((Rc::clone(seat), now));
        if !self.waiting.borrow().is_empty() {
            let now = MonoTime::now();
            self.drop_expired(now);
            self.fill_seats(now);
        }
        self.update_idle();
    }

    fn update_idle(&self) {
        if !self.pacing_done.get() && !*self.idle.borrow() {
            return;
        }
        let empty = self.in_flight() == 0 && self.waiting.borrow().is_empty();
        let idle = self.pacing_done.get() && empty;
        self.idle
            .send_if_modified(|was| std::mem::replace(was, idle) != idle);
    }
}

#[cfg(test)]
mod tests;

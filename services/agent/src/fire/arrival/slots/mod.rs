//! Who may start: the slots for arrivals in flight, and the queue for those that found none.
//!
//! A slot is a seat: a task of the runtime that performs one arrival after another. Must never let
//! more than `max_in_flight` arrivals hold a slot, nor more than the connections carry: who waits
//! for a connection waits here, where it counts as queue. Must never start anything after a stop.

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

use super::arrival_runner::{Arrival, Calls, Name};
use super::closed_loop::{Iteration, Roster};
use super::users::virtual_users::{Crew, Troupe};
use crate::fire::clock::MonoTime;
use crate::fire::http::wire::Wire;
use crate::fire::journal::ring::Turned;
use crate::fire::request::scratch::Kit;

/// What arrivals are allowed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Most arrivals in flight.
    pub max_in_flight: usize,
    /// Longest wait for a slot, in µs from due.
    pub max_wait_us: u64,
    /// Latest that the pacer may reach an arrival, in µs after its due.
    pub max_lateness_us: u64,
    /// What they lack who waited in vain.
    pub lacking: DropReason,
}

/// The arrivals of one core that are in flight or waiting, and what became of the others.
pub(crate) struct Slots<W> {
    calls: Calls<W>,
    rules: Rules,
    /// Who performs arrivals in Python, once they are there; nobody when the plan is compiled.
    crew: OnceCell<Rc<Crew>>,
    /// Who goes on after an arrival; `None` when arrivals come from a schedule.
    roster: Option<Rc<Roster>>,
    /// The instant of due 0.
    start: Cell<Option<MonoTime>>,
    /// As many as were needed at once of late.
    seats: RefCell<Vec<Rc<Seat>>>,
    /// Those that are free, and since when. Last in, first out: few seats, and few connections, do
    /// the work of a low rate.
    free: RefCell<Vec<(Rc<Seat>, MonoTime)>>,
    /// First in, first out; its length is bounded by rate × `max_wait`.
    waiting: RefCell<VecDeque<Arrival>>,
    paused: Cell<bool>,
    paced_out: Cell<bool>,
    idle: watch::Sender<bool>,
}

/// One slot, and the arrival in it.
#[derive(Debug, Default)]
struct Seat {
    /// The arrival in flight.
    held: Cell<Option<Arrival>>,
    /// When it was dispatched, until it has begun.
    dispatched: Cell<Option<MonoTime>>,
    waker: RefCell<Option<Waker>>,
    /// Nobody will sit here again.
    given_back: Cell<bool>,
}

/// How full it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Filling {
    pub in_flight: u64,
    pub waiting: u64,
    /// Age, from due, of the oldest arrival in flight or waiting, in µs.
    pub oldest_us: u64,
}

impl Seat {
    fn give(&self, arrival: Arrival, dispatched: MonoTime) {
        self.held.set(Some(arrival));
        self.dispatched.set(Some(dispatched));
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// The next arrival, and when it was dispatched; `None` when there will be none.
    fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<(Arrival, MonoTime)>> {
        // Also needed while the arrival is in flight, to cancel it.
        match &mut *self.waker.borrow_mut() {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        match self.held.get().zip(self.dispatched.take()) {
            Some(next) => Poll::Ready(Some(next)),
            None if self.given_back.get() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl Arrival {
    /// An iteration that begins at `now`, which is also when it is due.
    pub(crate) fn of_user(iteration: &Iteration, now: MonoTime) -> Self {
        Self {
            name: Name::Iteration {
                user: iteration.user,
                k: iteration.k,
            },
            key: iteration.key,
            due: now,
            reached: now,
        }
    }
}

impl<W: Wire> Slots<W> {
    pub(crate) fn new(
        calls: Calls<W>,
        rules: Rules,
        roster: Option<Rc<Roster>>,
        idle: watch::Sender<bool>,
    ) -> Self {
        Self {
            calls,
            rules,
            crew: OnceCell::new(),
            roster,
            start: Cell::new(None),
            seats: RefCell::default(),
            free: RefCell::default(),
            waiting: RefCell::default(),
            paused: Cell::new(false),
            paced_out: Cell::new(false),
            idle,
        }
    }

    /// Loads the scenario and prepares its users here.
    ///
    /// # Errors
    /// Why the run cannot begin, for whoever wrote the scenario.
    pub(crate) async fn staff(&self, troupe: &Troupe) -> Result<(), String> {
        let loaded = Crew::load(troupe, self.roster.is_some());
        let crew = loaded.map_err(|why| self.calls.mask(&why))?;
        let prepared = self
            .calls
            .prepare(self.crew.get_or_init(|| Rc::new(crew)))
            .await;
        if prepared.is_err() {
            self.retire().await;
        }
        prepared
    }

    /// Lets the users clean up; nothing is performed after it.
    pub(crate) async fn retire(&self) {
        if let Some(crew) = self.crew.get() {
            // What was raised is in the log.
            drop(self.calls.retire(crew).await);
        }
    }

    pub(crate) fn wire(&self) -> &W {
        self.calls.wire()
    }

    pub(crate) fn start(&self) -> Option<MonoTime> {
        self.start.get()
    }

    pub(crate) fn start_at(&self, start: MonoTime, shown: Timestamp) {
        self.start.set(Some(start));
        self.calls.start_at(start, shown);
    }

    pub(crate) fn stopped(&self) -> Option<DropReason> {
        self.calls.stopped()
    }

    /// Why nothing may be started at `now`, if nothing may.
    pub(crate) fn barred(&self, now: MonoTime) -> Option<DropReason> {
        self.calls.barred(now)
    }

    /// Takes an arrival from the pacer: to a slot, to the queue, or among the dropped.
    pub(crate) fn reach(self: &Rc<Self>, arrival: Arrival) {
        let late = arrival.reached.since_us(arrival.due) > self.rules.max_lateness_us;
        if late && !bug(Bug::BurstOnResume) {
            return self.drop_arrival(&arrival, DropReason::Late);
        }
        let paused = self.paused.get().then_some(DropReason::Paused);
        if let Some(reason) = self.barred(arrival.reached).or(paused) {
            return self.drop_arrival(&arrival, reason);
        }
        self.waiting.borrow_mut().push_back(arrival);
        self.seat_waiting(arrival.reached);
    }

    /// Counts an arrival that will never start.
    pub(crate) fn drop_arrival(&self, arrival: &Arrival, reason: DropReason) {
        self.calls.drop_arrival(arrival, reason);
    }

    /// Drops those at the head of the queue whose wait is over; their users, if they have any, go
    /// on behind the others.
    pub(crate) fn sweep(&self, now: MonoTime) {
        while let Some(arrival) = self.pop_waiting(|head| self.waited_out(head, now)) {
            self.drop_arrival(&arrival, self.rules.lacking);
            let next = self.follow(&arrival, now);
            self.waiting.borrow_mut().extend(next);
        }
        self.note_idle();
    }

    /// When the wait of the head of the queue is over.
    pub(crate) fn next_sweep(&self) -> Option<MonoTime> {
        let waiting = self.waiting.borrow();
        let head = waiting.front()?;
        Some(head.due.plus_us(self.rules.max_wait_us))
    }

    /// Nothing is dispatched any more; what waits is dropped for `reason`. The first stop counts.
    pub(crate) fn stop(&self, reason: DropReason, now: MonoTime) {
        if self.calls.stopped().is_some() {
            return;
        }
        self.sweep(now);
        self.calls.stop(reason);
        while let Some(arrival) = self.pop_waiting(|_| true) {
            self.drop_arrival(&arrival, reason);
        }
        // Users that rest have nothing more to wait for.
        self.seats.borrow().iter().for_each(|seat| seat.wake());
        self.note_idle();
    }

    /// While `paused` no arrival is started; those that wait are dropped at once.
    pub(crate) fn pause(&self, paused: bool) {
        self.paused.set(paused);
        if !paused {
            return;
        }
        let now = MonoTime::now();
        self.sweep(now);
        while let Some(arrival) = self.pop_waiting(|_| true) {
            self.drop_arrival(&arrival, DropReason::Paused);
            // A user of a closed loop leaves here, and joins again when it goes on.
            let next = self.follow(&arrival, now);
            debug_assert!(next.is_none(), "nobody goes on in a pause");
        }
        self.note_idle();
    }

    /// Ends all calls in flight as cancelled. The caller has stopped before.
    pub(crate) fn cancel(&self) {
        self.calls.cancel();
        self.seats.borrow().iter().for_each(|seat| seat.wake());
    }

    /// Ends the seats that have been free since before `unneeded`; says how many.
    pub(crate) fn give_back(&self, unneeded: MonoTime) -> usize {
        let mut free = self.free.borrow_mut();
        let spare = free.partition_point(|(_, since)| *since < unneeded);
        if spare == 0 {
            return 0;
        }
        for (seat, _) in free.drain(..spare) {
            seat.given_back.set(true);
            seat.wake();
        }
        let mut seats = self.seats.borrow_mut();
        seats.retain(|seat| !seat.given_back.get());
        spare
    }

    /// Whether the pacer has nothing more to give.
    pub(crate) fn paced_out(&self, paced_out: bool) {
        self.paced_out.set(paced_out);
        self.note_idle();
    }

    /// Rows since the last time, and up to where the ring holds what is in them.
    ///
    /// # Panics
    /// When an arrival's task panicked: the rows would silently lack its calls.
    pub(crate) fn take_rows(&self) -> (Rows, Turned) {
        self.calls.take_rows()
    }

    /// What was taken up to `mark` is in a delta.
    pub(crate) fn close(&self, mark: Watermark) {
        self.calls.close(mark);
    }

    pub(crate) fn filling(&self, now: MonoTime) -> Filling {
        let (seats, waiting) = (self.seats.borrow(), self.waiting.borrow());
        let held = seats.iter().filter_map(|seat| seat.held.get());
        let oldest = held.chain(waiting.front().copied());
        let oldest = oldest.map(|arrival| arrival.due).min();
        Filling {
            in_flight: self.in_flight() as u64,
            waiting: waiting.len() as u64,
            oldest_us: oldest.map_or(0, |due| now.since_us(due)),
        }
    }

    fn in_flight(&self) -> usize {
        self.seats.borrow().len() - self.free.borrow().len()
    }

    fn waited_out(&self, arrival: &Arrival, now: MonoTime) -> bool {
        now.since_us(arrival.due) >= self.rules.max_wait_us
    }

    fn pop_waiting(&self, wanted: impl FnOnce(&Arrival) -> bool) -> Option<Arrival> {
        let mut waiting = self.waiting.borrow_mut();
        if !waiting.front().is_some_and(wanted) {
            return None;
        }
        waiting.pop_front()
    }

    /// Gives seats to the head of the queue, as long as there are any.
    fn seat_waiting(self: &Rc<Self>, now: MonoTime) {
        while !self.waiting.borrow().is_empty() && self.barred(now).is_none() {
            let Some(seat) = self.free_seat() else {
                return;
            };
            if let Some(arrival) = self.pop_waiting(|_| true) {
                seat.give(arrival, now);
            }
        }
    }

    fn free_seat(self: &Rc<Self>) -> Option<Rc<Seat>> {
        if self.in_flight() >= self.calls.wire().calls_max() {
            return None;
        }
        if let Some((seat, _)) = self.free.borrow_mut().pop() {
            return Some(seat);
        }
        let mut seats = self.seats.borrow_mut();
        if seats.len() >= self.rules.max_in_flight {
            return None;
        }
        let seat = Rc::new(Seat::default());
        seats.push(Rc::clone(&seat));
        let (slots, own) = (Rc::clone(self), Rc::clone(&seat));
        // A task that could do either would be as large as the one that runs Python needs to be.
        match self.crew.get().cloned() {
            None => tokio::task::spawn_local(slots.serve(own, Calls::perform)),
            Some(crew) => tokio::task::spawn_local(slots.serve(
                own,
                async move |calls: &Calls<W>, arrival: &Arrival, dispatched, kit: &mut Kit| {
                    calls.perform_script(&crew, arrival, dispatched, kit).await
                },
            )),
        };
        Some(seat)
    }

    /// Performs what is put on a seat, until that is given back.
    async fn serve<P>(self: Rc<Self>, seat: Rc<Seat>, perform: P)
    where
        P: AsyncFn(&Calls<W>, &Arrival, MonoTime, &mut Kit) -> MonoTime,
    {
        let _guard = self.calls.guard();
        let mut kit = self.calls.kit();
        while let Some(next) = poll_fn(|cx| seat.poll_next(cx)).await {
            let (mut arrival, mut dispatched) = next;
            let end = loop {
                let end = perform(&self.calls, &arrival, dispatched, &mut kit).await;
                let Some(next) = self.follow(&arrival, end) else {
                    break end;
                };
                if self.is_crowded() {
                    self.waiting.borrow_mut().push_back(next);
                    break end;
                }
                (arrival, dispatched) = (next, end);
                seat.held.set(Some(next));
                // Calls that fail at once would else keep the pacer from its commands.
                tokio::task::consume_budget().await;
            };
            self.vacate(&seat, end);
            tokio::task::consume_budget().await;
        }
        self.calls.put_away(kit);
    }

    /// In a closed loop, what the user of an arrival that ended at `end` does next.
    fn follow(&self, arrival: &Arrival, end: MonoTime) -> Option<Arrival> {
        let (Some(roster), Name::Iteration { user, .. }) = (&self.roster, arrival.name) else {
            return None;
        };
        let start = self.start.get().filter(|_| self.barred(end).is_none())?;
        let next = roster.follow(user, end.since_us(start))?;
        Some(Arrival::of_user(&next, end))
    }

    /// Whether others wait for a seat, so that a user has to queue up again; or would have to, if
    /// the connections now carry less than they did.
    fn is_crowded(&self) -> bool {
        !self.waiting.borrow().is_empty() || self.in_flight() > self.calls.wire().calls_max()
    }

    /// Lets a seat stand free from `now` on, for the head of the queue or whoever comes.
    fn vacate(self: &Rc<Self>, seat: &Rc<Seat>, now: MonoTime) {
        seat.held.set(None);
        self.free.borrow_mut().push((Rc::clone(seat), now));
        if !self.waiting.borrow().is_empty() {
            let now = MonoTime::now();
            self.sweep(now);
            self.seat_waiting(now);
        }
        self.note_idle();
    }

    fn note_idle(&self) {
        if !self.paced_out.get() && !*self.idle.borrow() {
            return;
        }
        let empty = self.in_flight() == 0 && self.waiting.borrow().is_empty();
        let idle = self.paced_out.get() && empty;
        self.idle
            .send_if_modified(|was| std::mem::replace(was, idle) != idle);
    }
}

#[cfg(test)]
mod tests;

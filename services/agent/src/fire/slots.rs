//! Arrivals from the moment the pacer reached them until their last call ended: slots, the queue
//! for them, and the calls.
//!
//! Latency is end − due, for every outcome. Must never send anything after a stop, nor let more
//! than `max_in_flight` arrivals hold a slot.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use loadpilot_engine::tally::{CallEnd, Phases, RowKey, Rows, Tally};
use loadpilot_engine::workload::Workload;
use loadpilot_events::id::RunId;
use loadpilot_events::outcome::{DropReason, Outcome};
use tokio::sync::{Notify, watch};

use super::clock::MonoTime;
use super::program::{Call, Program};
use super::wire::{Order, Trace, Wire};

/// What arrivals are allowed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Most arrivals in flight.
    pub max_in_flight: usize,
    /// Longest wait for a slot, in µs from due.
    pub max_wait_us: u64,
    /// Latest that the pacer may reach an arrival, in µs after its due.
    pub max_lateness_us: u64,
}

/// An arrival that the pacer has reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub n: u64,
    pub key: RowKey,
    pub due: MonoTime,
    /// When the pacer reached it.
    pub reached: MonoTime,
}

/// The arrivals of one core that are in flight or waiting, and what became of the others.
pub(crate) struct Slots<W> {
    run: RunId,
    workload: Arc<Workload>,
    program: Arc<Program>,
    rules: Rules,
    wire: W,
    /// The instant of due 0.
    start: Cell<Option<MonoTime>>,
    tally: RefCell<Tally>,
    in_flight: RefCell<BTreeSet<u64>>,
    /// First in, first out; its length is bounded by rate × `max_wait`.
    waiting: RefCell<VecDeque<Arrival>>,
    stopped: Cell<Option<DropReason>>,
    cancelled: Cell<bool>,
    cancel: Notify,
    paced_out: Cell<bool>,
    idle: watch::Sender<bool>,
    /// An arrival's task panicked: its calls are lost, so nothing counted here can be trusted.
    broken: Cell<bool>,
}

/// How full it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Filling {
    pub in_flight: u64,
    pub waiting: u64,
    /// Age, from due, of the oldest arrival in flight or waiting, in µs.
    pub oldest_us: u64,
}

impl<W: Wire> Slots<W> {
    pub(crate) fn new(
        run: RunId,
        workload: Arc<Workload>,
        program: Arc<Program>,
        rules: Rules,
        wire: W,
        idle: watch::Sender<bool>,
    ) -> Self {
        Self {
            run,
            workload,
            program,
            rules,
            wire,
            start: Cell::new(None),
            tally: RefCell::default(),
            in_flight: RefCell::default(),
            waiting: RefCell::default(),
            stopped: Cell::new(None),
            cancelled: Cell::new(false),
            cancel: Notify::new(),
            paced_out: Cell::new(false),
            idle,
            broken: Cell::new(false),
        }
    }

    pub(crate) fn wire(&self) -> &W {
        &self.wire
    }

    pub(crate) fn start(&self) -> Option<MonoTime> {
        self.start.get()
    }

    pub(crate) fn start_at(&self, start: MonoTime) {
        self.start.set(Some(start));
    }

    pub(crate) fn stopped(&self) -> Option<DropReason> {
        self.stopped.get()
    }

    /// Takes an arrival from the pacer: to a slot, to the queue, or among the dropped.
    pub(crate) fn reach(self: &Rc<Self>, arrival: Arrival) {
        if arrival.reached.since_us(arrival.due) > self.rules.max_lateness_us {
            return self.drop_arrival(&arrival, DropReason::Late);
        }
        if let Some(reason) = self.stopped.get() {
            return self.drop_arrival(&arrival, reason);
        }
        if self.has_free_slot() && self.waiting.borrow().is_empty() {
            self.dispatch(arrival, arrival.reached);
        } else {
            self.waiting.borrow_mut().push_back(arrival);
        }
    }

    /// Counts an arrival that will never start.
    pub(crate) fn drop_arrival(&self, arrival: &Arrival, reason: DropReason) {
        self.tally.borrow_mut().dropped(arrival.key, reason);
    }

    /// Drops those at the head of the queue whose wait is over.
    pub(crate) fn sweep(&self, now: MonoTime) {
        while let Some(arrival) = self.pop_waiting(|head| self.waited_out(head, now)) {
            self.drop_arrival(&arrival, DropReason::NoSlot);
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
        if self.stopped.get().is_some() {
            return;
        }
        self.sweep(now);
        self.stopped.set(Some(reason));
        while let Some(arrival) = self.pop_waiting(|_| true) {
            self.drop_arrival(&arrival, reason);
        }
        self.note_idle();
    }

    /// Ends all calls in flight as cancelled. The caller has stopped before.
    pub(crate) fn cancel(&self) {
        self.cancelled.set(true);
        self.cancel.notify_waiters();
    }

    /// Whether the pacer has nothing more to give.
    pub(crate) fn paced_out(&self, paced_out: bool) {
        self.paced_out.set(paced_out);
        self.note_idle();
    }

    /// Rows since the last time.
    ///
    /// # Panics
    /// When an arrival's task panicked: the rows would silently lack its calls.
    pub(crate) fn take_rows(&self) -> Rows {
        assert!(!self.broken.get(), "an arrival's task panicked");
        self.tally.borrow_mut().take()
    }

    pub(crate) fn filling(&self, now: MonoTime) -> Filling {
        let in_flight = self.in_flight.borrow();
        let waiting = self.waiting.borrow();
        // Due times are monotone in n, so the lowest number is the oldest.
        let oldest_n = in_flight.first().copied();
        let running = oldest_n.map(|n| self.due(self.workload.due_us(n)));
        let oldest = running
            .into_iter()
            .chain(waiting.front().map(|head| head.due));
        Filling {
            in_flight: in_flight.len() as u64,
            waiting: waiting.len() as u64,
            oldest_us: oldest.min().map_or(0, |due| now.since_us(due)),
        }
    }

    /// The instant `due_us` after the start.
    pub(crate) fn due(&self, due_us: u64) -> MonoTime {
        let start = self.start.get();
        start.map_or(MonoTime::now(), |start| start.plus_us(due_us))
    }

    fn has_free_slot(&self) -> bool {
        self.in_flight.borrow().len() < self.rules.max_in_flight
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

    fn dispatch(self: &Rc<Self>, arrival: Arrival, now: MonoTime) {
        self.tally.borrow_mut().started(arrival.key);
        let is_new = self.in_flight.borrow_mut().insert(arrival.n);
        assert!(is_new, "arrival {} holds a slot already", arrival.n);
        let slots = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let slot = Slot(&slots);
            slots.perform(&arrival, now).await;
            drop(slot);
            slots.vacate(arrival.n);
        });
    }

    /// Frees a slot and gives it to the head of the queue.
    fn vacate(self: &Rc<Self>, n: u64) {
        self.in_flight.borrow_mut().remove(&n);
        let now = MonoTime::now();
        self.sweep(now);
        while self.has_free_slot()
            && let Some(arrival) = self.pop_waiting(|_| true)
        {
            self.dispatch(arrival, now);
        }
        self.note_idle();
    }

    fn note_idle(&self) {
        let empty = self.in_flight.borrow().is_empty() && self.waiting.borrow().is_empty();
        let idle = self.paced_out.get() && empty;
        self.idle
            .send_if_modified(|was| std::mem::replace(was, idle) != idle);
    }

    /// Does what an arrival's task says, call by call.
    async fn perform(&self, arrival: &Arrival, dispatched: MonoTime) {
        let first = Phases {
            schedule_lag_us: Some(arrival.reached.since_us(arrival.due)),
            queue_us: Some(dispatched.since_us(arrival.reached)),
            ..Phases::default()
        };
        let (mut due, mut dispatched, mut phases) = (arrival.due, dispatched, first);
        let mut all_ok = true;
        let calls = &self.program.tasks[usize::from(arrival.key.task)];
        for (step, call) in calls.iter().enumerate() {
            if step > 0 && self.stopped.get().is_some() {
                all_ok = false;
                break;
            }
            let trace = Trace {
                phases,
                ..Trace::default()
            };
            let id = self.id(arrival.n, step);
            let (outcome, end) = self
                .call(call, id, (due, dispatched), trace, arrival.key)
                .await;
            all_ok &= outcome == Outcome::Ok;
            (due, dispatched, phases) = (end, end, Phases::default());
        }
        if !all_ok {
            self.tally.borrow_mut().task_error(arrival.key);
        }
    }

    /// One call, from dispatch to its end; returns how and when it ended.
    async fn call(
        &self,
        call: &Call,
        id: Option<String>,
        (due, dispatched): (MonoTime, MonoTime),
        mut trace: Trace,
        key: RowKey,
    ) -> (Outcome, MonoTime) {
        let order = Order {
            call,
            id: id.as_deref(),
        };
        let (outcome, status) = self.exchange(order, dispatched, &mut trace).await;
        let end = MonoTime::now();
        self.tally.borrow_mut().call(&CallEnd {
            tick: key.tick,
            generation: key.generation,
            call: call.number,
            outcome,
            response_us: end.since_us(due),
            service_us: end.since_us(dispatched),
            status,
            sent_bytes: trace.sent_bytes,
            received_bytes: trace.received_bytes,
            phases: trace.phases,
        });
        (outcome, end)
    }

    async fn exchange(
        &self,
        order: Order<'_>,
        dispatched: MonoTime,
        trace: &mut Trace,
    ) -> (Outcome, Option<u16>) {
        let cancel = self.cancel.notified();
        if self.cancelled.get() {
            return (Outcome::Cancelled, None);
        }
        let spent = Duration::from_micros(MonoTime::now().since_us(dispatched));
        let left = order.call.timeout.saturating_sub(spent);
        tokio::select! {
            biased;
            answer = self.wire.send(order, trace) => match answer {
                Ok(status) => (Outcome::of_status(status), Some(status)),
                Err(broken) => (broken.outcome(), None),
            },
            () = tokio::time::sleep(left) => (Outcome::Timeout, None),
            () = cancel => (Outcome::Cancelled, None),
        }
    }

    fn id(&self, n: u64, step: usize) -> Option<String> {
        let wanted = self.program.id_header.is_some();
        wanted.then(|| format!("{}/{n}/{step}", self.run))
    }
}

/// Notices when the task of an arrival panics: tokio would only end that task.
struct Slot<'a, W>(&'a Slots<W>);

impl<W> Drop for Slot<'_, W> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.set(true);
        }
    }
}

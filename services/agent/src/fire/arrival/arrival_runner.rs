//! An arrival's calls, one after the other, and what is counted of them.
//!
//! Latency is end − due, for every outcome. Must never send anything after a stop, and allocates
//! nothing of its own per call.

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::crash_recovery::Watermark;
use loadpilot_engine::tally::{CallEnd, RowKey, Rows, Tally};
use loadpilot_events::Timestamp;
use loadpilot_events::id::RunId;
use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::exchange::ExchangeSeen;
use loadpilot_events::log::outcome::{DropReason, Outcome};
use loadpilot_events::plan::connections::Reuse;

use crate::bugs::{Bug, bug};

use crate::fire::clock::MonoTime;
use crate::fire::clock::call_timeout::TimeOut;
use crate::fire::clock::lease::Lease;
use crate::fire::http::wire::{Order, Trace, Wire};
use crate::fire::journal::ring::{Recorder, Turned};
use crate::fire::request::call_registry::CallNames;
use crate::fire::request::program::{Call, Program};
use crate::fire::request::progress::Progress;
use crate::fire::request::scratch::Kit;
use crate::fire::request::stream_tokens::Tokens;

/// Which arrival, for its id; the rest is in its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// The n-th of the plan.
    Planned(u64),
    /// The k-th iteration of a user on this core.
    Iteration {
        /// Whose.
        user: u32,
        /// Its number among those of this user on this core, from 0.
        k: u64,
    },
}

impl Name {
    /// Whose arrival it is, and its number: of a schedule, nobody's.
    pub(crate) fn whose(self) -> (Option<u32>, u64) {
        match self {
            Self::Planned(n) => (None, n),
            Self::Iteration { user, k } => (Some(user), k),
        }
    }

    /// What its draws are named by: the block and the index in it.
    pub(crate) fn draws(self) -> (u64, u64) {
        match self {
            Self::Planned(n) => (n, 0),
            Self::Iteration { user, k } => (u64::from(user), k),
        }
    }
}

/// An arrival that the pacer has reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub name: Name,
    pub key: RowKey,
    pub due: MonoTime,
    /// When the pacer reached it.
    pub reached: MonoTime,
}

/// The sending side of one core: its engine, its requests, its counters.
pub(crate) struct Calls<W> {
    pub(crate) run: RunId,
    workload: Arc<Workload>,
    pub(crate) program: Arc<Program>,
    wire: W,
    pub(crate) tally: RefCell<Tally>,
    pub(crate) recorder: Recorder,
    /// Of calls that are not in the plan.
    pub(crate) names: CallNames,
    /// What the coordinator's clock shows at due 0.
    start: Cell<Timestamp>,
    stopped: Cell<Option<DropReason>>,
    /// Beyond its end nothing is dispatched, whether or not somebody has said stop.
    lease: Lease,
    cancelled: Cell<bool>,
    /// An arrival's task panicked: its calls are lost, so nothing counted here can be trusted.
    broken: Cell<bool>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) status: Option<u16>,
    pub(crate) cause: Option<Cause>,
}

impl Ended {
    fn answered(status: u16) -> Self {
        Self {
            outcome: Outcome::of_status(status),
            status: Some(status),
            cause: None,
        }
    }

    fn without(outcome: Outcome, cause: Option<Cause>) -> Self {
        Self {
            outcome,
            status: None,
            cause,
        }
    }
}

/// When a call was due and when it was dispatched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begin {
    pub(crate) due: MonoTime,
    pub(crate) dispatched: MonoTime,
}

impl<W: Wire> Calls<W> {
    pub(crate) fn new(
        run: RunId,
        workload: Arc<Workload>,
        program: Arc<Program>,
        wire: W,
        recorder: Recorder,
        (place, lease): ((u32, u32), Lease),
    ) -> Self {
        Self {
            run,
            workload,
            program,
            wire,
            tally: RefCell::default(),
            recorder,
            names: CallNames::new(place),
            start: Cell::new(Timestamp(0)),
            stopped: Cell::new(None),
            lease,
            cancelled: Cell::new(false),
            broken: Cell::new(false),
        }
    }

    pub(crate) fn wire(&self) -> &W {
        &self.wire
    }

    /// What one task of the runtime needs; must be called on the core's runtime.
    pub(crate) fn kit(&self) -> Kit {
        Kit::new(self.recorder.seat())
    }

    /// One more like `kit`, for a request that goes on beside.
    pub(crate) fn kit_beside(&self, kit: &Kit) -> Kit {
        match kit.is_aside() {
            true => Kit::aside(),
            false => self.kit(),
        }
    }

    /// Nobody needs it any more.
    pub(crate) fn put_away(&self, kit: Kit) {
        self.recorder.leave(kit.seat);
        kit.others.into_iter().for_each(|kit| self.put_away(kit));
    }

    /// The instant of due 0, and what the coordinator's clock shows then.
    pub(crate) fn start_at(&self, start: MonoTime, shown: Timestamp) {
        self.recorder.start_at(start);
        self.start.set(shown);
    }

    /// What the coordinator's clock shows at an instant after due 0.
    pub(crate) fn shown_at(&self, at: MonoTime) -> Timestamp {
        let since_us = self.recorder.since_start_us(at);
        Timestamp(self.start.get().0.saturating_add(since_us))
    }

    pub(crate) fn stopped(&self) -> Option<DropReason> {
        self.stopped.get()
    }

    /// Why nothing may be dispatched at `now`, if nothing may.
    pub(crate) fn barred(&self, now: MonoTime) -> Option<DropReason> {
        let over = || self.lease.is_over(now).then_some(DropReason::Fenced);
        self.stopped.get().or_else(over)
    }

    /// No call is dispatched any more, not even the next one of a task. The first stop counts.
    pub(crate) fn stop(&self, reason: DropReason) {
        self.stopped.set(self.stopped.get().or(Some(reason)));
    }

    /// Whatever is in flight ends as cancelled when it is next polled.
    pub(crate) fn cancel(&self) {
        self.cancelled.set(true);
    }

    /// Counts an arrival that will never start.
    pub(crate) fn drop_arrival(&self, arrival: &Arrival, reason: DropReason) {
        self.tally.borrow_mut().dropped(arrival.key, reason);
        self.recorder.dropped(arrival.key, reason);
    }

    /// Rows since the last time, and up to where the ring holds what is in them.
    ///
    /// # Panics
    /// When an arrival's task panicked: the rows would silently lack its calls.
    pub(crate) fn take_rows(&self) -> (Rows, Turned) {
        assert!(!self.broken.get(), "an arrival's task panicked");
        (self.tally.borrow_mut().take(), self.recorder.turn())
    }

    /// What was taken up to `mark` is in a delta.
    pub(crate) fn close(&self, mark: Watermark) {
        self.recorder.close(mark);
    }

    /// To be held by whoever performs arrivals: tokio would only end a task that panics.
    pub(crate) fn guard(&self) -> PanicGuard<'_> {
        PanicGuard(&self.broken)
    }

    /// Does what an arrival's task says, call by call; returns when the last one ended.
    pub(crate) async fn perform(
        &self,
        arrival: &Arrival,
        dispatched: MonoTime,
        kit: &mut Kit,
    ) -> MonoTime {
        self.tally.borrow_mut().started(arrival.key);
        let mut begin = Begin {
            due: arrival.due,
            dispatched,
        };
        let mut trace = Trace::default();
        trace.phases.schedule_lag_us = Some(arrival.reached.since_us(arrival.due));
        trace.phases.queue_us = Some(dispatched.since_us(arrival.reached));
        let mut all_ok = true;
        let calls = &self.program.tasks[usize::from(arrival.key.task)];
        for (step, call) in calls.iter().enumerate() {
            if step > 0 && self.barred(begin.dispatched).is_some() {
                all_ok = false;
                break;
            }
            self.write_id(arrival, step, &mut kit.id);
            let progress = Progress::new(begin.dispatched);
            let tokens = call.stream.map(|stream| {
                let tokens = kit.tokens.get_or_init(|| RefCell::new(Tokens::new()));
                tokens.borrow_mut().begin(stream, call.tokens_max);
                tokens
            });
            let seen = self.is_to_be_seen(arrival).then(RefCell::default);
            let order = Order {
                call,
                id: self.program.has_ids.then_some(kit.id.as_str()),
                may_reuse: self.may_reuse(arrival, step),
                progress: &progress,
                tokens,
                seen: seen.as_ref(),
                kept: None,
            };
            let place = (kit.seat, &mut kit.time_out);
            let (outcome, end) = self.call(&order, arrival, begin, &mut trace, place).await;
            all_ok &= outcome == Outcome::Ok;
            begin = Begin {
                due: end,
                dispatched: end,
            };
            trace = Trace::default();
        }
        if !all_ok {
            self.task_error(arrival);
        }
        begin.due
    }

    /// Counts a started arrival that ended and did not go well.
    pub(crate) fn task_error(&self, arrival: &Arrival) {
        self.tally.borrow_mut().task_error(arrival.key);
        self.recorder.task_error(arrival.key);
    }

    /// One call, from dispatch to its end; returns how and when it ended.
    async fn call(
        &self,
        order: &Order<'_>,
        arrival: &Arrival,
        begin: Begin,
        trace: &mut Trace,
        (seat, time_out): (u32, &mut TimeOut),
    ) -> (Outcome, MonoTime) {
        let times = (begin.due, begin.dispatched);
        let recorder = &self.recorder;
        let begun = recorder.begin(seat, arrival, order.call.number, times, &trace.phases);
        let ended = self
            .exchange(order, begin.dispatched, trace, time_out, true)
            .await;
        let end = MonoTime::now();
        let call_end = Self::call_end(arrival, order, begin, end, ended, trace);
        self.tally.borrow_mut().call(&call_end);
        self.count_tokens(order, &call_end);
        self.write_out(order, arrival, &call_end);
        recorder.end(seat, begun, &call_end);
        self.sample(arrival, begin.due, &call_end);
        (ended.outcome, end)
    }

    /// What is counted of a call.
    pub(crate) fn call_end(
        arrival: &Arrival,
        order: &Order<'_>,
        begin: Begin,
        end: MonoTime,
        ended: Ended,
        trace: &Trace,
    ) -> CallEnd {
        let mut phases = trace.phases;
        if let Some(first) = order.tokens.and_then(|tokens| tokens.borrow().first()) {
            phases.first_token_us = Some(first.since_us(begin.due));
            phases.first_token_service_us = Some(first.since_us(begin.dispatched));
        }
        CallEnd {
            tick: arrival.key.tick,
            generation: arrival.key.generation,
            call: order.call.number,
            outcome: ended.outcome,
            response_us: match bug(Bug::ClockAfterPermit) {
                true => end.since_us(begin.dispatched),
                false => end.since_us(begin.due),
            },
            service_us: end.since_us(begin.dispatched),
            status: ended.status,
            cause: ended.cause,
            sent_bytes: trace.sent_bytes,
            received_bytes: trace.received_bytes,
            phases,
        }
    }

    /// Books the gaps between the tokens of a streamed answer.
    pub(crate) fn count_tokens(&self, order: &Order<'_>, end: &CallEnd) {
        if let Some(tokens) = order.tokens {
            let key = (end.tick, end.generation, end.call);
            let mut tally = self.tally.borrow_mut();
            tally.token_gaps(key, tokens.borrow().gaps());
        }
    }

    /// Writes an exchange out, if it is to be.
    pub(crate) fn write_out(&self, order: &Order<'_>, arrival: &Arrival, end: &CallEnd) {
        if let Some(seen) = order.seen {
            let answer = seen.borrow().lines(&self.program.masks);
            let seen = written_out(arrival, order.call, end, answer);
            self.tally.borrow_mut().exchange(seen);
        }
    }

    /// Whether the exchanges of an arrival are written out.
    pub(crate) fn is_to_be_seen(&self, arrival: &Arrival) -> bool {
        match arrival.name {
            Name::Planned(n) => n < self.program.debug_requests,
            Name::Iteration { user, k } => k == 0 && u64::from(user) < self.program.debug_requests,
        }
    }

    /// One exchange, until it ends by itself, by its time or with the run.
    pub(crate) async fn exchange(
        &self,
        order: &Order<'_>,
        dispatched: MonoTime,
        trace: &mut Trace,
        time_out: &mut TimeOut,
        is_counted: bool,
    ) -> Ended {
        // What belongs to no arrival, a user's clean-up, is sent all the same.
        let is_cancelled = || is_counted && self.cancelled.get();
        if is_cancelled() {
            return Ended::without(Outcome::Cancelled, None);
        }
        let deadline = dispatched.plus_us(order.call.timeout_us);
        let hang_up = order.call.listen_us.map(|us| dispatched.plus_us(us));
        let mut answer = pin!(self.wire.send(order, trace));
        poll_fn(|cx| {
            if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
                return Poll::Ready(match answer {
                    Ok(status) => Ended::answered(status),
                    Err(broken) => Ended::without(broken.outcome, Some(broken.cause)),
                });
            }
            let of_stage = order.progress.deadline(&self.program.timeouts);
            let listened = order.progress.status().zip(hang_up);
            let until = [of_stage, listened.map(|(_, until)| until)];
            let until = until.into_iter().flatten().fold(deadline, MonoTime::min);
            if time_out.poll(cx, until).is_ready() {
                return Poll::Ready(match listened {
                    Some((status, hang_up)) if hang_up == until => Ended::answered(status),
                    _ => {
                        let cause = order.progress.stage().cause();
                        Ended::without(Outcome::Timeout, Some(cause))
                    }
                });
            }
            match is_cancelled() {
                true => Poll::Ready(Ended::without(Outcome::Cancelled, None)),
                false => Poll::Pending,
            }
        })
        .await
    }

    /// Tells a call by itself, if it was drawn.
    pub(crate) fn sample(&self, arrival: &Arrival, due: MonoTime, end: &CallEnd) {
        let (block, index) = arrival.name.draws();
        if !self.workload.is_sampled(block, index, end.call) {
            return;
        }
        let due_us = self.recorder.since_start_us(due);
        let sample = end.sample(arrival.name.whose(), due_us);
        self.tally.borrow_mut().sample(sample);
    }

    /// Whether a call may use a connection that is open already.
    pub(crate) fn may_reuse(&self, arrival: &Arrival, step: usize) -> bool {
        let share_ppm = match self.program.connections.reuse {
            Reuse::Always => return true,
            Reuse::Never => return false,
            Reuse::SharePpm(share_ppm) => share_ppm,
        };
        let (block, index) = arrival.name.draws();
        self.workload.reuse_draw_ppm(block, index, step) < share_ppm
    }

    pub(crate) fn write_id(&self, arrival: &Arrival, step: usize, id: &mut String) {
        if !self.program.has_ids {
            return;
        }
        id.clear();
        let run = &self.run;
        let written = match arrival.name {
            Name::Planned(n) => write!(id, "{run}/{n}/{step}"),
            Name::Iteration { user, k } => {
                write!(id, "{run}/{user}.{}.{k}/{step}", arrival.key.generation)
            }
        };
        written.expect("a String takes what is written");
    }
}

fn written_out(arrival: &Arrival, call: &Call, end: &CallEnd, answer: Vec<String>) -> ExchangeSeen {
    ExchangeSeen {
        arrival: match arrival.name {
            Name::Planned(n) => n,
            Name::Iteration { user, .. } => user.into(),
        },
        call: call.number,
        request: call.shown.clone(),
        request_body_bytes: call.body_bytes,
        answer,
        received_bytes: end.received_bytes,
        outcome: end.outcome,
        cause: end.cause,
        response_us: end.response_us,
    }
}

/// Notices a panic.
pub(crate) struct PanicGuard<'a>(&'a Cell<bool>);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.set(true);
        }
    }
}

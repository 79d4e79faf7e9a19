//! Performs an arrival's calls, one after the other, and counts them.
//!
//! Latency is end − due, for every outcome. Must never send anything after a stop, and allocates
//! nothing of its own per call.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use loadpilot_engine::schedule::trace_context::to_traceparent;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::crash_recovery::Watermark;
use loadpilot_engine::tally::{CallEnd, Rows, Tally};
use loadpilot_events::Timestamp;
use loadpilot_events::id::RunId;
use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::outcome::{DropReason, Outcome};
use loadpilot_events::plan::connections::Reuse;
use loadpilot_events::plan::script::RaisedBy;

use crate::bugs::{Bug, bug};

use crate::fire::arrival_id::{Arrival, ArrivalId};
use crate::fire::clock::MonoTime;
use crate::fire::clock::call_timeout::CallTimer;
use crate::fire::clock::lease::Lease;
use crate::fire::http::wire::{Order, Wire};
use crate::fire::journal::ring::EpochEnd;
use crate::fire::journal::ring::writer::Recorder;
use crate::fire::request::call_registry::CallRegistry;
use crate::fire::request::failure_examples::FailureExamples;
use crate::fire::request::program::Program;
use crate::fire::request::progress::{Progress, Trace};
use crate::fire::request::request_rows::RequestRows;
use crate::fire::request::scratch::Scratch;
use crate::fire::request::stream_tokens::Tokens;

/// The sending side of one core: its engine, its requests, its counters.
pub(crate) struct ArrivalRunner<W> {
    pub(crate) run: RunId,
    pub(crate) workload: Arc<Workload>,
    pub(crate) program: Arc<Program>,
    wire: W,
    pub(crate) tally: RefCell<Tally>,
    pub(crate) recorder: Recorder,
    /// Numbers of calls that are not in the plan.
    pub(crate) registry: CallRegistry,
    /// Coordinator's clock at due 0.
    start: Cell<Timestamp>,
    stopped: Cell<Option<DropReason>>,
    /// Nothing is dispatched after the end of the lease, even without a stop.
    lease: Lease,
    cancelled: Cell<bool>,
    /// An arrival's task panicked: its calls are lost, so the counts are wrong.
    panicked: Cell<bool>,
    pub(crate) failures: RefCell<FailureExamples>,
    /// Requests in a file, of which each arrival sends one.
    rows: Option<RequestRows>,
    /// For each user, the session of its last arrival.
    sessions: RefCell<BTreeMap<u32, u32>>,
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExchangeEnd {
    pub(crate) outcome: Outcome,
    pub(crate) status: Option<u16>,
    pub(crate) cause: Option<Cause>,
}

impl ExchangeEnd {
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

impl<W: Wire> ArrivalRunner<W> {
    pub(crate) fn new(
        run: RunId,
        workload: Arc<Workload>,
        program: Arc<Program>,
        wire: W,
        recorder: Recorder,
        (place, lease): ((u32, u32), Lease),
    ) -> Self {
        let rows = RequestRows::of(&program, &workload);
        Self {
            run,
            rows,
            workload,
            program,
            wire,
            tally: RefCell::default(),
            recorder,
            registry: CallRegistry::new(place),
            start: Cell::new(Timestamp(0)),
            stopped: Cell::new(None),
            lease,
            cancelled: Cell::new(false),
            panicked: Cell::new(false),
            failures: RefCell::default(),
            sessions: RefCell::default(),
        }
    }

    pub(crate) fn wire(&self) -> &W {
        &self.wire
    }

    /// Scratch buffers with a seat for one task of the runtime. Must be called on the core's
    /// runtime.
    pub(crate) fn new_scratch(&self) -> Scratch {
        Scratch::new(self.recorder.take_seat())
    }

    /// Scratch buffers for a request that runs at the same time as the one of `scratch`.
    pub(crate) fn scratch_for(&self, scratch: &Scratch) -> Scratch {
        match scratch.is_uncounted() {
            true => Scratch::uncounted(),
            false => self.new_scratch(),
        }
    }

    /// Frees the seats of unused buffers.
    pub(crate) fn release_scratch(&self, scratch: Scratch) {
        self.recorder.release_seat(scratch.seat);
        scratch
            .others
            .into_iter()
            .for_each(|scratch| self.release_scratch(scratch));
    }

    /// Sets the instant of due 0, and the coordinator's clock at that instant.
    pub(crate) fn start_at(&self, start: MonoTime, coordinator_time: Timestamp) {
        self.recorder.start_at(start);
        self.start.set(coordinator_time);
    }

    /// Coordinator's clock at an instant after due 0.
    pub(crate) fn coordinator_time_at(&self, at: MonoTime) -> Timestamp {
        let since_us = self.recorder.since_start_us(at);
        Timestamp(self.start.get().0.saturating_add(since_us))
    }

    pub(crate) fn stopped(&self) -> Option<DropReason> {
        self.stopped.get()
    }

    /// The reason why nothing may be dispatched at `now`, if there is one.
    pub(crate) fn barred(&self, now: MonoTime) -> Option<DropReason> {
        let over = || self.lease.is_over(now).then_some(DropReason::Fenced);
        self.stopped.get().or_else(over)
    }

    /// Ends all dispatching, even of the next call of a task. The first stop counts.
    pub(crate) fn stop(&self, reason: DropReason) {
        self.stopped.set(self.stopped.get().or(Some(reason)));
    }

    /// Ends calls in flight as cancelled; each ends when it is next polled.
    pub(crate) fn cancel(&self) {
        self.cancelled.set(true);
    }

    /// Counts an arrival that will never start.
    pub(crate) fn drop_arrival(&self, arrival: &Arrival, reason: DropReason) {
        self.tally.borrow_mut().dropped(arrival.key, reason);
        self.recorder.dropped(arrival.key, reason);
    }

    /// Rows since the last harvest, and the watermark up to which the ring holds their records.
    ///
    /// # Panics
    /// An arrival's task panicked: the rows would lack its calls.
    pub(crate) fn take_rows(&self) -> (Rows, EpochEnd) {
        assert!(!self.panicked.get(), "an arrival's task panicked");
        (self.tally.borrow_mut().take(), self.recorder.end_epoch())
    }

    /// The records up to `mark` are in a delta: the ring may reuse their space.
    pub(crate) fn close(&self, mark: Watermark) {
        self.recorder.close(mark);
    }

    /// Guard of each task that performs arrivals. Without it, a panic would only end the task.
    pub(crate) fn guard(&self) -> PanicGuard<'_> {
        PanicGuard(&self.panicked)
    }

    /// Performs an arrival's task, call by call; returns the end of the last call.
    pub(crate) async fn perform(
        &self,
        arrival: &Arrival,
        dispatched: MonoTime,
        scratch: &mut Scratch,
    ) -> MonoTime {
        self.tally.borrow_mut().started(arrival.key);
        let is_new_client = self.begin_session(arrival);
        let mut begin = Begin {
            due: arrival.due,
            dispatched,
        };
        let mut trace = Trace::default();
        trace.phases.schedule_lag_us = Some(arrival.reached.since_us(arrival.due));
        trace.phases.queue_us = Some(dispatched.since_us(arrival.reached));
        let mut all_ok = true;
        let of_row;
        let calls = match &self.rows {
            None => self.program.calls(arrival.id, arrival.key.task),
            Some(rows) => match rows.call(&self.program, arrival.id) {
                Ok(call) => {
                    of_row = call;
                    std::slice::from_ref(&*of_row)
                }
                Err(why) => {
                    self.count_raised(arrival, RaisedBy::Task, &why, None);
                    self.count_task_raised(arrival, None);
                    return dispatched;
                }
            },
        };
        for (step, call) in calls.iter().enumerate() {
            if step > 0 && self.barred(begin.dispatched).is_some() {
                all_ok = false;
                break;
            }
            self.write_id(arrival, step, &mut scratch.id);
            let progress = Progress::new(begin.dispatched);
            let tokens = call.stream.map(|stream| {
                let tokens = scratch.tokens.get_or_init(|| RefCell::new(Tokens::new()));
                tokens.borrow_mut().begin(stream, call.tokens_max);
                tokens
            });
            let shown = RefCell::new(self.shown(arrival, call.number, false));
            let location = RefCell::default();
            let order = Order {
                call,
                id: self.program.has_ids.then_some(scratch.id.as_str()),
                may_reuse: self.may_reuse(arrival, step) && (step > 0 || !is_new_client),
                progress: &progress,
                tokens,
                shown: Some(&shown),
                capture: None,
                location: call.redirects.is_some().then_some(&location),
            };
            let place = (scratch.seat, &mut scratch.call_timer);
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

    /// Counts the session of an arrival, if the arrival is the first of that session; returns
    /// whether the user takes the place of another user.
    pub(crate) fn begin_session(&self, arrival: &Arrival) -> bool {
        let (Some(session), ArrivalId::Iteration { user, .. }) = (arrival.session, arrival.id)
        else {
            return false;
        };
        let before = self.sessions.borrow_mut().insert(user, session);
        if before == Some(session) {
            return false;
        }
        let follows = before.is_some();
        self.tally.borrow_mut().session(arrival.key, follows);
        self.recorder.session(arrival.key, follows);
        follows
    }

    /// Counts a started arrival that has ended with an error.
    pub(crate) fn task_error(&self, arrival: &Arrival) {
        self.tally.borrow_mut().task_error(arrival.key);
        self.recorder.task_error(arrival.key);
    }

    /// Performs one call from dispatch to its end; returns its outcome and its end.
    async fn call(
        &self,
        order: &Order<'_>,
        arrival: &Arrival,
        begin: Begin,
        trace: &mut Trace,
        (seat, call_timer): (u32, &mut CallTimer),
    ) -> (Outcome, MonoTime) {
        let times = (begin.due, begin.dispatched);
        let recorder = &self.recorder;
        let begun = recorder.begin(seat, arrival, order.call.number, times, &trace.phases);
        let ended = self
            .exchange(order, begin.dispatched, trace, call_timer, true)
            .await;
        let end = MonoTime::now();
        let call_end = Self::call_end(arrival, order, begin, end, ended, trace);
        self.tally.borrow_mut().call(&call_end);
        self.count_tokens(order, &call_end);
        if let Some(answer) = order.shown.map(RefCell::borrow) {
            let sent = (order.call, order.id.unwrap_or_default());
            self.record_shown(sent, &answer, arrival, &call_end);
        }
        recorder.end(seat, begun, &call_end);
        self.sample(arrival, begin.due, &call_end);
        (ended.outcome, end)
    }

    /// The figures of a call that the tally counts.
    pub(crate) fn call_end(
        arrival: &Arrival,
        order: &Order<'_>,
        begin: Begin,
        end: MonoTime,
        ended: ExchangeEnd,
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

    /// Counts the gaps between the tokens of a streamed answer.
    pub(crate) fn count_tokens(&self, order: &Order<'_>, end: &CallEnd) {
        if let Some(tokens) = order.tokens {
            let key = (end.tick, end.generation, end.call);
            let mut tally = self.tally.borrow_mut();
            tally.token_gaps(key, tokens.borrow().gaps());
        }
    }

    /// One exchange, until it ends by itself, by a time-out or because the run ends.
    pub(crate) async fn exchange(
        &self,
        order: &Order<'_>,
        dispatched: MonoTime,
        trace: &mut Trace,
        call_timer: &mut CallTimer,
        is_counted: bool,
    ) -> ExchangeEnd {
        // A request without an arrival, such as one of a user's clean-up, is sent even after a
        // cancel.
        let is_cancelled = || is_counted && self.cancelled.get();
        if is_cancelled() {
            return ExchangeEnd::without(Outcome::Cancelled, None);
        }
        let deadline = dispatched.plus_us(order.call.timeout_us);
        let hang_up = order.call.listen_us.map(|us| dispatched.plus_us(us));
        let mut answer = pin!(self.send(order, trace));
        poll_fn(|cx| {
            if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
                return Poll::Ready(match answer {
                    Ok(status) => ExchangeEnd::answered(status),
                    Err(class) => ExchangeEnd::without(class.outcome, Some(class.cause)),
                });
            }
            let of_stage = order.progress.deadline(&self.program.timeouts);
            let listened = order.progress.status().zip(hang_up);
            let until = [of_stage, listened.map(|(_, until)| until)];
            let until = until.into_iter().flatten().fold(deadline, MonoTime::min);
            if call_timer.poll(cx, until).is_ready() {
                return Poll::Ready(match listened {
                    Some((status, hang_up)) if hang_up == until => ExchangeEnd::answered(status),
                    _ => {
                        let cause = order.progress.stage().cause();
                        ExchangeEnd::without(Outcome::Timeout, Some(cause))
                    }
                });
            }
            match is_cancelled() {
                true => Poll::Ready(ExchangeEnd::without(Outcome::Cancelled, None)),
                false => Poll::Pending,
            }
        })
        .await
    }

    /// Reports a call as a sample, if it was drawn.
    pub(crate) fn sample(&self, arrival: &Arrival, due: MonoTime, end: &CallEnd) {
        let (block, index) = arrival.id.draw_key();
        if !self.workload.is_sampled(block, index, end.call) {
            return;
        }
        let due_us = self.recorder.since_start_us(due);
        let sample = end.sample(arrival.id.user_and_number(), due_us);
        self.tally.borrow_mut().sample(sample);
    }

    /// Whether a call may use a connection that is open already.
    pub(crate) fn may_reuse(&self, arrival: &Arrival, step: usize) -> bool {
        let share_ppm = match self.program.connections.reuse {
            Reuse::Always => return true,
            Reuse::Never => return false,
            Reuse::SharePpm(share_ppm) => share_ppm,
        };
        let (block, index) = arrival.id.draw_key();
        self.workload.reuse_draw_ppm(block, index, step) < share_ppm
    }

    pub(crate) fn write_id(&self, arrival: &Arrival, step: usize, id: &mut String) {
        if !self.program.has_ids {
            return;
        }
        id.clear();
        let run = &self.run;
        let written = match arrival.id {
            ArrivalId::Planned(n) => write!(id, "{run}/{n}"),
            ArrivalId::Iteration { user, k } => {
                write!(id, "{run}/{user}.{}.{k}", arrival.key.generation)
            }
        };
        written.expect("a String takes what is written");
        if self.program.has_trace_context {
            to_traceparent(id, step);
            return;
        }
        let written = match arrival.session {
            None => write!(id, "/{step}"),
            Some(session) => write!(id, ".{session}/{step}"),
        };
        written.expect("a String takes what is written");
    }
}

/// Records a panic of its task.
pub(crate) struct PanicGuard<'a>(&'a Cell<bool>);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.set(true);
        }
    }
}

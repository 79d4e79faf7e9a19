//! Arrivals whose tasks run in Python: a user says what it wants, the core does it and goes on with
//! the user, until its part is over.
//!
//! The last call of a task is counted only when the task has ended, since its check decides how it
//! ended. What happens before the start and after the end is sent, but never counted.

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use loadpilot_engine::tally::{CallEnd, Phases};
use loadpilot_events::limits::{NAME_BYTES_MAX, RAISED_BYTES_MAX};
use loadpilot_events::outcome::Outcome;
use loadpilot_events::script::RaisedBy;
use tokio::time::{sleep, timeout};

use super::calls::{Arrival, Begin, Calls, Ended, Kit, Name};
use super::clock::MonoTime;
use super::crew::{Crew, Member};
use super::kept::Kept;
use super::names::Made;
use super::program::Call;
use super::progress::Progress;
use super::tokens::Tokens;
use super::wire::{Order, Trace, Wire};
use crate::script::{self, Answer, Heard, Next, Part, Request};

/// Users that are prepared at a time: a target must not be stormed before the run has begun.
const PREPARED_AT_A_TIME: usize = 16;
/// Longest time for all clean-ups together.
const FAREWELL: Duration = Duration::from_secs(10);
/// A user that goes on asking for requests when there are no more to be had is given up.
const REFUSALS_MAX: u32 = 1_000;
/// Longest reason why users could not be prepared, in bytes.
const REASON_BYTES_MAX: usize = 4_000;

/// What a user's part is done with, on behalf of an arrival or of nobody.
struct Stage<'a> {
    arrival: Option<&'a Arrival>,
    /// When the pacer's arrival was given to the user.
    dispatched: MonoTime,
    kit: &'a mut Kit,
    /// Calls made so far.
    calls: usize,
    /// A call that has ended and is not counted yet, and when it was due.
    held: Option<(CallEnd, MonoTime)>,
    all_ok: bool,
    refusals: u32,
}

impl<W: Wire> Calls<W> {
    /// Prepares the users of a crew before the start, some at a time.
    ///
    /// # Errors
    /// How many could not be prepared, and what the first of them raised.
    pub(crate) async fn prepare(&self, crew: &Crew) -> Result<(), String> {
        let numbers = crew.numbers();
        let (next, failed) = (Cell::new(0), RefCell::new((0_usize, None)));
        let lane = async || {
            let mut kit = Self::kit_aside();
            while let Some(&number) = numbers.get(next.replace(next.get() + 1)) {
                if let Err(raised) = self.join(crew, number, &mut kit).await {
                    let mut failed = failed.borrow_mut();
                    failed.0 += 1;
                    failed.1.get_or_insert(raised);
                    if failed.0 >= PREPARED_AT_A_TIME {
                        // It is not going to get better.
                        next.set(numbers.len());
                    }
                }
            }
        };
        let lanes = PREPARED_AT_A_TIME.min(numbers.len());
        all((0..lanes).map(|_| Box::pin(lane()) as _).collect()).await;
        match failed.into_inner() {
            (_, None) => Ok(()),
            (count, Some(raised)) => {
                let raised = self.mask(&raised);
                let raised = cut(&raised, REASON_BYTES_MAX);
                let tried = next.get().min(numbers.len());
                Err(format!(
                    "on_start failed for {count} of {tried} users: {raised}"
                ))
            }
        }
    }

    /// Makes and prepares one user.
    async fn join(&self, crew: &Crew, number: u32, kit: &mut Kit) -> Result<(), String> {
        let mut member = crew.make(number)?;
        let ended = self
            .act(&mut member, Part::Start, &mut Stage::aside(kit))
            .await;
        match ended.and_then(|ended| ended.raised) {
            Some(raised) => Err(raised),
            None => {
                member.is_prepared = true;
                crew.give(member);
                Ok(())
            }
        }
    }

    /// Lets everybody clean up, in bounded time; what they raise is told to the log.
    pub(crate) async fn retire(&self, crew: &Crew) {
        let members = RefCell::new(crew.dismiss());
        let lane = async || {
            let mut kit = Self::kit_aside();
            loop {
                let Some(mut member) = members.borrow_mut().pop() else {
                    return;
                };
                if !member.is_prepared {
                    continue;
                }
                let ended = self
                    .act(&mut member, Part::Stop, &mut Stage::aside(&mut kit))
                    .await;
                if let Some(raised) = ended.and_then(|ended| ended.raised) {
                    let raised = self.mask(&raised);
                    tracing::warn!(user = member.number, raised, "on_stop failed");
                }
            }
        };
        let lanes = (0..PREPARED_AT_A_TIME)
            .map(|_| Box::pin(lane()) as _)
            .collect();
        if timeout(FAREWELL, all(lanes)).await.is_err() {
            let left = members.borrow().len();
            tracing::warn!(
                left,
                "on_stop took too long: the last users were not cleaned up"
            );
        }
    }

    /// Does an arrival's task in Python; returns when its last call ended.
    pub(crate) async fn perform_script(
        &self,
        crew: &Crew,
        arrival: &Arrival,
        dispatched: MonoTime,
        kit: &mut Kit,
    ) -> MonoTime {
        self.tally.borrow_mut().started(arrival.key);
        let Some(mut member) = self.member(crew, arrival, kit).await else {
            self.tally.borrow_mut().task_error(arrival.key);
            return MonoTime::now();
        };
        let mut stage = Stage {
            arrival: Some(arrival),
            dispatched,
            kit,
            calls: 0,
            held: None,
            all_ok: true,
            refusals: 0,
        };
        let part = Part::Task(arrival.key.task);
        let ended = self.act(&mut member, part, &mut stage).await;
        let Stage {
            held, mut all_ok, ..
        } = stage;
        let end = MonoTime::now();
        let gone = ended.is_none();
        let ended = ended.unwrap_or_default();
        if let Some((mut call, due)) = held {
            if call.status.is_some() {
                match ended.check {
                    None => {}
                    Some(Ok(())) => call.outcome = Outcome::Ok,
                    Some(Err(text)) => {
                        call.outcome = Outcome::CheckFailed;
                        self.raised(arrival, RaisedBy::Check, &text);
                    }
                }
            }
            all_ok &= call.outcome == Outcome::Ok;
            self.book(arrival, due, &call);
        }
        if let Some(text) = ended.raised {
            all_ok = false;
            self.raised(arrival, RaisedBy::Task, &text);
        }
        if !all_ok || gone {
            self.tally.borrow_mut().task_error(arrival.key);
        }
        if !gone {
            crew.give(member);
        }
        end
    }

    /// The user of an arrival. One of a closed loop that came here with a shard is prepared now.
    async fn member(&self, crew: &Crew, arrival: &Arrival, kit: &mut Kit) -> Option<Member> {
        if let Some(member) = crew.take(arrival.name) {
            return Some(member);
        }
        let Name::Iteration { user, .. } = arrival.name else {
            return None;
        };
        match self.join(crew, user, kit).await {
            Ok(()) => crew.take(arrival.name),
            Err(raised) => {
                self.raised(arrival, RaisedBy::Task, &format!("on_start: {raised}"));
                None
            }
        }
    }

    /// Lets a user do one part; `None` when it had to be given up.
    async fn act(
        &self,
        member: &mut Member,
        part: Part,
        stage: &mut Stage<'_>,
    ) -> Option<script::Ended> {
        let mut next = member.user.begin(part);
        loop {
            let heard = match next {
                Next::Ended(ended) => return Some(ended),
                Next::Sleep(time) => {
                    self.rest(time).await;
                    Heard::Awake
                }
                Next::Send(request) => self.answer(&request, stage).await,
                Next::Batch(requests) => self.answers(&requests, stage).await,
            };
            if matches!(heard, Heard::Stopped) {
                stage.refusals += 1;
                if stage.refusals > REFUSALS_MAX {
                    return None;
                }
            }
            next = member.user.go_on(heard);
            // A user that never waits would else keep the pacer from its commands.
            tokio::task::consume_budget().await;
        }
    }

    /// Waits; a cancel ends it.
    async fn rest(&self, time: Duration) {
        let mut sleep = std::pin::pin!(sleep(time));
        poll_fn(|cx| match self.is_cancelled() {
            true => Poll::Ready(()),
            false => sleep.as_mut().poll(cx),
        })
        .await;
    }

    /// Sends what a user made up.
    async fn answer(&self, request: &Arc<Request>, stage: &mut Stage<'_>) -> Heard {
        if self.is_over_for(stage) {
            return Heard::Stopped;
        }
        let one = self.sending(request, stage, 0);
        let (heard, held) = self.converse(one, stage.kit).await;
        stage.calls += 1;
        stage.held = held;
        heard
    }

    /// Sends several requests at a time. The last of them is the last call of the task so far.
    async fn answers(&self, requests: &[Arc<Request>], stage: &mut Stage<'_>) -> Heard {
        if self.is_over_for(stage) {
            return Heard::Stopped;
        }
        let mut kits = std::mem::take(&mut stage.kit.others);
        kits.resize_with(requests.len().max(kits.len()), || self.kit());
        let heard: Vec<_> = requests.iter().map(|_| RefCell::new(None)).collect();
        let lanes = requests.iter().zip(&mut kits).zip(&heard).enumerate();
        let lanes = lanes.map(|(place, ((request, kit), heard))| {
            let one = self.sending(request, stage, place);
            Box::pin(async move {
                *heard.borrow_mut() = Some(self.converse(one, kit).await);
            }) as _
        });
        all(lanes.collect()).await;
        let mut answers = Vec::with_capacity(requests.len());
        for (heard, held) in heard.into_iter().filter_map(RefCell::into_inner) {
            self.settle(stage);
            stage.calls += 1;
            stage.held = held;
            answers.push(heard);
        }
        stage.kit.others = kits;
        Heard::Batch(answers)
    }

    /// Counts the call before, now that it was not the last; whether nothing may follow it.
    fn is_over_for(&self, stage: &mut Stage<'_>) -> bool {
        self.settle(stage);
        let is_over = stage.arrival.is_some() && self.stopped().is_some() && stage.calls > 0;
        stage.all_ok &= !is_over;
        is_over
    }

    fn settle(&self, stage: &mut Stage<'_>) {
        if let (Some(arrival), Some((call, due))) = (stage.arrival, stage.held.take()) {
            stage.all_ok &= call.outcome == Outcome::Ok;
            self.book(arrival, due, &call);
        }
    }

    /// What is known of a request before it is sent; `place` is its place in its batch.
    fn sending<'a>(&self, request: &Arc<Request>, stage: &Stage<'a>, place: usize) -> Sending<'a> {
        let call = match stage.arrival {
            None => self.program.compose(request, 0, false).map(Rc::new),
            Some(arrival) => self.made(arrival, request),
        };
        Sending {
            arrival: stage.arrival,
            call,
            step: stage.calls + place,
            prelude: (stage.calls == 0).then_some(stage.dispatched),
            is_seen: stage
                .arrival
                .is_some_and(|arrival| self.is_to_be_seen(arrival)),
        }
    }

    /// The call that a request of an arrival is, with its name told to the counters.
    fn made(&self, arrival: &Arrival, request: &Arc<Request>) -> Result<Rc<Call>, String> {
        let (task, is_seen) = (arrival.key.task, self.is_to_be_seen(arrival));
        let known = self.names.made(task, request).filter(|_| !is_seen);
        let made = match known {
            Some(made) => made,
            None => {
                let tasks = self.program.tasks.len();
                let named = self.names.number(task, &name_of(request), tasks);
                let call = self.program.compose(request, named.call, is_seen)?;
                let call = Rc::new(call);
                let made = Made { named, call };
                if !is_seen {
                    self.names.keep(task, request, &made);
                }
                made
            }
        };
        self.tally.borrow_mut().name(&made.named);
        Ok(made.call)
    }

    /// One exchange: what the user hears, and what is to be counted for its arrival.
    async fn converse(
        &self,
        one: Sending<'_>,
        kit: &mut Kit,
    ) -> (Heard, Option<(CallEnd, MonoTime)>) {
        let call = match &one.call {
            Ok(call) => call,
            Err(why) => return (Heard::Unsendable(why.clone()), None),
        };
        let now = MonoTime::now();
        let mut begin = Begin {
            due: now,
            dispatched: now,
        };
        let mut phases = Phases::default();
        let mut may_reuse = true;
        if let Some(arrival) = one.arrival {
            if let Some(given) = one.prelude {
                // What Python did before its first request is the generator's own lateness.
                begin.due = arrival.due;
                let reached_us = arrival.reached.since_us(arrival.due);
                phases.schedule_lag_us = Some(reached_us + now.since_us(given));
                phases.queue_us = Some(given.since_us(arrival.reached));
            }
            self.write_id(arrival, one.step, &mut kit.id);
            may_reuse = self.may_reuse(arrival, one.step);
        } else {
            kit.id.clear();
            write!(kit.id, "{}/-/{}", self.run, one.step).expect("a String takes what is written");
        }
        let progress = Progress::new(now);
        let (kept, seen) = (
            RefCell::new(Kept::default()),
            one.is_seen.then(RefCell::default),
        );
        let tokens = call.stream.map(|stream| {
            let tokens = kit.tokens.get_or_init(|| RefCell::new(Tokens::new()));
            tokens.borrow_mut().begin(stream);
            tokens
        });
        let order = Order {
            call,
            id: self.program.has_ids.then_some(kit.id.as_str()),
            may_reuse,
            progress: &progress,
            tokens,
            seen: seen.as_ref(),
            kept: Some(&kept),
        };
        let times = (begin.due, begin.dispatched);
        let begun = one.arrival.and_then(|arrival| {
            self.recorder
                .begin(kit.seat, arrival, call.number, times, &phases)
        });
        let mut trace = Trace {
            phases,
            ..Trace::default()
        };
        let deadline = now.plus_us(call.timeout_us);
        let time_out = &mut kit.time_out;
        let ended = self.exchange(order, deadline, &mut trace, time_out).await;
        let end = MonoTime::now();
        let held = one.arrival.map(|arrival| {
            let call_end = Self::call_end(arrival, order, begin, end, ended, &trace);
            self.recorder.end(kit.seat, begun, &call_end);
            self.count_tokens(order, &call_end);
            self.write_out(order, arrival, &call_end);
            (call_end, begin.due)
        });
        (heard(ended, kept.into_inner(), end.since_us(now)), held)
    }

    fn book(&self, arrival: &Arrival, due: MonoTime, end: &CallEnd) {
        self.tally.borrow_mut().call(end);
        self.sample(arrival, due, end);
    }

    /// Counts what was raised, in words that fit and hold no secret.
    fn raised(&self, arrival: &Arrival, by: RaisedBy, text: &str) {
        let text = self.mask(text);
        let text = cut(&text, RAISED_BYTES_MAX);
        self.tally.borrow_mut().raised(arrival.key.task, by, text);
    }

    fn mask(&self, text: &str) -> String {
        self.program.masks.apply(text)
    }
}

/// A request that is about to be sent.
struct Sending<'a> {
    arrival: Option<&'a Arrival>,
    /// The call, or why there is none.
    call: Result<Rc<Call>, String>,
    /// Its place among the calls of its part.
    step: usize,
    /// When the arrival was given to the user, if nothing was sent for it before.
    prelude: Option<MonoTime>,
    is_seen: bool,
}

impl<'a> Stage<'a> {
    /// Of a part that no arrival asked for.
    fn aside(kit: &'a mut Kit) -> Self {
        Self {
            arrival: None,
            dispatched: MonoTime::now(),
            kit,
            calls: 0,
            held: None,
            all_ok: true,
            refusals: 0,
        }
    }
}

/// What a user hears of an exchange.
fn heard(ended: Ended, kept: Kept, elapsed_us: u64) -> Heard {
    match ended.status {
        Some(_) if kept.is_cut => {
            Heard::Unsendable("the answer is longer than 64 MiB, more than a task can read".into())
        }
        Some(status) => Heard::Answer(Answer {
            status,
            head: kept.head,
            body: kept.body,
            elapsed_us,
        }),
        None => Heard::Broken {
            outcome: ended.outcome,
            cause: ended.cause,
        },
    }
}

/// What a request is called: as its task says, or by its method and its path without the query.
fn name_of(request: &Request) -> String {
    let whole = match &request.name {
        Some(name) => name.clone(),
        None => {
            let path = request.path.split('?').next().unwrap_or_default();
            format!("{} {path}", request.method.name())
        }
    };
    cut(&whole, NAME_BYTES_MAX).to_owned()
}

/// The beginning of `text`, of so many bytes at most.
fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// Waits for all of them.
async fn all(mut futures: Vec<Pin<Box<dyn Future<Output = ()> + '_>>>) {
    poll_fn(|cx| {
        futures.retain_mut(|future| future.as_mut().poll(cx).is_pending());
        match futures.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

//! Arrivals whose tasks run in Python: a user says what it wants, the core does it and goes on with
//! the user, until its part is over.
//!
//! The last call of a task is counted only when the task has ended, since its check decides how it
//! ended. What happens before the start and after the end is sent, but never counted. For an
//! arrival nothing is sent after a stop.

mod concurrent;
mod exchange;
mod hooks;
pub(crate) mod virtual_users;

pub(crate) use hooks::FAREWELL;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use loadpilot_engine::control::decide::timeouts::SCRIPT_TIMEOUTS;
use loadpilot_engine::schedule::random::Whose;
use loadpilot_engine::tally::CallEnd;
use loadpilot_events::limits::{RAISED_BYTES_MAX, TRACE_BYTES_MAX};
use loadpilot_events::log::delta::LastCall;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::plan::script::{CallName, RaisedBy};
use tokio::time::sleep;

use super::arrival_runner::{Arrival, Calls, Name};
use super::users::virtual_users::{Crew, Member};
use crate::fire::clock::MonoTime;
use crate::fire::http::wire::Wire;
use crate::fire::journal::record::CallRecord;
use crate::fire::request::scratch::Kit;
use crate::users::script::{self, Heard, Next, Occasion, Part, User};
use crate::wall_clock;
use concurrent::{Abreast, Came};

/// A user that goes on asking for requests when there are no more to be had is given up.
const REFUSALS_MAX: u32 = 1_000;
/// So long does a user rest whose preparation failed, before it tries again.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// So long may a user go on waiting for something of its own after it was told not to.
const CALLED_OFF: Duration = Duration::from_secs(1);
/// Without a limit.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// What a user's part is done with, on behalf of an arrival or of nobody.
struct Stage<'a> {
    arrival: Option<&'a Arrival>,
    /// When the pacer's arrival was given to the user.
    dispatched: MonoTime,
    kit: &'a mut Kit,
    /// Calls made so far.
    calls: usize,
    /// Time before the first call in which the user rested, which is nobody's lateness.
    rested_us: u64,
    /// A call that has ended and is not counted yet.
    held: Option<Held>,
    /// How the last call that is counted had ended.
    last: Option<Outcome>,
    all_ok: bool,
    refusals: u32,
    /// Whether it was told to wait for nothing of its own any more.
    is_called_off: bool,
    /// When the part has taken too long.
    until: Option<MonoTime>,
}

/// A call that has ended and is not counted yet: its check may still say how it ended.
struct Held {
    end: CallEnd,
    due: MonoTime,
    named: Arc<CallName>,
    /// Its place in the ring, which holds it until it is counted, and what stands there.
    begun: (u32, Option<CallRecord>),
}

/// What a wait for a user comes to.
enum Outside {
    /// It wants something.
    Wants(Next),
    /// A request that it has under way has ended.
    Came(Box<Came>),
}

impl<'a> Stage<'a> {
    /// Of a part that no arrival asked for.
    fn aside(kit: &'a mut Kit) -> Self {
        Self::of(None, MonoTime::now(), kit)
    }

    fn of(arrival: Option<&'a Arrival>, dispatched: MonoTime, kit: &'a mut Kit) -> Self {
        Self {
            arrival,
            dispatched,
            kit,
            calls: 0,
            rested_us: 0,
            held: None,
            last: None,
            all_ok: true,
            refusals: 0,
            is_called_off: false,
            until: None,
        }
    }
}

impl<W: Wire> Calls<W> {
    /// Does an arrival's task in Python; returns when its last call ended.
    pub(crate) async fn perform_script(
        &self,
        crew: &Crew,
        arrival: &Arrival,
        dispatched: MonoTime,
        kit: &mut Kit,
    ) -> MonoTime {
        self.tally.borrow_mut().started(arrival.key);
        self.recorder.started(arrival.key);
        let limit_us = SCRIPT_TIMEOUTS * self.timeout_us();
        let mut stage = Stage::of(Some(arrival), dispatched, kit);
        stage.until = Some(dispatched.plus_us(limit_us));
        let member = match crew.take(arrival.name) {
            Some(member) => Some(member),
            // Boxed, since it happens once to few users.
            None => Box::pin(self.latecomer(crew, &mut stage)).await,
        };
        let Some(mut member) = member else {
            self.task_error(arrival);
            return MonoTime::now();
        };
        let part = Part::Task(arrival.key.task);
        let ended = self.act(&mut member, part, &mut stage).await;
        let end = MonoTime::now();
        self.measured(arrival, &mut member);
        let Stage {
            held,
            mut last,
            mut all_ok,
            until,
            ..
        } = stage;
        let is_given_up = ended.is_none();
        let mut ended = ended.unwrap_or_default();
        if let Some(mut held) = held {
            if held.end.status.is_some()
                && let Some(check) = ended.check
            {
                held.end.outcome = self.checked(arrival, check, ended.trace.as_deref());
            }
            all_ok &= held.end.outcome == Outcome::Ok;
            last = Some(held.end.outcome);
            self.book(arrival, held);
        }
        if until.is_some_and(|until| end >= until) && self.stopped().is_none() {
            let text = format!("took longer than {} s and was ended", limit_us / 1_000_000);
            ended.raised = ended.raised.or(Some(text));
        }
        if let Some(text) = ended.raised {
            all_ok = false;
            self.raised(arrival, RaisedBy::Task, &text, ended.trace.as_deref());
            self.task_raised(arrival, last);
        }
        if let Some(text) = ended.blocked {
            self.raised(arrival, RaisedBy::Blocking, &text, None);
        }
        if !all_ok || is_given_up {
            self.task_error(arrival);
        }
        if !is_given_up {
            crew.give(member);
        }
        end
    }

    /// A user of a closed loop that came here with a shard: it is prepared now.
    async fn latecomer(&self, crew: &Crew, stage: &mut Stage<'_>) -> Option<Member> {
        let arrival = stage.arrival?;
        let Name::Iteration { user, .. } = arrival.name else {
            return None;
        };
        match self.join(crew, user, stage.kit).await {
            Ok(()) => {
                // Its preparation is like a rest.
                stage.rested_us = MonoTime::now().since_us(stage.dispatched);
                crew.take(arrival.name)
            }
            Err(raised) => {
                let text = format!("on_start: {raised}");
                self.raised(arrival, RaisedBy::Task, &text, None);
                self.task_raised(arrival, None);
                self.rest(AFTER_FAILURE, true).await;
                None
            }
        }
    }

    /// Lets a user do one part; `None` when it had to be given up.
    async fn act<'a>(
        &'a self,
        member: &mut Member,
        part: Part,
        stage: &mut Stage<'a>,
    ) -> Option<script::Ended> {
        let mut abreast = Abreast::default();
        let ended = self.do_part(member, part, stage, &mut abreast).await;
        if !abreast.is_empty() {
            self.see_out(&mut abreast, stage).await;
        }
        ended
    }

    async fn do_part<'a>(
        &'a self,
        member: &mut Member,
        part: Part,
        stage: &mut Stage<'a>,
        abreast: &mut Abreast<'a>,
    ) -> Option<script::Ended> {
        let occasion = self.occasion(member.number, part, stage.arrival);
        let mut next = member.user.begin(part, occasion);
        loop {
            let now = match next {
                // Nobody asks when, and each look at a clock costs.
                Next::Ended(_) => stage.dispatched,
                _ => MonoTime::now(),
            };
            let heard = match next {
                Next::Ended(ended) => return Some(ended),
                Next::Beside(wishes) => {
                    abreast.wish(wishes);
                    next = Next::Outside;
                    continue;
                }
                Next::Outside => {
                    self.set_off(abreast, stage, now);
                    match self
                        .outside(member.user.as_mut(), stage, abreast, now)
                        .await?
                    {
                        Outside::Wants(wanted) => {
                            next = wanted;
                            continue;
                        }
                        Outside::Came(came) => self.came(*came, stage),
                    }
                }
                _ if self.is_over_for(stage, now) => Heard::Stopped,
                Next::Sleep(time) => self.rested(time, stage, now).await,
                Next::Send(request) => self.answer(&request, stage, now).await,
                Next::Batch(requests) => self.answers(&requests, stage).await,
            };
            if heard.is_refusal() {
                stage.all_ok = false;
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

    /// Whose a part of a user is, and when it is due.
    fn occasion(&self, user: u32, part: Part, arrival: Option<&Arrival>) -> Occasion {
        let whose = match arrival.map(|arrival| arrival.name) {
            Some(Name::Planned(n)) => Whose::Arrival(n),
            Some(Name::Iteration { user, k }) => Whose::Iteration { user, k },
            None if part == Part::Stop => Whose::Stop(user),
            None => Whose::Start(user),
        };
        let due = match arrival {
            Some(arrival) => self.shown_at(arrival.due),
            None => wall_clock::now(),
        };
        Occasion { whose, due }
    }

    /// Whether an arrival may go on no more: the run was stopped, or it has taken too long.
    fn is_over_for(&self, stage: &Stage<'_>, now: MonoTime) -> bool {
        let too_long = stage.until.is_some_and(|until| now >= until);
        stage.arrival.is_some() && (self.barred(now).is_some() || too_long)
    }

    /// Waits with a user for something of its own, and for what it has under way. When the former
    /// may not go on it is told so, once; `None`: it waits on all the same.
    async fn outside(
        &self,
        user: &mut dyn User,
        stage: &mut Stage<'_>,
        abreast: &mut Abreast<'_>,
        before: MonoTime,
    ) -> Option<Outside> {
        let left = match stage.until {
            _ if stage.is_called_off => CALLED_OFF,
            Some(until) => Duration::from_micros(until.since_us(before)),
            None => FAR,
        };
        let (is_counted, is_called_off) = (stage.arrival.is_some(), stage.is_called_off);
        let mut limit = pin!(sleep(left));
        let next = poll_fn(|cx| {
            if let Poll::Ready(next) = user.poll_outside(cx) {
                return Poll::Ready(Some(Outside::Wants(next)));
            }
            if !abreast.is_empty() {
                // Whatever is under way ends by itself.
                return abreast
                    .poll(cx)
                    .map(|came| Some(Outside::Came(Box::new(came))));
            }
            let is_stopped = is_counted && !is_called_off && self.stopped().is_some();
            match is_stopped || limit.as_mut().poll(cx).is_ready() {
                true => Poll::Ready(None),
                false => Poll::Pending,
            }
        });
        let next = next.await;
        if stage.calls == 0 {
            stage.rested_us += MonoTime::now().since_us(before);
        }
        if next.is_some() {
            return next;
        }
        stage.all_ok = false;
        match std::mem::replace(&mut stage.is_called_off, true) {
            true => None,
            false => Some(Outside::Wants(user.go_on(Heard::Stopped))),
        }
    }

    async fn rested(&self, time: Duration, stage: &mut Stage<'_>, before: MonoTime) -> Heard {
        let left = stage.until.map(|until| until.since_us(before));
        let time = left.map_or(time, |left_us| time.min(Duration::from_micros(left_us)));
        self.rest(time, stage.arrival.is_some()).await;
        let now = MonoTime::now();
        if stage.calls == 0 {
            stage.rested_us += now.since_us(before);
        }
        match self.is_over_for(stage, now) {
            true => Heard::Stopped,
            false => Heard::Awake,
        }
    }

    /// Waits; for an arrival no longer than until a stop.
    async fn rest(&self, time: Duration, is_counted: bool) {
        let mut sleep = pin!(sleep(time));
        poll_fn(|cx| match is_counted && self.stopped().is_some() {
            true => Poll::Ready(()),
            false => sleep.as_mut().poll(cx),
        })
        .await;
    }

    /// Counts the call before, now that it was not the last.
    fn settle(&self, stage: &mut Stage<'_>) {
        if let (Some(arrival), Some(held)) = (stage.arrival, stage.held.take()) {
            stage.all_ok &= held.end.outcome == Outcome::Ok;
            stage.last = Some(held.end.outcome);
            self.book(arrival, held);
        }
    }

    /// Counts a call. Its name goes with it, since rows may have been taken since it was sent.
    fn book(&self, arrival: &Arrival, held: Held) {
        let (seat, begun) = held.begun;
        {
            let mut tally = self.tally.borrow_mut();
            tally.name(&held.named);
            tally.call(&held.end);
        }
        self.recorder.end(seat, begun, &held.end);
        self.sample(arrival, held.due, &held.end);
    }

    /// Counts a check that looked at an answer; gives what that makes of the call.
    fn checked(
        &self,
        arrival: &Arrival,
        check: Result<(), String>,
        trace: Option<&str>,
    ) -> Outcome {
        self.tally.borrow_mut().check(arrival.key, check.is_ok());
        self.recorder.check(arrival.key, check.is_ok());
        match check {
            Ok(()) => Outcome::Ok,
            Err(text) => {
                self.raised(arrival, RaisedBy::Check, &text, trace);
                Outcome::CheckFailed
            }
        }
    }

    /// Counts what a user added to metrics in an arrival's task, however that ended.
    fn measured(&self, arrival: &Arrival, member: &mut Member) {
        let measured = member.user.measured();
        let mut tally = self.tally.borrow_mut();
        for one in measured {
            tally.metric(arrival.key, &one.name, one.value);
            self.recorder.metric(arrival.key, &one.name, one.value);
        }
    }

    /// Counts an arrival whose task raised, by how its last call had ended.
    fn task_raised(&self, arrival: &Arrival, last: Option<Outcome>) {
        let last = match last {
            Some(Outcome::Ok) => LastCall::Ok,
            Some(_) => LastCall::Failed,
            None => LastCall::Absent,
        };
        self.tally.borrow_mut().task_raised(arrival.key, last);
        self.recorder.task_raised(arrival.key, last);
    }

    /// Counts what was raised, in words that fit and hold no secret of the plan.
    fn raised(&self, arrival: &Arrival, by: RaisedBy, text: &str, trace: Option<&str>) {
        let task = arrival.key.task;
        let text = self.mask(text);
        let (text, is_new) = self.names.raised(task, cut(&text, RAISED_BYTES_MAX));
        let mut tally = self.tally.borrow_mut();
        tally.raised(task, by, &text);
        if let Some(trace) = trace.filter(|_| is_new) {
            tally.traced(task, by, &text, cut(&self.mask(trace), TRACE_BYTES_MAX));
        }
        self.recorder.raised(arrival.key, by, &text);
    }

    /// A text of the scenario's, without the secrets that it was given.
    pub(crate) fn mask(&self, text: &str) -> String {
        self.program.masks.apply(text)
    }

    fn timeout_us(&self) -> u64 {
        self.program.timeout_us()
    }
}

/// The beginning of `text`, of so many bytes at most.
fn cut(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
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

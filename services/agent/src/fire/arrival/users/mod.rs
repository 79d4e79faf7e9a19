//! Arrivals whose tasks run in Python: the user returns its next operation, the core performs it
//! and resumes the user, until the part is over.
//!
//! - [`virtual_users`]: the users of a core.
//! - [`hooks`]: their preparation and their clean-up.
//! - [`part_context`]: the state of the part that a user performs.
//! - [`exchange`]: one request, or a batch.
//! - [`concurrent`]: requests in flight at the same time.
//! - [`user_counts`]: counts the events of an arrival.
//!
//! The last call of a task is counted only when the task has ended, since the task's check decides
//! its outcome. Requests before the start and after the end are never counted. After a stop,
//! nothing is sent for an arrival.

mod concurrent;
mod exchange;
pub(crate) mod hooks;
mod part_context;
mod user_counts;
pub(crate) mod virtual_users;

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use loadpilot_engine::control::decide::timeouts::SCRIPT_TIMEOUTS;
use loadpilot_engine::schedule::random::DrawScope;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::plan::script::RaisedBy;
use tokio::time::sleep;

use super::arrival_runner::ArrivalRunner;
use super::users::virtual_users::{VirtualUser, VirtualUsers};
use crate::fire::arrival_id::{Arrival, ArrivalId};
use crate::fire::clock::MonoTime;
use crate::fire::http::wire::Wire;
use crate::fire::request::scratch::Scratch;
use crate::users::script::{Completion, Occasion, Operation, Part, PartResult, User};
use crate::wall_clock;
use concurrent::{ConcurrentRequests, FinishedRequest};
use part_context::PartContext;

/// Maximum number of refused requests, after which a user is abandoned.
const REFUSALS_MAX: u32 = 1_000;
/// Retry delay after `on_start` failed.
const PREPARE_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Time in which a user may still wait for something of its own after it was asked to stop.
const STOP_GRACE: Duration = Duration::from_secs(1);
/// Timeout of a wait without a limit.
const NO_LIMIT: Duration = Duration::from_secs(365 * 24 * 3600);

/// How a wait for a user ended.
enum WaitEnd {
    /// The user has its next operation.
    Next(Operation),
    /// One of its requests has ended.
    Finished(Box<FinishedRequest>),
}

impl<W: Wire> ArrivalRunner<W> {
    /// Performs an arrival's task in Python; returns the end of the task.
    pub(crate) async fn perform_script(
        &self,
        users: &VirtualUsers,
        arrival: &Arrival,
        dispatched: MonoTime,
        scratch: &mut Scratch,
    ) -> MonoTime {
        self.tally.borrow_mut().started(arrival.key);
        self.recorder.started(arrival.key);
        self.begin_session(arrival);
        let limit_us = SCRIPT_TIMEOUTS * self.timeout_us();
        let mut context = PartContext::of(Some(arrival), dispatched, scratch);
        context.until = Some(dispatched.plus_us(limit_us));
        let session = arrival.session.unwrap_or(0);
        let user = match users.take(arrival.id) {
            Some(user) if user.session == session => Some(user),
            // Boxed, since it seldom happens.
            leaving => Box::pin(self.prepare_late(users, leaving, &mut context)).await,
        };
        let Some(mut user) = user else {
            self.task_error(arrival);
            return MonoTime::now();
        };
        let part = Part::Task(arrival.key.task);
        context.is_checked = user.script.has_check(arrival.key.task);
        let result = self.run_part(&mut user, part, &mut context).await;
        let end = MonoTime::now();
        self.count_metrics(arrival, &mut user);
        let PartContext {
            pending,
            mut last,
            mut all_ok,
            until,
            ..
        } = context;
        let is_given_up = result.is_none();
        let mut result = result.unwrap_or_default();
        if let Some(mut pending) = pending {
            if pending.end.status.is_some()
                && let Some(check) = result.check
            {
                pending.end.outcome = self.count_check(arrival, check, result.trace.as_deref());
            }
            all_ok &= pending.end.outcome == Outcome::Ok;
            last = Some(pending.end.outcome);
            self.count_call(arrival, pending);
        }
        if until.is_some_and(|until| end >= until) && self.stopped().is_none() {
            let text = format!("took longer than {} s and was ended", limit_us / 1_000_000);
            result.raised = result.raised.or(Some(text));
        }
        if let Some(text) = result.raised {
            all_ok = false;
            // The end of the run cut the call off: the task has no error of its own.
            if last != Some(Outcome::Cancelled) {
                self.count_raised(arrival, RaisedBy::Task, &text, result.trace.as_deref());
                self.count_task_raised(arrival, last);
            }
        }
        if let Some(text) = result.blocked {
            self.count_raised(arrival, RaisedBy::Blocking, &text, None);
        }
        if !all_ok || is_given_up {
            self.task_error(arrival);
        }
        if !is_given_up {
            users.give(user);
        }
        end
    }

    /// Prepares a user of a closed loop whose shard came to this agent during the run, or that
    /// takes the place of a user whose session is over.
    async fn prepare_late(
        &self,
        users: &VirtualUsers,
        leaving: Option<VirtualUser>,
        context: &mut PartContext<'_>,
    ) -> Option<VirtualUser> {
        let arrival = context.arrival?;
        let ArrivalId::Iteration { user, .. } = arrival.id else {
            return None;
        };
        let session = (arrival.session.unwrap_or(0), leaving.is_some());
        if let Some(leaving) = leaving {
            // `clean_up` has logged the errors.
            drop(self.clean_up(leaving, context.scratch).await);
        }
        match self
            .prepare_user(users, user, session, context.scratch)
            .await
        {
            Ok(()) => {
                // Time spent on work that belongs to no arrival counts as a rest.
                context.rested_us = MonoTime::now().since_us(context.dispatched);
                users.take(arrival.id)
            }
            Err(raised) => {
                let text = format!("on_start: {raised}");
                self.count_raised(arrival, RaisedBy::Task, &text, None);
                self.count_task_raised(arrival, None);
                self.rest(PREPARE_RETRY_DELAY, true).await;
                None
            }
        }
    }

    /// Performs one part of a user; `None` when the user was abandoned.
    async fn run_part<'a>(
        &'a self,
        user: &mut VirtualUser,
        part: Part,
        context: &mut PartContext<'a>,
    ) -> Option<PartResult> {
        let mut concurrent = ConcurrentRequests::default();
        context.is_new_client = user.is_new_client;
        let result = self.drive_part(user, part, context, &mut concurrent).await;
        if !concurrent.is_empty() {
            self.finish_all(&mut concurrent, context).await;
        }
        user.is_new_client &= context.calls == 0;
        result
    }

    async fn drive_part<'a>(
        &'a self,
        user: &mut VirtualUser,
        part: Part,
        context: &mut PartContext<'a>,
        concurrent: &mut ConcurrentRequests<'a>,
    ) -> Option<PartResult> {
        let occasion = self.occasion(user, part, context.arrival);
        let mut next = user.script.begin(part, occasion);
        loop {
            context.target = self.target_of(user, context.arrival);
            let now = match next {
                // The time is not needed here, and reading the clock costs time.
                Operation::Ended(_) => context.dispatched,
                _ => MonoTime::now(),
            };
            let completion = match next {
                Operation::Ended(result) => return Some(result),
                Operation::Concurrent(requests) => {
                    concurrent.enqueue(requests);
                    next = Operation::External;
                    continue;
                }
                Operation::External => {
                    self.start_waiting(concurrent, context, now);
                    match self
                        .wait_outside(user.script.as_mut(), context, concurrent, now)
                        .await?
                    {
                        WaitEnd::Next(wanted) => {
                            next = wanted;
                            continue;
                        }
                        WaitEnd::Finished(finished) => self.finished(*finished, context),
                    }
                }
                _ if self.is_over_for(context, now) => Completion::Stopped,
                Operation::Sleep(time) => self.sleep(time, context, now).await,
                Operation::Send(request) => self.send_one(&request, context, now).await,
                Operation::Batch(requests) => self.send_batch(&requests, context).await,
            };
            if completion.is_stopped() {
                context.all_ok = false;
                context.refusals += 1;
                if context.refusals > REFUSALS_MAX {
                    return None;
                }
            }
            next = user.script.resume(completion);
            // Without it, a user that never waits would prevent the pacer from reading its
            // commands.
            tokio::task::consume_budget().await;
        }
    }

    /// Index of the target of the part that a user plays.
    fn target_of(&self, user: &VirtualUser, arrival: Option<&Arrival>) -> u16 {
        let of_type = || match self.workload.users() {
            Some(_) => self.workload.type_of_user(user.number),
            None => user.script.playing_type(),
        };
        match arrival {
            Some(arrival) => self.program.target_of_task(arrival.key.task),
            None => self.program.target_of_type(of_type),
        }
    }

    /// The occasion of a part: the key of its random draws, and when it is due.
    fn occasion(&self, user: &VirtualUser, part: Part, arrival: Option<&Arrival>) -> Occasion {
        let (number, session) = (user.number, user.session);
        let whose = match arrival.map(|arrival| arrival.id) {
            Some(ArrivalId::Planned(n)) => DrawScope::Arrival(n),
            Some(ArrivalId::Iteration { user, k }) => DrawScope::Iteration { user, k },
            None if part == Part::Stop => DrawScope::Stop {
                user: number,
                session,
            },
            None => DrawScope::Start {
                user: number,
                session,
            },
        };
        let due = match arrival {
            Some(arrival) => self.coordinator_time_at(arrival.due),
            None => wall_clock::now(),
        };
        Occasion {
            whose: self.workload.draws_of(whose),
            due,
        }
    }

    /// Whether an arrival has to end: the run was stopped, or the arrival has taken too long.
    fn is_over_for(&self, context: &PartContext<'_>, now: MonoTime) -> bool {
        let too_long = context.until.is_some_and(|until| now >= until);
        context.arrival.is_some() && (self.barred(now).is_some() || too_long)
    }

    /// Waits for the user itself and for its requests. When the user waits longer than its limit,
    /// it is asked to stop, once. Returns `None` if it waits on nevertheless.
    async fn wait_outside(
        &self,
        user: &mut dyn User,
        context: &mut PartContext<'_>,
        concurrent: &mut ConcurrentRequests<'_>,
        before: MonoTime,
    ) -> Option<WaitEnd> {
        let left = match context.until {
            _ if context.is_called_off => STOP_GRACE,
            Some(until) => Duration::from_micros(until.since_us(before)),
            None => NO_LIMIT,
        };
        let (is_counted, is_called_off) = (context.arrival.is_some(), context.is_called_off);
        let mut limit = pin!(sleep(left));
        let next = poll_fn(|cx| {
            if let Poll::Ready(next) = user.poll_external(cx) {
                return Poll::Ready(Some(WaitEnd::Next(next)));
            }
            if !concurrent.is_empty() {
                // Requests in flight end by themselves.
                return concurrent
                    .poll(cx)
                    .map(|finished| Some(WaitEnd::Finished(Box::new(finished))));
            }
            let is_stopped = is_counted && !is_called_off && self.stopped().is_some();
            match is_stopped || limit.as_mut().poll(cx).is_ready() {
                true => Poll::Ready(None),
                false => Poll::Pending,
            }
        });
        let next = next.await;
        if context.calls == 0 {
            context.rested_us += MonoTime::now().since_us(before);
        }
        if next.is_some() {
            return next;
        }
        context.all_ok = false;
        match std::mem::replace(&mut context.is_called_off, true) {
            true => None,
            false => Some(WaitEnd::Next(user.resume(Completion::Stopped))),
        }
    }

    async fn sleep(
        &self,
        time: Duration,
        context: &mut PartContext<'_>,
        before: MonoTime,
    ) -> Completion {
        let left = context.until.map(|until| until.since_us(before));
        let time = left.map_or(time, |left_us| time.min(Duration::from_micros(left_us)));
        self.rest(time, context.arrival.is_some()).await;
        let now = MonoTime::now();
        if context.calls == 0 {
            context.rested_us += now.since_us(before);
        }
        match self.is_over_for(context, now) {
            true => Completion::Stopped,
            false => Completion::Awake,
        }
    }

    /// Waits for `time`; the wait of an arrival ends early at a stop.
    async fn rest(&self, time: Duration, is_counted: bool) {
        let mut sleep = pin!(sleep(time));
        poll_fn(|cx| match is_counted && self.stopped().is_some() {
            true => Poll::Ready(()),
            false => sleep.as_mut().poll(cx),
        })
        .await;
    }

    fn timeout_us(&self) -> u64 {
        self.program.timeout_us()
    }
}

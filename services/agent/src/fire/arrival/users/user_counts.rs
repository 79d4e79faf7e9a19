//! Counts the events of a user's arrival, in the tally and in the ring alike.

use loadpilot_events::limits::{RAISED_BYTES_MAX, TRACE_BYTES_MAX};
use loadpilot_events::log::delta::LastCall;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::plan::script::RaisedBy;

use super::part_context::{PartContext, PendingCall};
use super::virtual_users::VirtualUser;
use crate::fire::arrival::arrival_runner::ArrivalRunner;
use crate::fire::arrival_id::Arrival;
use crate::fire::http::wire::Wire;
use crate::fire::request::redaction::truncate;

impl<W: Wire> ArrivalRunner<W> {
    /// Counts the pending call, which was not the last one of its part.
    pub(super) fn count_pending(&self, context: &mut PartContext<'_>) {
        if let (Some(arrival), Some(pending)) = (context.arrival, context.pending.take()) {
            context.all_ok &= pending.end.outcome == Outcome::Ok;
            context.last = Some(pending.end.outcome);
            self.count_call(arrival, pending);
        }
    }

    /// Counts a call. Its name is recorded with it, since rows may have been taken since it was
    /// sent.
    pub(super) fn count_call(&self, arrival: &Arrival, pending: PendingCall) {
        let (seat, begun) = pending.begun;
        {
            let mut tally = self.tally.borrow_mut();
            tally.name(&pending.name);
            tally.call(&pending.end);
        }
        let sent = (&*pending.call, &*pending.id);
        self.record_shown(sent, &pending.answer, arrival, &pending.end);
        self.recorder.end(seat, begun, &pending.end);
        self.sample(arrival, pending.due, &pending.end);
    }

    /// Counts a check of an answer; returns the outcome of the call.
    pub(super) fn count_check(
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
                self.count_raised(arrival, RaisedBy::Check, &text, trace);
                Outcome::CheckFailed
            }
        }
    }

    /// Counts the samples that a user added to metrics in an arrival's task, however the task
    /// ended.
    pub(super) fn count_metrics(&self, arrival: &Arrival, user: &mut VirtualUser) {
        let measured = user.script.take_samples();
        let mut tally = self.tally.borrow_mut();
        for one in measured {
            tally.metric(arrival.key, &one.name, one.value);
            self.recorder.metric(arrival.key, &one.name, one.value);
        }
    }

    /// Counts an arrival whose task raised an error, by the outcome of its last call.
    pub(crate) fn count_task_raised(&self, arrival: &Arrival, last: Option<Outcome>) {
        let last = match last {
            Some(Outcome::Ok) => LastCall::Ok,
            Some(_) => LastCall::Failed,
            None => LastCall::Absent,
        };
        self.tally.borrow_mut().task_raised(arrival.key, last);
        self.recorder.task_raised(arrival.key, last);
    }

    /// Counts an error by its text, truncated and without secrets of the plan.
    pub(crate) fn count_raised(
        &self,
        arrival: &Arrival,
        by: RaisedBy,
        text: &str,
        trace: Option<&str>,
    ) {
        let task = arrival.key.task;
        let text = self.redact(text);
        let (text, is_new) = self
            .registry
            .raised(task, truncate(&text, RAISED_BYTES_MAX));
        let mut tally = self.tally.borrow_mut();
        tally.raised(task, by, &text);
        if let Some(trace) = trace.filter(|_| is_new) {
            tally.traced(
                task,
                by,
                &text,
                truncate(&self.redact(trace), TRACE_BYTES_MAX),
            );
        }
        self.recorder.raised(arrival.key, by, &text);
    }

    /// A text of the scenario with the plan's secrets masked.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.program.redactor.apply(text)
    }
}

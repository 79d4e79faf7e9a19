//! Reports exchanges as text: those of the first arrivals, if requested, and the first failed ones
//! of each call.

use loadpilot_engine::tally::CallEnd;
use loadpilot_events::limits::FAILURE_LINE_BYTES_MAX;
use loadpilot_events::log::exchange::ExchangeSeen;

use super::arrival_runner::ArrivalRunner;
use crate::fire::arrival_id::{Arrival, ArrivalId};
use crate::fire::http::wire::Wire;
use crate::fire::request::debug_exchange::{self, ResponseHead, Shown};
use crate::fire::request::program::Call;
use crate::fire::request::redaction::truncate;

impl<W: Wire> ArrivalRunner<W> {
    /// Buffer for the beginning of an answer that may be reported as text: any answer of a debugged
    /// arrival, else only one that failed. An answer that a check will examine may fail whatever
    /// its status.
    pub(crate) fn shown(&self, arrival: &Arrival, call: u16, is_checked: bool) -> ResponseHead {
        ResponseHead::new(match self.is_debugged(arrival) {
            true => Shown::Any,
            false => self.failures.borrow().wanted(call, is_checked),
        })
    }

    /// Reports an exchange as text, if requested or as an example of a failed call. `id` is the
    /// value of its id header; empty without one.
    pub(crate) fn record_shown(
        &self,
        (call, id): (&Call, &str),
        answer: &ResponseHead,
        arrival: &Arrival,
        end: &CallEnd,
    ) {
        let redactor = &self.program.redactor;
        if self.is_debugged(arrival) {
            let request = call.debug_lines.clone();
            let seen = exchange_seen(arrival, call, end, request, answer.lines(redactor));
            self.tally.borrow_mut().exchange(seen);
        }
        if self.failures.borrow_mut().take(end.call, end.outcome) {
            let head = call.http1().head(id);
            let is_secret = |name: &str| self.program.defaults.is_secret(name);
            let request = debug_exchange::sent_lines(&head, redactor, is_secret);
            let mut seen = exchange_seen(arrival, call, end, request, answer.lines(redactor));
            for line in seen.request.iter_mut().chain(&mut seen.answer) {
                line.truncate(truncate(line, FAILURE_LINE_BYTES_MAX).len());
            }
            seen.body = answer.body(redactor);
            self.tally.borrow_mut().failure(seen);
        }
    }

    /// Whether the exchanges of an arrival are reported as text.
    pub(crate) fn is_debugged(&self, arrival: &Arrival) -> bool {
        match arrival.id {
            ArrivalId::Planned(n) => n < self.program.debug_requests,
            ArrivalId::Iteration { user, k } => {
                k == 0 && u64::from(user) < self.program.debug_requests
            }
        }
    }
}

fn exchange_seen(
    arrival: &Arrival,
    call: &Call,
    end: &CallEnd,
    request: Vec<String>,
    answer: Vec<String>,
) -> ExchangeSeen {
    ExchangeSeen {
        arrival: match arrival.id {
            ArrivalId::Planned(n) => n,
            ArrivalId::Iteration { user, .. } => user.into(),
        },
        call: call.number,
        request,
        request_body_bytes: call.body_bytes,
        answer,
        body: String::new(),
        received_bytes: end.received_bytes,
        outcome: end.outcome,
        cause: end.cause,
        response_us: end.response_us,
    }
}

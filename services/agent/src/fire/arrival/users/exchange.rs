//! Sends requests that users composed: one, or several at the same time.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::sync::Arc;

use loadpilot_events::limits::NAME_BYTES_MAX;

use super::part_context::{PartContext, PendingCall};
use crate::fire::arrival::arrival_runner::{ArrivalRunner, Begin, ExchangeEnd};
use crate::fire::arrival_id::Arrival;
use crate::fire::clock::MonoTime;
use crate::fire::futures::join_all;
use crate::fire::http::wire::{Order, Wire};
use crate::fire::request::call_registry::{CompiledCall, CompiledCalls};
use crate::fire::request::progress::{Progress, Trace};
use crate::fire::request::redaction::truncate;
use crate::fire::request::response_capture::ResponseCapture;
use crate::fire::request::scratch::Scratch;
use crate::fire::request::stream_tokens::Tokens;
use crate::users::script::{Completion, Request, Response};

/// A request that is about to be sent.
pub(super) struct PreparedRequest<'a> {
    arrival: Option<&'a Arrival>,
    /// The call and its name, or why it is invalid.
    compiled: Result<CompiledCall, String>,
    /// Its index among the calls of its part.
    step: usize,
    /// Whether it is the first request of a new client.
    is_new_client: bool,
    /// Whether a check may examine its answer.
    is_checked: bool,
    /// For the first call of an arrival: when the user got the arrival, and for how long it has
    /// rested since, in µs.
    prelude: Option<(MonoTime, u64)>,
}

impl PreparedRequest<'_> {
    /// Due time and dispatch of the exchange; records the phases before it in `trace`.
    fn begin(&self, now: MonoTime, trace: &mut Trace) -> Begin {
        let mut begin = Begin {
            due: now,
            dispatched: now,
        };
        if let Some(arrival) = self.arrival
            && let Some((received, rested_us)) = self.prelude
        {
            // The time that Python takes before its first request is the generator's lateness; the
            // user's rests are not.
            begin.due = arrival.due.plus_us(rested_us);
            let reached_us = arrival.reached.since_us(arrival.due);
            let prelude_us = now.since_us(received).saturating_sub(rested_us);
            trace.phases.schedule_lag_us = Some(reached_us + prelude_us);
            trace.phases.queue_us = Some(received.since_us(arrival.reached));
        }
        begin
    }
}

impl<W: Wire> ArrivalRunner<W> {
    /// Sends one request of a user.
    pub(super) async fn send_one(
        &self,
        request: &Request,
        context: &mut PartContext<'_>,
        now: MonoTime,
    ) -> Completion {
        self.count_pending(context);
        let prepared = self.prepare_request(request, context, 0);
        let (completion, pending) = self.exchange_once(&prepared, now, context.scratch).await;
        context.calls += 1;
        context.pending = pending;
        completion
    }

    /// Sends several requests at the same time, as many as there may be connections. The last of
    /// them is now the last call of the task.
    pub(super) async fn send_batch(
        &self,
        requests: &[Arc<Request>],
        context: &mut PartContext<'_>,
    ) -> Completion {
        self.count_pending(context);
        let width = requests.len().min(self.wire().calls_max());
        let mut scratches = std::mem::take(&mut context.scratch.others);
        scratches.resize_with(width.max(scratches.len()), || {
            self.scratch_for(context.scratch)
        });
        let mut completions = Vec::with_capacity(requests.len());
        for requests in requests.chunks(width.max(1)) {
            let results: Vec<_> = requests.iter().map(|_| RefCell::new(None)).collect();
            let workers = requests
                .iter()
                .zip(&mut scratches)
                .zip(&results)
                .enumerate();
            let workers = workers.map(|(index, ((request, scratch), result))| {
                let prepared = self.prepare_request(request, context, index);
                Box::pin(async move {
                    *result.borrow_mut() = Some(
                        self.exchange_once(&prepared, MonoTime::now(), scratch)
                            .await,
                    );
                })
            });
            join_all(workers.collect()).await;
            for (completion, pending) in results.into_iter().filter_map(RefCell::into_inner) {
                self.count_pending(context);
                context.calls += 1;
                context.pending = pending;
                completions.push(completion);
            }
        }
        context.scratch.others = scratches;
        Completion::Batch(completions)
    }

    /// Prepares a request; `index` is its index in its batch.
    pub(super) fn prepare_request<'a>(
        &self,
        request: &Request,
        context: &PartContext<'a>,
        index: usize,
    ) -> PreparedRequest<'a> {
        PreparedRequest {
            arrival: context.arrival,
            compiled: self.compiled((context.arrival, context.target), request),
            step: context.calls + index,
            is_new_client: context.is_new_client && context.calls + index == 0,
            is_checked: context.is_checked,
            prelude: (context.calls == 0).then_some((context.dispatched, context.rested_us)),
        }
    }

    /// The compiled call of a request, from its cache if possible.
    fn compiled(
        &self,
        (arrival, target): (Option<&Arrival>, u16),
        request: &Request,
    ) -> Result<CompiledCall, String> {
        let Some(arrival) = arrival else {
            let call = Arc::new(self.program.build_call(request, (target, 0), false)?);
            return Ok(CompiledCall { name: None, call });
        };
        let (task, is_debugged) = (arrival.key.task, self.is_debugged(arrival));
        let cache = request
            .cache
            .get::<CompiledCalls>()
            .filter(|_| !is_debugged);
        if let Some(compiled) = cache.and_then(|cache| cache.of(task)) {
            return Ok(compiled);
        }
        let tasks = self.program.tasks[0].len();
        let name = self.redact(&call_name(request));
        let name = self
            .registry
            .number(task, truncate(&name, NAME_BYTES_MAX), tasks);
        let call = Arc::new(
            self.program
                .build_call(request, (target, name.call), is_debugged)?,
        );
        let name = Some(name);
        let compiled = CompiledCall { name, call };
        if let Some(cache) = cache {
            cache.keep(task, &compiled);
        }
        Ok(compiled)
    }

    /// Performs one exchange, dispatched `now`. Returns its completion for the user, and the call
    /// to count for its arrival.
    pub(super) async fn exchange_once(
        &self,
        prepared: &PreparedRequest<'_>,
        now: MonoTime,
        scratch: &mut Scratch,
    ) -> (Completion, Option<PendingCall>) {
        let CompiledCall { name, call, .. } = match &prepared.compiled {
            Ok(compiled) => compiled,
            Err(why) => return (Completion::Unsendable(why.clone()), None),
        };
        let mut trace = Trace::default();
        let begin = prepared.begin(now, &mut trace);
        let may_reuse = match prepared.arrival {
            Some(arrival) => {
                self.write_id(arrival, prepared.step, &mut scratch.id);
                self.may_reuse(arrival, prepared.step) && !prepared.is_new_client
            }
            None => {
                scratch.id.clear();
                write!(scratch.id, "{}/-/{}", self.run, prepared.step)
                    .expect("a String takes what is written");
                !prepared.is_new_client
            }
        };
        let progress = Progress::new(now);
        let capture = RefCell::new(ResponseCapture::default());
        let shown = prepared
            .arrival
            .map(|arrival| RefCell::new(self.shown(arrival, call.number, prepared.is_checked)));
        let tokens = call.stream.map(|stream| {
            let tokens = scratch.tokens.get_or_init(|| RefCell::new(Tokens::new()));
            tokens.borrow_mut().begin(stream, call.tokens_max);
            tokens
        });
        let order = Order {
            call,
            id: self.program.has_ids.then_some(scratch.id.as_str()),
            may_reuse,
            progress: &progress,
            tokens,
            shown: shown.as_ref(),
            capture: Some(&capture),
            // The task says for each request whether it follows redirects.
            location: None,
        };
        let times = (begin.due, begin.dispatched);
        if let Some(name) = name {
            // Before its call: calls in flight need their names, too.
            self.recorder.name(name);
        }
        let begun = prepared.arrival.and_then(|arrival| {
            self.recorder
                .begin(scratch.seat, arrival, call.number, times, &trace.phases)
        });
        let is_counted = prepared.arrival.is_some();
        let ended = self
            .exchange(&order, now, &mut trace, &mut scratch.call_timer, is_counted)
            .await;
        let end = MonoTime::now();
        let pending = prepared.arrival.zip(name.as_ref()).map(|(arrival, name)| {
            let call_end = Self::call_end(arrival, &order, begin, end, ended, &trace);
            if order.tokens.is_some() {
                // The name is recorded with the figures counted here; the call itself is counted
                // later.
                self.tally.borrow_mut().name(name);
                self.count_tokens(&order, &call_end);
            }
            self.recorder.hold(scratch.seat, begun, &call_end);
            PendingCall {
                end: call_end,
                due: begin.due,
                name: Arc::clone(name),
                call: Arc::clone(call),
                id: order.id.unwrap_or_default().to_owned(),
                answer: order.shown.map(RefCell::take).unwrap_or_default(),
                begun: (scratch.seat, begun),
            }
        });
        (
            completion(ended, capture.into_inner(), end.since_us(now)),
            pending,
        )
    }
}

/// Completion of an exchange for its user.
fn completion(ended: ExchangeEnd, capture: ResponseCapture, elapsed_us: u64) -> Completion {
    match (ended.status, capture.cut) {
        (Some(_), Some(why)) => Completion::Unsendable(why.into()),
        (Some(status), None) => Completion::Response(Response {
            status,
            head: capture.head,
            body: capture.body,
            elapsed_us,
            counted: capture.counted,
        }),
        (None, _) => Completion::Failed {
            outcome: ended.outcome,
            cause: ended.cause,
        },
    }
}

/// Name of a request: the one that its task sets, or its method and its path without the query.
fn call_name(request: &Request) -> String {
    match &request.name {
        Some(name) => name.clone(),
        None => {
            let path = request.path.split('?').next().unwrap_or_default();
            // A redirect to outside the target's base path is written with two slashes.
            let path = path
                .strip_prefix('/')
                .filter(|rest| rest.starts_with('/'))
                .unwrap_or(path);
            format!("{} {path}", request.method.name())
        }
    }
}

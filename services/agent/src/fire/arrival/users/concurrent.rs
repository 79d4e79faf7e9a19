//! Requests that a user has in flight at the same time. The user gets each completion when it
//! comes.
//!
//! Must never abandon a request: every request that was begun is awaited and counted, even when its
//! user is no longer interested.

use std::collections::VecDeque;
use std::future::{poll_fn, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::part_context::{PartContext, PendingCall};
use crate::fire::arrival::arrival_runner::ArrivalRunner;
use crate::fire::clock::MonoTime;
use crate::fire::http::wire::Wire;
use crate::fire::request::scratch::Scratch;
use crate::users::script::{Completion, Request, Ticket};

/// Requests of a user, waiting and in flight.
#[derive(Default)]
pub(super) struct ConcurrentRequests<'a> {
    waiting: VecDeque<(Ticket, Arc<Request>)>,
    running: Vec<Pin<Box<dyn Future<Output = FinishedRequest> + 'a>>>,
}

/// A request that has ended.
pub(super) struct FinishedRequest {
    ticket: Ticket,
    completion: Completion,
    pending: Option<PendingCall>,
    /// Its scratch buffers, if it was begun.
    scratch: Option<Scratch>,
}

impl ConcurrentRequests<'_> {
    pub(super) fn enqueue(&mut self, requests: Vec<(Ticket, Arc<Request>)>) {
        self.waiting.extend(requests);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<FinishedRequest> {
        for index in 0..self.running.len() {
            if let Poll::Ready(finished) = self.running[index].as_mut().poll(cx) {
                drop(self.running.swap_remove(index));
                return Poll::Ready(finished);
            }
        }
        Poll::Pending
    }
}

impl<W: Wire> ArrivalRunner<W> {
    /// Begins waiting requests, as many at a time as there may be connections.
    pub(super) fn start_waiting<'a>(
        &'a self,
        concurrent: &mut ConcurrentRequests<'a>,
        context: &mut PartContext<'a>,
        now: MonoTime,
    ) {
        let width = self.wire().calls_max().max(1);
        let mut begun = 0;
        while concurrent.running.len() < width
            && let Some((ticket, request)) = concurrent.waiting.pop_front()
        {
            if self.is_over_for(context, now) {
                let (completion, pending, scratch) = (Completion::Stopped, None, None);
                concurrent.running.push(Box::pin(ready(FinishedRequest {
                    ticket,
                    completion,
                    pending,
                    scratch,
                })));
                continue;
            }
            self.count_pending(context);
            let prepared = self.prepare_request(&request, context, begun);
            begun += 1;
            let unused = context.scratch.others.pop();
            let mut scratch = unused.unwrap_or_else(|| self.scratch_for(context.scratch));
            concurrent.running.push(Box::pin(async move {
                let (completion, pending) = self.exchange_once(&prepared, now, &mut scratch).await;
                let scratch = Some(scratch);
                FinishedRequest {
                    ticket,
                    completion,
                    pending,
                    scratch,
                }
            }));
        }
        context.calls += begun;
    }

    /// The completion of an ended request for its user. The request is now the last call of the
    /// task.
    pub(super) fn finished(
        &self,
        finished: FinishedRequest,
        context: &mut PartContext<'_>,
    ) -> Completion {
        context.scratch.others.extend(finished.scratch);
        self.count_pending(context);
        context.pending = finished.pending;
        Completion::Concurrent(finished.ticket, Box::new(finished.completion))
    }

    /// Awaits the requests in flight when their user's part is over. These calls are counted before
    /// the one that the part's check examined.
    pub(super) async fn finish_all<'a>(
        &'a self,
        concurrent: &mut ConcurrentRequests<'a>,
        context: &mut PartContext<'a>,
    ) {
        concurrent.waiting.clear();
        let last = context.pending.take();
        while !concurrent.is_empty() {
            let finished = poll_fn(|cx| concurrent.poll(cx)).await;
            self.finished(finished, context);
        }
        self.count_pending(context);
        context.pending = last;
    }
}

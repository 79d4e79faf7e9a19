//! HTTP/1.1 of one core: a pool of keep-alive connections, and requests as byte templates.
//!
//! - [`piece`]: pieces of an answer.
//! - [`answer`], [`chunks`]: read an answer and its chunked body.
//! - [`link`]: one connection and its exchange.
//!
//! A request is sent a second time only on a kept connection that turned out to be closed: always
//! if none of its bytes was written, and for an idempotent method also if no byte of an answer
//! came. Nothing else is ever retried.

pub(crate) mod answer;
mod chunks;
mod link;
pub(crate) mod piece;

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use loadpilot_engine::tally::ConnectionUse;
use loadpilot_events::plan::connections::Reuse;

use self::link::{Exchange, Failed, Link, Reach, ReadBuffer, read_buffer};
use super::connect::connection_quota::ConnectionQuota;
use super::connect::dial::Dialer;
use super::connect::error_classification::ErrorClass;
use super::connect::preconnect::{self, Preconnected};
use super::connect::stream::Stream;
use super::wire::{Order, Wire};
use crate::fire::clock::MonoTime;
use crate::fire::request::program::{Call, Program};
use crate::fire::request::progress::Trace;
use crate::fire::request::tls::Offer;

/// Maximum number of unused connections closed at a time: each takes a system call, and arrivals
/// become due meanwhile.
const CLOSED_AT_ONCE: usize = 64;

/// The engine of one core.
pub(crate) struct Http1 {
    program: Arc<Program>,
    dialer: Rc<Dialer>,
    /// A call in flight occupies one connection, and opens one only when none is idle. So there are
    /// never more connections than allowed calls, idle ones included.
    quota: ConnectionQuota,
    /// Last in, first out: connections in use stay warm, the others may age and be closed.
    idle: RefCell<Vec<Link>>,
    read_buffer: ReadBuffer,
}

impl Http1 {
    pub(crate) fn new(program: Arc<Program>, dialer: Rc<Dialer>, quota: ConnectionQuota) -> Self {
        Self {
            program,
            dialer,
            quota,
            idle: RefCell::new(Vec::new()),
            read_buffer: read_buffer(),
        }
    }

    /// Sends an order on a connection that was opened for it.
    pub(crate) async fn send_on(
        &self,
        stream: Stream,
        order: &Order<'_>,
        trace: &mut Trace,
    ) -> Result<u16, ErrorClass> {
        trace.phases.connection = Some(ConnectionUse::Opened);
        let mut link = Link::new(stream);
        let answer = self.exchange(&mut link, order, trace).await;
        let status = answer.map_err(|failed| failed.class)?;
        self.put_back(link);
        Ok(status)
    }

    /// Adds an unused connection to the idle ones.
    pub(crate) fn keep(&self, stream: Stream) {
        self.idle.borrow_mut().push(Link::new(stream));
    }

    /// The idle connection used last, if it is still open and the call may use it.
    fn idle_link(&self, order: &Order<'_>, cx: &mut Context<'_>) -> Option<Link> {
        loop {
            let mut link = self.idle.borrow_mut().pop()?;
            if !order.may_reuse {
                // The call represents a new client in the place of one that left: an idle
                // connection is closed for it.
                return None;
            }
            if self.may_stay(&link) && link.is_quiet(cx, &self.read_buffer) {
                return Some(link);
            }
        }
    }

    /// Whether a connection whose exchanges succeeded may carry another one.
    fn may_stay(&self, link: &Link) -> bool {
        let settings = &self.program.connections;
        link.is_reusable()
            && settings.reuse != Reuse::Never
            && settings
                .requests_max
                .is_none_or(|most| link.requests() < most)
            && settings.age_us_max.is_none_or(|most| link.age_us() < most)
    }

    async fn exchange(
        &self,
        link: &mut Link,
        order: &Order<'_>,
        trace: &mut Trace,
    ) -> Result<u16, Failed> {
        let mut exchange = Exchange::new(order);
        link.begin(order.call.is_head());
        poll_fn(|cx| link.poll_exchange(cx, &mut exchange, trace, &self.read_buffer)).await
    }

    /// Keeps a connection whose exchange succeeded, if it may carry another one.
    fn put_back(&self, link: Link) {
        if self.may_stay(&link) {
            self.idle.borrow_mut().push(link);
        }
    }
}

/// Whether a request that failed on a kept connection may be sent again on a new one.
fn may_go_again(call: &Call, failed: Failed) -> bool {
    match failed.reach {
        Reach::Unsent => true,
        Reach::Unanswered => call.is_idempotent(),
        Reach::Beyond => false,
    }
}

impl Wire for Http1 {
    async fn send(&self, order: &Order<'_>, trace: &mut Trace) -> Result<u16, ErrorClass> {
        if let Some(mut link) = poll_fn(|cx| Poll::Ready(self.idle_link(order, cx))).await {
            trace.phases.connection = Some(ConnectionUse::Reused);
            match self.exchange(&mut link, order, trace).await {
                Ok(status) => {
                    self.put_back(link);
                    return Ok(status);
                }
                Err(failed) if may_go_again(order.call, failed) => {
                    trace.phases.connection = None;
                    trace.phases.resent |= failed.reach == Reach::Unanswered;
                }
                Err(failed) => return Err(failed.class),
            }
        }
        let stream = self
            .dialer
            .open(Offer::Http1, order.progress, trace)
            .await?;
        self.send_on(stream, order, trace).await
    }

    fn calls_max(&self) -> usize {
        self.quota.connections_max()
    }

    async fn preconnect(&self) -> Preconnected {
        let open = || async {
            let stream = self.dialer.open_unused(Offer::Http1).await?;
            self.keep(stream);
            Ok(())
        };
        preconnect::preconnect(&self.dialer, self.quota.open_first, open).await
    }

    fn close_idle(&self, unused_since: MonoTime) -> usize {
        let mut cx = Context::from_waker(Waker::noop());
        let mut idle = self.idle.borrow_mut();
        let spare = idle.len().saturating_sub(self.quota.open_first as usize);
        let (mut to_close, mut closed) = (spare.min(CLOSED_AT_ONCE), 0);
        idle.retain_mut(|link| {
            // The connections used longest ago come first.
            if to_close > 0 && link.used() < unused_since {
                (to_close, closed) = (to_close - 1, closed + 1);
                return false;
            }
            self.may_stay(link) && link.is_quiet(&mut cx, &self.read_buffer)
        });
        let len = idle.len();
        // The capacity shrinks by halves, since each change copies the whole list.
        if closed > 0 && idle.capacity() > 4 * len {
            idle.shrink_to(2 * len);
        }
        closed
    }
}

#[cfg(test)]
mod tests;

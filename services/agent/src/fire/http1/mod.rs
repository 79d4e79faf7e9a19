//! HTTP/1.1 of one core: a pool of keep-alive connections, and requests as byte templates.
//!
//! A request goes out a second time only on a connection that had been kept open and turned out to
//! be closed: always when not one byte of it was written, and when its method is idempotent also
//! when not one byte was answered. Nothing else is ever retried.

mod answer;
mod chunks;
mod link;

use std::cell::RefCell;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use loadpilot_engine::tally::ConnectionUse;

use self::link::{Exchange, Failed, Link, Reach, Scratch, scratch};
use super::dial::Dial;
use super::program::{Call, Program};
use super::wire::{Broken, Order, Trace, Wire};

/// The engine of one core.
pub(crate) struct Http1 {
    dial: Dial,
    /// Last in, first out: the ones in use stay warm, the others may age and go.
    idle: RefCell<Vec<Link>>,
    scratch: Scratch,
}

impl Http1 {
    pub(crate) fn new(program: Arc<Program>) -> Self {
        Self {
            dial: Dial::new(program),
            idle: RefCell::new(Vec::new()),
            scratch: scratch(),
        }
    }

    /// The idle connection used last, if it is still open.
    fn idle_link(&self, cx: &mut Context<'_>) -> Option<Link> {
        loop {
            let mut link = self.idle.borrow_mut().pop()?;
            if link.is_quiet(cx, &self.scratch) {
                return Some(link);
            }
        }
    }

    async fn open(&self, trace: &mut Trace) -> Result<Link, Broken> {
        Ok(Link::new(self.dial.open(trace).await?))
    }

    async fn exchange(
        &self,
        mut link: Link,
        order: Order<'_>,
        trace: &mut Trace,
    ) -> Result<u16, Failed> {
        let mut exchange = Exchange::new(order.call.request(order.id));
        link.begin(order.call.is_head());
        let status =
            poll_fn(|cx| link.poll_exchange(cx, &mut exchange, trace, &self.scratch)).await?;
        if link.is_reusable() {
            self.idle.borrow_mut().push(link);
        }
        Ok(status)
    }
}

/// Whether a request that failed on a kept connection may go out again on a new one.
fn may_go_again(call: &Call, failed: Failed) -> bool {
    match failed.reach {
        Reach::Unsent => true,
        Reach::Unanswered => call.is_idempotent(),
        Reach::Beyond => false,
    }
}

impl Wire for Http1 {
    async fn send(&self, order: Order<'_>, trace: &mut Trace) -> Result<u16, Broken> {
        if let Some(link) = poll_fn(|cx| Poll::Ready(self.idle_link(cx))).await {
            trace.phases.connection = Some(ConnectionUse::Reused);
            match self.exchange(link, order, trace).await {
                Ok(status) => return Ok(status),
                Err(failed) if may_go_again(order.call, failed) => trace.phases.connection = None,
                Err(failed) => return Err(failed.broken),
            }
        }
        let link = self.open(trace).await?;
        trace.phases.connection = Some(ConnectionUse::Opened);
        let answer = self.exchange(link, order, trace).await;
        answer.map_err(|failed| failed.broken)
    }

    async fn warm(&self) {
        // A failure here says nothing yet: the first call tries again and is counted.
        let _ = self.dial.addresses(&mut Trace::default()).await;
    }

    fn tidy(&self) {
        let mut cx = Context::from_waker(Waker::noop());
        let mut idle = self.idle.borrow_mut();
        idle.retain_mut(|link| link.is_quiet(&mut cx, &self.scratch));
    }
}

#[cfg(test)]
mod tests;

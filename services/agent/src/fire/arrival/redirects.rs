//! Follows redirects of a step within its call, as many as the plan allows.
//!
//! Must never extend the call's time-out, and never send anything after a stop.

use crate::fire::arrival::arrival_runner::ArrivalRunner;
use crate::fire::clock::MonoTime;
use crate::fire::http::connect::error_classification::ErrorClass;
use crate::fire::http::wire::{Order, Wire};
use crate::fire::request::progress::Trace;
use crate::fire::request::redirect::{RedirectChain, is_redirect};
use loadpilot_events::plan::connections::Reuse;

impl<W: Wire> ArrivalRunner<W> {
    /// Sends a request and follows its redirects; returns the status of the last answer.
    ///
    /// # Errors
    /// The reason why no complete answer came.
    pub(super) async fn send(
        &self,
        order: &Order<'_>,
        trace: &mut Trace,
    ) -> Result<u16, ErrorClass> {
        let answer = self.wire().send(order, trace).await;
        let status = answer.inspect_err(|_| order.show_proxy_answer())?;
        match order.location.is_some() && is_redirect(status) {
            false => Ok(status),
            // Boxed: a call without redirects need not carry the state of one.
            true => Box::pin(self.follow(order, status, trace)).await,
        }
    }

    async fn follow(
        &self,
        order: &Order<'_>,
        mut status: u16,
        trace: &mut Trace,
    ) -> Result<u16, ErrorClass> {
        let mut chain = RedirectChain::new(order.call);
        while is_redirect(status)
            && let Some(location) = order.location.and_then(|location| location.take())
        {
            let now = MonoTime::now();
            let may_follow = u32::from(trace.phases.redirects.followed)
                < self.program.redirects_max()
                && self.barred(now).is_none();
            let next = chain.as_mut().filter(|_| may_follow);
            let defaults = &self.program.defaults;
            let Some(call) = next.and_then(|chain| chain.next(status, &location, defaults)) else {
                trace.phases.redirects.is_cut = true;
                break;
            };
            trace.next_request();
            order.begin_again(now);
            let order = Order {
                call: &call,
                // The client that a call represents keeps its connection between requests.
                may_reuse: order.may_reuse || self.program.connections.reuse != Reuse::Never,
                ..*order
            };
            let answer = self.wire().send(&order, trace).await;
            status = answer.inspect_err(|_| order.show_proxy_answer())?;
        }
        Ok(status)
    }
}

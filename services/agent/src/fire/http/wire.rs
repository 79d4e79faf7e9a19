//! The interface between pacing and HTTP: sends one compiled request and reports its result.
//!
//! Pacer and runner know only this interface, so that another engine can replace the present one.
//! An engine must never pace, count, follow a redirect, or retry a request that may have reached
//! the target.

use std::cell::RefCell;

use super::connect::error_classification::ErrorClass;
use super::connect::preconnect::Preconnected;
use crate::fire::clock::MonoTime;
use crate::fire::request::debug_exchange::ResponseHead;
use crate::fire::request::program::Call;
use crate::fire::request::progress::{Progress, Trace};
use crate::fire::request::response_capture::ResponseCapture;
use crate::fire::request::stream_tokens::Tokens;

/// One request to send now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<'a> {
    /// The compiled call.
    pub call: &'a Call,
    /// Value of the plan's id header, when it has one.
    pub id: Option<&'a str>,
    /// Whether it may use a connection that is open already.
    pub may_reuse: bool,
    /// Stage of the exchange; the engine updates it.
    pub progress: &'a Progress,
    /// Receives the body of a streamed answer.
    pub tokens: Option<&'a RefCell<Tokens>>,
    /// Receives the beginning of an answer that is reported as text.
    pub shown: Option<&'a RefCell<ResponseHead>>,
    /// Receives an answer that a task reads.
    pub capture: Option<&'a RefCell<ResponseCapture>>,
    /// Receives the `Location` of a redirect that may be followed.
    pub location: Option<&'a RefCell<Option<Vec<u8>>>>,
}

impl Order<'_> {
    /// Whether the rest of the answer is not needed: the engine then treats the answer as complete,
    /// and closes the connection.
    pub(crate) fn has_enough(&self) -> bool {
        self.tokens.is_some_and(|tokens| tokens.borrow().is_full())
    }

    /// Shows the answer of a proxy that opened no connection.
    pub(crate) fn show_proxy_answer(&self) {
        if let (Some(answer), Some(shown)) = (self.progress.take_proxy_answer(), self.shown) {
            let mut shown = shown.borrow_mut();
            shown.clear();
            shown.add(format!("proxy: {answer}\r\n").as_bytes());
        }
    }

    /// Discards the answer so far: it was a redirect, and the next request is sent `now`.
    pub(crate) fn begin_again(&self, now: MonoTime) {
        self.progress.begin_again(now);
        if let (Some(tokens), Some(stream)) = (self.tokens, self.call.stream) {
            tokens.borrow_mut().begin(stream, self.call.tokens_max);
        }
        if let Some(shown) = self.shown {
            shown.borrow_mut().clear();
        }
    }
}

/// An HTTP engine of one core.
pub(crate) trait Wire: 'static {
    /// Sends one request and reads its whole answer; returns the status code.
    ///
    /// Dropping the future cuts the exchange off and closes its connection; `trace` then holds the
    /// figures up to that point.
    ///
    /// # Errors
    /// The reason why no complete answer came.
    fn send(
        &self,
        order: &Order<'_>,
        trace: &mut Trace,
    ) -> impl Future<Output = Result<u16, ErrorClass>>;

    /// Maximum number of calls in flight, as far as it is known now; at least 1. Further calls wait
    /// inside the engine, where the wait counts as the target's.
    fn calls_max(&self) -> usize;

    /// Prepares for the first request: resolves the target's name and opens the connections that
    /// the plan requires before the start. Ends in bounded time.
    fn preconnect(&self) -> impl Future<Output = Preconnected>;

    /// Closes idle connections that the target has closed, and some of those last used before
    /// `unused_since`, but none that the plan requires to stay open. Returns the number of unused
    /// connections that it closed.
    fn close_idle(&self, unused_since: MonoTime) -> usize;
}

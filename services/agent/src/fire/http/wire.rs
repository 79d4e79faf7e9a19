//! The interface between pacing and HTTP: send one compiled request, learn how it went.
//!
//! Pacer and task runner know only this, so that a faster engine can take the place of the present
//! one. An engine must never pace, count, retry what may have reached the target, or follow a
//! redirect.

use std::cell::RefCell;

use loadpilot_engine::tally::Phases;

use super::connect::error_classification::ErrorClass;
use super::connect::preconnect::Preconnected;
use crate::fire::clock::MonoTime;
use crate::fire::request::debug_exchange::ResponseHead;
use crate::fire::request::program::Call;
use crate::fire::request::progress::Progress;
use crate::fire::request::response_capture::ResponseCapture;
use crate::fire::request::stream_tokens::Tokens;

/// One request to send now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<'a> {
    /// What to send.
    pub call: &'a Call,
    /// The value of the plan's id header, when it has one.
    pub id: Option<&'a str>,
    /// Whether it may use a connection that is open already.
    pub may_reuse: bool,
    /// Where the engine says how far it has come.
    pub progress: &'a Progress,
    /// Where it hands over the body of a streamed answer.
    pub tokens: Option<&'a RefCell<Tokens>>,
    /// Where it hands over the head of an answer that is to be written out.
    pub debug_head: Option<&'a RefCell<ResponseHead>>,
    /// Where it hands over an answer that somebody wants to read.
    pub capture: Option<&'a RefCell<ResponseCapture>>,
}

impl Order<'_> {
    /// Whether nobody wants to hear more of the answer: the engine then takes it for whole, and
    /// hangs up.
    pub(crate) fn has_enough(&self) -> bool {
        self.tokens.is_some_and(|tokens| tokens.borrow().is_full())
    }
}

/// What an exchange left behind so far. It is filled while the exchange runs, so that it also says
/// how far one came that was cut off.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Trace {
    /// Bytes written, headers included.
    pub sent_bytes: u64,
    /// Bytes read, headers included.
    pub received_bytes: u64,
    /// Where the time went; the engine leaves schedule lag and queue alone.
    pub phases: Phases,
}

/// An HTTP engine of one core.
pub(crate) trait Wire: 'static {
    /// Sends one request and reads its whole answer; gives the status code.
    ///
    /// Dropping the future cuts the exchange off and closes its connection; `trace` then holds
    /// what was known until there.
    ///
    /// # Errors
    /// Why no complete answer came.
    fn send(
        &self,
        order: &Order<'_>,
        trace: &mut Trace,
    ) -> impl Future<Output = Result<u16, ErrorClass>>;

    /// Most calls that may be in flight at a time, as far as is known now; at least 1. Whoever
    /// begins more lets them wait inside the engine, where the wait counts as the target's.
    fn calls_max(&self) -> usize;

    /// Does whatever can be done before the first request is due: resolves the target's name and
    /// opens the connections that the plan wants open by then. Ends in bounded time.
    fn preconnect(&self) -> impl Future<Output = Preconnected>;

    /// Lets go of idle connections that the target has closed, and of some of those that were used
    /// last before `unused_since`, but of none that the plan wants open; says how many these were.
    fn close_idle(&self, unused_since: MonoTime) -> usize;
}

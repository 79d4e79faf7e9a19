//! The interface between pacing and HTTP: send one compiled request, learn how it went.
//!
//! Pacer and task runner know only this, so that a faster engine can take the place of the present
//! one. An engine must never pace, count, retry what may have reached the target, or follow a
//! redirect.

use loadpilot_engine::tally::Phases;
use loadpilot_events::outcome::Outcome;

use super::ahead::Warmed;
use super::program::Call;

/// One request to send now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<'a> {
    /// What to send.
    pub call: &'a Call,
    /// The value of the plan's id header, when it has one.
    pub id: Option<&'a str>,
    /// Whether it may use a connection that is open already.
    pub may_reuse: bool,
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

/// Why there is no complete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// No connection: refused, unreachable, name not found.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// The connection broke, or what came was not HTTP.
    Io,
    /// This machine lacked ports, file descriptors or memory.
    Local,
}

impl Broken {
    /// The outcome that a call gets for it.
    pub(crate) fn outcome(self) -> Outcome {
        match self {
            Self::Connect => Outcome::Connect,
            Self::Tls => Outcome::Tls,
            Self::Io => Outcome::Io,
            Self::Local => Outcome::Local,
        }
    }
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
        order: Order<'_>,
        trace: &mut Trace,
    ) -> impl Future<Output = Result<u16, Broken>>;

    /// Most calls that may be in flight at a time, as far as is known now; at least 1. Whoever
    /// begins more lets them wait inside the engine, where the wait counts as the target's.
    fn calls_max(&self) -> usize;

    /// Does whatever can be done before the first request is due: resolves the target's name and
    /// opens the connections that the plan wants open by then. Ends in bounded time.
    fn warm(&self) -> impl Future<Output = Warmed>;

    /// Lets go of idle connections that the target has closed.
    fn tidy(&self);
}

//! Progress of an exchange: its stage, and its counts and times so far.
//!
//! The engine enters stages. The task with the timer reads the stage, for its time-out and for the
//! cause when the time-out expires. Both run on the core's thread. Must never cost more than a
//! store per stage.

use std::cell::{Cell, RefCell};

use loadpilot_engine::tally::{ConnectionUse, Phases};
use loadpilot_events::log::cause::Cause;
use loadpilot_events::plan::PhaseTimeouts;

use crate::fire::clock::MonoTime;

/// The current step of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Resolving the target's name.
    Resolving,
    /// Opening a connection.
    Connecting,
    /// In the TLS handshake.
    Securing,
    /// Waiting for a stream of HTTP/2.
    Queueing,
    /// Writing the request.
    Sending,
    /// Waiting for the first byte of the answer.
    Waiting,
    /// Reading the answer.
    Reading,
}

impl Stage {
    /// The cause of a time-out in this stage.
    pub(crate) fn cause(self) -> Cause {
        match self {
            Self::Resolving => Cause::WhileResolving,
            Self::Connecting => Cause::WhileConnecting,
            Self::Securing => Cause::WhileSecuring,
            Self::Queueing => Cause::WhileWaitingForAStream,
            Self::Sending => Cause::WhileSending,
            Self::Waiting => Cause::BeforeFirstByte,
            Self::Reading => Cause::BeforeLastByte,
        }
    }
}

/// The stage of one exchange and the time since when it lasts.
#[derive(Debug)]
pub(crate) struct Progress {
    stage: Cell<Stage>,
    /// When the time-out of the stage began to count.
    since: Cell<MonoTime>,
    /// Status of an answer that has begun, if it is needed.
    status: Cell<Option<u16>>,
    /// The answer of a proxy that opened no connection.
    proxy_answer: RefCell<Option<String>>,
}

impl Progress {
    /// The progress of an exchange dispatched at `now`.
    pub(crate) fn new(now: MonoTime) -> Self {
        Self {
            stage: Cell::new(Stage::Sending),
            since: Cell::new(now),
            status: Cell::new(None),
            proxy_answer: RefCell::default(),
        }
    }

    /// Another request of the same exchange is sent `now`.
    pub(crate) fn begin_again(&self, now: MonoTime) {
        self.enter_at(Stage::Sending, now);
        self.status.set(None);
    }

    pub(crate) fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// Enters a stage whose time-out continues that of the last one.
    pub(crate) fn enter(&self, stage: Stage) {
        self.stage.set(stage);
    }

    /// Enters a stage whose time-out counts from `now`.
    pub(crate) fn enter_at(&self, stage: Stage, now: MonoTime) {
        self.stage.set(stage);
        self.since.set(now);
    }

    /// The head of the answer is complete.
    pub(crate) fn answered(&self, status: u16) {
        self.status.set(Some(status));
    }

    /// A proxy opened no connection; stores its answer.
    pub(crate) fn refused_by_proxy(&self, answer: Option<String>) {
        self.proxy_answer.replace(answer);
    }

    /// The answer of a proxy that opened no connection.
    pub(crate) fn take_proxy_answer(&self) -> Option<String> {
        self.proxy_answer.take()
    }

    /// Status in the head of the answer.
    pub(crate) fn status(&self) -> Option<u16> {
        self.status.get()
    }

    /// End of the current stage, if the plan limits it.
    pub(crate) fn deadline(&self, limits: &PhaseTimeouts) -> Option<MonoTime> {
        let limit_us = match self.stage.get() {
            Stage::Resolving | Stage::Connecting | Stage::Securing => limits.connect_us,
            Stage::Waiting => limits.first_byte_us,
            Stage::Queueing | Stage::Sending | Stage::Reading => None,
        };
        limit_us.map(|us| self.since.get().plus_us(us))
    }
}

/// Counts and times of an exchange so far. Updated while the exchange runs, so that they are also
/// valid for one that is cut off.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Trace {
    /// Bytes written, headers included.
    pub sent_bytes: u64,
    /// Bytes read, headers included.
    pub received_bytes: u64,
    /// Phases of the exchange; the engine does not set schedule lag and queue.
    pub phases: Phases,
}

impl Trace {
    /// The answer was a redirect, which is now followed. The times for opening connections add up;
    /// the phases of the answer are those of the last one.
    pub(crate) fn next_request(&mut self) {
        let phases = &mut self.phases;
        phases.redirects.followed += 1;
        match phases.connection.take() {
            Some(ConnectionUse::Opened) => phases.redirects.opened += 1,
            Some(ConnectionUse::Reused) => phases.redirects.reused += 1,
            None => {}
        }
        (phases.first_byte_us, phases.last_byte_us) = (None, None);
    }
}

/// Adds to the time of a phase that may take place more than once in a call.
pub(crate) fn add_us(phase: &mut Option<u64>, us: u64) {
    *phase = Some(phase.unwrap_or(0).saturating_add(us));
}

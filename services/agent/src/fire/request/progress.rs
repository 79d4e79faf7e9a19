//! How far an exchange has come, for whoever watches its time: it decides when to cut off, and says
//! where.
//!
//! The engine enters stages, the watcher reads them; both run on the core's thread. Must never cost
//! more than a store per stage.

use std::cell::Cell;

use loadpilot_events::log::cause::Cause;
use loadpilot_events::plan::PhaseTimeouts;

use crate::fire::clock::MonoTime;

/// What an exchange does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It resolves the target's name.
    Resolving,
    /// It opens a connection.
    Connecting,
    /// It shakes hands over TLS.
    Securing,
    /// It waits for a stream of HTTP/2.
    Queueing,
    /// It writes its request.
    Sending,
    /// It waits for the first byte of the answer.
    Waiting,
    /// It reads the answer.
    Reading,
}

impl Stage {
    /// What a time-out in this stage is called.
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

/// The stage of one exchange and since when it lasts.
#[derive(Debug)]
pub(crate) struct Progress {
    stage: Cell<Stage>,
    /// When the time-out of the stage began to count.
    since: Cell<MonoTime>,
    /// Of an answer that has begun, if somebody listens to it.
    status: Cell<Option<u16>>,
}

impl Progress {
    /// Of an exchange that is dispatched at `now`.
    pub(crate) fn new(now: MonoTime) -> Self {
        Self {
            stage: Cell::new(Stage::Sending),
            since: Cell::new(now),
            status: Cell::new(None),
        }
    }

    pub(crate) fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// The next stage, whose time-out goes on counting from where that of the last one did.
    pub(crate) fn enter(&self, stage: Stage) {
        self.stage.set(stage);
    }

    /// The next stage, whose time-out counts from `now`.
    pub(crate) fn enter_at(&self, stage: Stage, now: MonoTime) {
        self.stage.set(stage);
        self.since.set(now);
    }

    /// The head of the answer is there.
    pub(crate) fn answered(&self, status: u16) {
        self.status.set(Some(status));
    }

    /// What the head of the answer said.
    pub(crate) fn status(&self) -> Option<u16> {
        self.status.get()
    }

    /// When the present stage must be over, if the plan limits it.
    pub(crate) fn deadline(&self, limits: &PhaseTimeouts) -> Option<MonoTime> {
        let limit_us = match self.stage.get() {
            Stage::Resolving | Stage::Connecting | Stage::Securing => limits.connect_us,
            Stage::Waiting => limits.first_byte_us,
            Stage::Queueing | Stage::Sending | Stage::Reading => None,
        };
        limit_us.map(|us| self.since.get().plus_us(us))
    }
}

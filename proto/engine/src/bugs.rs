//! The bug bank: mistakes from the past, here or elsewhere, that a test can plant again to prove
//! that it catches them (ADR 0026).
//!
//! Only a test that is built with the feature `bugbank` can plant a mistake, for its own thread. In
//! every other build `bug` is a constant `false`, and no code of a mistake is compiled. The bank
//! must never be part of a release.

/// A mistake that a test can plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// The fold ignores the agent in a delta's subject: all deltas count for one agent.
    IdentityFromPayload,
    /// A lost agent is subtracted twice from the holders that a run still has.
    LostSubtractedTwice,
    /// Every live process of an agent counts as an agent of its own.
    TwoSlotsPerAgent,
    /// An agent ignores a stop: the run ends in the log, its load goes on.
    StopNotHeard,
    /// Every arrival runs the first task.
    FirstTaskOnly,
    /// Arrivals are due at multiples of 50 ms.
    CoarseTicks,
    /// Failed calls are recorded with a response time of 0.
    FailuresAtZero,
    /// Rows of superseded holders count.
    NoGenerationFence,
    /// A delta that is stored twice counts twice.
    CountedTwice,
    /// Deltas that come after the seal change the report.
    LateDeltasCount,
    /// Arrivals that no holder reported are not named as lost.
    LossUnnamed,
    /// A coordinator declares holders lost before it has listened long enough.
    LostBeforeListened,
    /// A holder is declared lost while it may still be sending.
    LostBeforeFenced,
    /// Shards change hands in a tick that has begun.
    TakeoverNow,
    /// A holder that was declared lost gets shards again.
    LostGetShards,
    /// A run is sealed while holders still report.
    SealedBeforeLastWords,
    /// A run is sealed before a successor has reported the tail of a killed process.
    TailNotAwaited,
    /// The tail of a killed process leaves out what the process had counted.
    TailForgotten,
    /// The tail begins with a sequence number that the killed process had used.
    TailReusesNumbers,
    /// A coordinator whose clock is behind decides for the past.
    ClockRunsBack,
    /// A decision follows the end of a run.
    DecidedAfterTheEnd,
    /// An agent applies a decision although the one before it is missing.
    GapsIgnored,
}

impl Bug {
    /// All mistakes.
    pub const ALL: [Self; 22] = [
        Self::IdentityFromPayload,
        Self::LostSubtractedTwice,
        Self::TwoSlotsPerAgent,
        Self::StopNotHeard,
        Self::FirstTaskOnly,
        Self::CoarseTicks,
        Self::FailuresAtZero,
        Self::NoGenerationFence,
        Self::CountedTwice,
        Self::LateDeltasCount,
        Self::LossUnnamed,
        Self::LostBeforeListened,
        Self::LostBeforeFenced,
        Self::TakeoverNow,
        Self::LostGetShards,
        Self::SealedBeforeLastWords,
        Self::TailNotAwaited,
        Self::TailForgotten,
        Self::TailReusesNumbers,
        Self::ClockRunsBack,
        Self::DecidedAfterTheEnd,
        Self::GapsIgnored,
    ];
}

/// Whether the mistake is planted: never, in this build.
#[cfg(not(feature = "bugbank"))]
#[inline(always)]
pub(crate) const fn bug(_: Bug) -> bool {
    false
}

#[cfg(feature = "bugbank")]
mod planted {
    use std::cell::Cell;

    use super::Bug;

    thread_local! {
        static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// Plants a mistake in this thread; `None` removes it.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.set(bug);
    }

    /// Whether the mistake is planted in this thread.
    pub(crate) fn bug(bug: Bug) -> bool {
        PLANTED.get() == Some(bug)
    }
}

#[cfg(feature = "bugbank")]
pub use planted::plant;

#[cfg(feature = "bugbank")]
pub(crate) use planted::bug;

//! The bug bank: mistakes that were made before, here or elsewhere, kept so that they can be made
//! again, each caught by a test (ADR 0026).
//!
//! Only a test that is built with the feature `bugbank` can plant one, for its own thread. In every
//! other build [`bug`] is a constant `false` and nothing of a mistake is compiled. Must never be
//! part of what is shipped, nor be asked for anything but a mistake.

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// Whose a delta is, is not read from its subject: all are those of one agent.
    IdentityFromPayload,
    /// A lost agent is subtracted twice from those that a run still has.
    LostSubtractedTwice,
    /// Every process of an agent that was heard fills a slot.
    TwoSlotsPerAgent,
    /// A stop ends the run in the books, not the load.
    StopNotHeard,
    /// Every arrival is one of the first task.
    FirstTaskOnly,
    /// Arrivals are due at multiples of 50 ms.
    CoarseTicks,
    /// Failed calls took no time.
    FailuresAtZero,
    /// Rows of superseded holders count.
    NoGenerationFence,
    /// A delta that is stored twice counts twice.
    CountedTwice,
    /// Deltas that come after the seal change the report.
    LateDeltasCount,
    /// What nobody reported has no name.
    LossUnnamed,
    /// A coordinator calls holders lost before it has listened.
    LostBeforeListened,
    /// A holder is called lost while it may still be sending.
    LostBeforeFenced,
    /// Shards change hands in the tick that has begun.
    TakeoverNow,
    /// Who was lost gets shards again.
    LostGetShards,
    /// A run is sealed while holders still report.
    SealedBeforeLastWords,
    /// A run is sealed while the tail of a killed process is on its way.
    TailNotAwaited,
    /// What a killed process had counted is not in its tail.
    TailForgotten,
    /// The tail begins with a number that the killed process had used.
    TailReusesNumbers,
    /// A clock that is behind decides for the past.
    ClockRunsBack,
    /// A run that is over is decided about.
    DecidedAfterTheEnd,
    /// An agent acts on a decision though it lacks the one before it.
    GapsIgnored,
}

impl Bug {
    /// All of them.
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

/// Whether the mistake is to be made: never.
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

    /// Has this thread make one mistake from now on, or none.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.set(bug);
    }

    /// Whether this thread is to make the mistake.
    pub(crate) fn bug(bug: Bug) -> bool {
        PLANTED.get() == Some(bug)
    }
}

#[cfg(feature = "bugbank")]
pub use planted::plant;

#[cfg(feature = "bugbank")]
pub(crate) use planted::bug;

//! Mistakes of the bug bank that only this crate can make (ADR 0026; the others are those of the
//! engine and of the bus).
//!
//! Only a build for tests, with the feature `bugbank`, makes one: the one that the environment
//! names. In every other build [`bug`] is a constant `false`. Must never be part of what is
//! shipped.

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A delta counts as stored once it was sent.
    AckBeforeEffect,
    /// What was due while the agent stood still is sent when it goes on.
    BurstOnResume,
    /// The clock of a call starts when it is let through, not when it was due.
    ClockAfterPermit,
}

/// Whether the mistake is to be made: never.
#[cfg(not(feature = "bugbank"))]
#[inline(always)]
pub(crate) const fn bug(_: Bug) -> bool {
    false
}

/// Whether `LOADPILOT_BUG` names the mistake.
#[cfg(feature = "bugbank")]
pub(crate) fn bug(bug: Bug) -> bool {
    static NAMED: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(|| std::env::var("LOADPILOT_BUG").unwrap_or_default());
    *NAMED == format!("{bug:?}")
}

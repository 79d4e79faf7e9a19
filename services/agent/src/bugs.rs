//! Bugs of the bug bank in this crate (ADR 0026); engine and bus have their own.
//!
//! Only a test build with the feature `bugbank` injects one: the bug that `LOADPILOT_BUG` names. In
//! every other build [`bug`] is a constant `false`. Products are built without the feature.

/// An injected bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A delta counts as stored once it was sent.
    AckBeforeEffect,
    /// Arrivals that came due during a stall are sent in a burst afterwards.
    BurstOnResume,
    /// The response time of a call starts when it gets its slot, not when it was due.
    ClockAfterPermit,
}

/// Whether to inject the bug: never.
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

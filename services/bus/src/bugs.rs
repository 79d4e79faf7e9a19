//! Bugs of the bug bank in this crate (ADR 0026); engine and agent have their own.
//!
//! Only a test build with the feature `bugbank` injects one: the bug that `LOADPILOT_BUG` names. In
//! every other build [`bug`] is a constant `false`. Products are built without the feature.

/// An injected bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// Events are published without the message id that detects duplicates.
    NoMessageId,
    /// The expected last sequence is that of all runs instead of the run's own.
    WildcardConcurrency,
}

/// Whether to inject the bug: never in this build.
#[cfg(not(feature = "bugbank"))]
#[inline(always)]
pub(crate) const fn bug(_: Bug) -> bool {
    false
}

/// Whether `LOADPILOT_BUG` names the bug.
#[cfg(feature = "bugbank")]
pub(crate) fn bug(bug: Bug) -> bool {
    static NAMED: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(|| std::env::var("LOADPILOT_BUG").unwrap_or_default());
    *NAMED == format!("{bug:?}")
}

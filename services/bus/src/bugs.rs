//! Mistakes of the bug bank that only this crate can make (ADR 0026; the others are those of the
//! engine and of the agent).
//!
//! Only a build for tests, with the feature `bugbank`, makes one: the one that the environment
//! names. In every other build [`bug`] is a constant `false`. Must never be part of what is
//! shipped.

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// An event goes without the id by which its repeat is recognised.
    NoMessageId,
    /// A decision is expected after the last one of any run instead of its own.
    WildcardConcurrency,
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

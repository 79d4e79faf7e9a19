//! Time in the load engine: the monotonic clock of the machine, in ns.
//!
//! - [`timer`]: one absolute instant, tens of µs exact.
//! - [`call_timeout`]: the time-out of one call after another.
//! - [`lease`]: until when anything may be started.
//!
//! Must never read the wall clock: due times may not move when the wall clock is set.

pub(crate) mod call_timeout;
pub(crate) mod lease;
pub(crate) mod timer;

/// An instant of CLOCK_MONOTONIC in ns. Signed, because a run may have started before the machine
/// of a late joiner did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MonoTime(i64);

impl MonoTime {
    /// The current instant.
    #[must_use]
    pub fn now() -> Self {
        Self(clock_ns())
    }

    /// The instant `ns` after the clock's zero.
    #[must_use]
    pub fn from_ns(ns: i64) -> Self {
        Self(ns)
    }

    /// ns since the clock's zero.
    #[must_use]
    pub fn as_ns(self) -> i64 {
        self.0
    }

    /// This instant plus `us` microseconds; saturates.
    #[must_use]
    pub fn plus_us(self, us: u64) -> Self {
        let ns = i64::try_from(us).unwrap_or(i64::MAX).saturating_mul(1_000);
        Self(self.0.saturating_add(ns))
    }

    /// This instant minus `us` microseconds; saturates.
    #[must_use]
    pub fn minus_us(self, us: u64) -> Self {
        let ns = i64::try_from(us).unwrap_or(i64::MAX).saturating_mul(1_000);
        Self(self.0.saturating_sub(ns))
    }

    /// Whole µs from `earlier` to this instant; 0 when `earlier` is later.
    #[must_use]
    pub fn since_us(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0) / 1_000).unwrap_or(0)
    }
}

#[cfg(unix)]
fn clock_ns() -> i64 {
    read_clock_ns(libc::CLOCK_MONOTONIC)
}

/// CPU time used by the calling thread, in µs.
#[cfg(unix)]
pub(crate) fn thread_cpu_us() -> u64 {
    u64::try_from(read_clock_ns(libc::CLOCK_THREAD_CPUTIME_ID) / 1_000).unwrap_or(0)
}

#[cfg(unix)]
fn read_clock_ns(clock: libc::clockid_t) -> i64 {
    let mut spec = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `spec` is a valid place for one timespec.
    let result = unsafe { libc::clock_gettime(clock, &raw mut spec) };
    assert_eq!(result, 0, "both clocks exist on every supported system");
    spec.tv_sec * 1_000_000_000 + spec.tv_nsec
}

#[cfg(not(unix))]
fn clock_ns() -> i64 {
    use std::sync::LazyLock;
    use std::time::Instant;
    static ZERO: LazyLock<Instant> = LazyLock::new(Instant::now);
    i64::try_from(ZERO.elapsed().as_nanos()).unwrap_or(i64::MAX)
}

/// CPU time used by the calling thread, in µs; unknown on this system.
#[cfg(not(unix))]
pub(crate) fn thread_cpu_us() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a response could get a latency from a clock that ran backwards, or negative µs.
    #[test]
    fn intervals_are_whole_microseconds_and_never_negative() {
        let early = MonoTime::from_ns(-5_000_000);
        assert_eq!(early.plus_us(7).since_us(early), 7);
        assert_eq!(early.since_us(early.plus_us(7)), 0);
        assert_eq!(MonoTime::from_ns(1_999).since_us(MonoTime::from_ns(0)), 1);
        assert!(MonoTime::now() <= MonoTime::now());
    }
}

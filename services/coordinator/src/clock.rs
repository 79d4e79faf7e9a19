//! The clock that runs are counted on, as a parameter: tests set it, the program reads the
//! system's.
//!
//! A wall clock may be set, and a run must not end or begin anew for that: the system's is read
//! once, and goes on with the time since the machine's boot, which nobody can set. Only whoever has
//! no run under way may follow the wall clock again.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use loadpilot_events::Timestamp;

/// Tells the time. Clones tell the same.
#[derive(Clone)]
pub struct Clock(Arc<Source>);

enum Source {
    /// What the wall clock showed at the machine's boot, in µs, as far as it is followed.
    Steady(AtomicU64),
    Told(Box<dyn Fn() -> Timestamp + Send + Sync>),
}

impl Clock {
    /// The system's clock, as it is set now; agents follow it through clock samples.
    #[must_use]
    pub fn system() -> Self {
        Self(Arc::new(Source::Steady(AtomicU64::new(boot_at_us()))))
    }

    /// A clock that says what `tell` says.
    pub fn from_fn(tell: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(Source::Told(Box::new(tell))))
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &*self.0 {
            Source::Steady(boot_at) => Timestamp(boot_at.load(Ordering::Relaxed) + since_boot_us()),
            Source::Told(tell) => tell(),
        }
    }

    /// Takes over how the wall clock is set now. To be called only while no run is under way.
    pub fn follow(&self) {
        if let Source::Steady(boot_at) = &*self.0 {
            boot_at.store(boot_at_us(), Ordering::Relaxed);
        }
    }
}

fn boot_at_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since_us = u64::try_from(since.unwrap_or_default().as_micros()).unwrap_or(u64::MAX);
    since_us.saturating_sub(since_boot_us())
}

/// Time that goes on while the machine sleeps, so that a sleep shows as the gap that it is.
#[cfg(target_os = "linux")]
fn since_boot_us() -> u64 {
    let mut spec = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `spec` is a valid place for one timespec.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut spec) };
    assert_eq!(result, 0, "every supported kernel has this clock");
    let (secs, nanos) = (spec.tv_sec.unsigned_abs(), spec.tv_nsec.unsigned_abs());
    secs * 1_000_000 + nanos / 1_000
}

/// Elsewhere from the first question on; a sleep may not count.
#[cfg(not(target_os = "linux"))]
fn since_boot_us() -> u64 {
    use std::sync::LazyLock;
    use std::time::Instant;
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(FIRST.elapsed().as_micros()).unwrap_or(u64::MAX)
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if instants of a run were off from what people read on their walls.
    #[test]
    fn it_begins_with_the_wall_clock_and_goes_on() {
        let clock = Clock::system();
        let wall = || boot_at_us() + since_boot_us();
        let (before, told, after) = (wall(), clock.now().0, wall());
        // Two clocks of one machine are slewed alike, and read one after the other.
        assert!(before.abs_diff(told) < 1_000_000 && told.abs_diff(after) < 1_000_000);
        assert!(clock.now() <= clock.now());
        clock.follow();
        assert!(clock.now().0.abs_diff(wall()) < 1_000_000);
    }

    /// Broken if a test could not say what time it is.
    #[test]
    fn a_told_clock_says_what_it_is_told() {
        let clock = Clock::from_fn(|| Timestamp(7));
        clock.follow();
        assert_eq!(clock.now(), Timestamp(7));
    }
}

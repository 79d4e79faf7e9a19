//! The clock that runs are counted on, as a parameter: tests set it, the program follows the log's.
//!
//! Several coordinators decide about one run and tell its agents the time, so all of them follow
//! the one clock that they have in common: that of the server that leads the control stream. It is
//! measured, and then goes on with the time since this machine's boot, which nobody can set: a run
//! must not end or begin anew because somebody's wall clock was. Only whoever has no run under way
//! may measure again.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use loadpilot_bus::{Bus, Fault, Stream};
use loadpilot_events::Timestamp;
use loadpilot_events::wire::heartbeat::ClockSample;

/// Questions in one measurement; the one with the least round trip counts.
const QUESTIONS: usize = 8;

/// Tells the time. Clones tell the same.
#[derive(Clone)]
pub struct Clock(Arc<Source>);

enum Source {
    Steady(Mutex<ClockMeasurement>),
    Function(Box<dyn Fn() -> Timestamp + Send + Sync>),
}

/// How the log's clock stands to the time since this machine's boot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClockMeasurement {
    /// What it showed at the boot, in µs since 1970.
    boot_at_us: u64,
    /// The truth is within this many µs of it.
    bound_us: u64,
}

/// Asks the log's server what time it is.
///
/// # Errors
/// Whatever keeps it from answering.
pub(crate) async fn measure(bus: &Bus) -> Result<ClockMeasurement, Fault> {
    let mut best: Option<ClockMeasurement> = None;
    for _ in 0..QUESTIONS {
        let asked_us = since_boot_us();
        let told_us = bus.time_of(Stream::Ctl).await?;
        let bound_us = (since_boot_us() - asked_us).div_ceil(2);
        if best.is_none_or(|best| bound_us < best.bound_us) {
            let boot_at_us = told_us.saturating_sub(asked_us + bound_us);
            best = Some(ClockMeasurement {
                boot_at_us,
                bound_us,
            });
        }
    }
    Ok(best.expect("at least one question was asked"))
}

impl Clock {
    /// The system's clock, until what was measured is set.
    #[must_use]
    pub fn system() -> Self {
        Self(Arc::new(Source::Steady(Mutex::new(ClockMeasurement {
            boot_at_us: boot_at_us(),
            bound_us: 0,
        }))))
    }

    /// A clock that says what `tell` says.
    pub fn from_fn(tell: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(Source::Function(Box::new(tell))))
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &*self.0 {
            Source::Steady(measured) => {
                let measured = measured.lock().unwrap_or_else(PoisonError::into_inner);
                Timestamp(measured.boot_at_us + since_boot_us())
            }
            Source::Function(tell) => tell(),
        }
    }

    /// The answer, as of now, to a question that arrived at `received_at`.
    pub(crate) fn sample(&self, received_at: Timestamp) -> ClockSample {
        let bound_us = match &*self.0 {
            Source::Steady(measured) => {
                let measured = measured.lock().unwrap_or_else(PoisonError::into_inner);
                measured.bound_us
            }
            Source::Function(_) => 0,
        };
        ClockSample {
            received_at,
            replied_at: self.now(),
            bound_us,
        }
    }

    /// Goes on as measured. To be called only while no run is under way.
    pub(crate) fn set(&self, measured: &ClockMeasurement) {
        if let Source::Steady(known) = &*self.0 {
            *known.lock().unwrap_or_else(PoisonError::into_inner) = *measured;
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
    }

    /// Broken if a coordinator whose wall clock is wrong told its agents that.
    #[test]
    fn it_goes_on_as_measured() {
        let clock = Clock::system();
        let ahead_us = 300_000_000;
        let measured = ClockMeasurement {
            boot_at_us: boot_at_us() + ahead_us,
            bound_us: 7,
        };
        clock.set(&measured);
        let wall = boot_at_us() + since_boot_us();
        assert!(clock.now().0.abs_diff(wall + ahead_us) < 1_000_000);
        assert_eq!(clock.sample(clock.now()).bound_us, 7);
    }

    /// Broken if a test could not say what time it is.
    #[test]
    fn a_told_clock_says_what_it_is_told() {
        let clock = Clock::from_fn(|| Timestamp(7));
        let measured = ClockMeasurement {
            boot_at_us: 0,
            bound_us: 9,
        };
        clock.set(&measured);
        assert_eq!(clock.now(), Timestamp(7));
        assert_eq!(clock.sample(Timestamp(3)).bound_us, 0);
    }
}

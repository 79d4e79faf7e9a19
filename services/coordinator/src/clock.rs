//! The clock of runs, as a parameter: tests set it, the program measures the clock of the log
//! server.
//!
//! Several coordinators decide about one run and send its agents the time, so all of them use the
//! clock of the server that leads the control stream. A measurement is extrapolated with the time
//! since this machine's boot, which cannot be set: a change of a wall clock must not end or restart
//! a run. The clock is measured again only while no run is open.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use loadpilot_bus::{Bus, Fault, Stream};
use loadpilot_events::Timestamp;
use loadpilot_events::wire::heartbeat::ClockSample;

/// Number of requests of one measurement; the one with the shortest round trip counts.
const REQUESTS: usize = 8;

/// A clock; clones show the same time.
#[derive(Clone)]
pub struct Clock(Arc<Source>);

enum Source {
    Steady(Mutex<ClockMeasurement>),
    Function(Box<dyn Fn() -> Timestamp + Send + Sync>),
}

/// The log server's clock relative to the time since this machine's boot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClockMeasurement {
    /// Its time at the boot, in µs since 1970.
    boot_at_us: u64,
    /// Maximum error of that time, in µs.
    bound_us: u64,
}

/// Measures the clock of the server that leads the control stream.
///
/// # Errors
/// A fault of the bus.
pub(crate) async fn measure(bus: &Bus) -> Result<ClockMeasurement, Fault> {
    let mut best: Option<ClockMeasurement> = None;
    for _ in 0..REQUESTS {
        let sent_us = since_boot_us();
        let server_us = bus.time_of(Stream::Ctl).await?;
        let bound_us = (since_boot_us() - sent_us).div_ceil(2);
        if best.is_none_or(|best| bound_us < best.bound_us) {
            let boot_at_us = server_us.saturating_sub(sent_us + bound_us);
            best = Some(ClockMeasurement {
                boot_at_us,
                bound_us,
            });
        }
    }
    Ok(best.expect("a measurement has at least one request"))
}

impl Clock {
    /// This machine's wall clock at the call, until a measurement is set.
    #[must_use]
    pub fn system() -> Self {
        Self(Arc::new(Source::Steady(Mutex::new(ClockMeasurement {
            boot_at_us: boot_at_us(),
            bound_us: 0,
        }))))
    }

    /// A clock that shows the result of `tell`.
    pub fn from_fn(tell: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(Source::Function(Box::new(tell))))
    }

    /// The current time of this clock.
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

    /// The reply, as of now, to a clock request that arrived at `received_at`.
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

    /// Continues with a new measurement. To be called only while no run is open.
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

/// Time since boot in µs, including time in suspend, so that a suspend is noticed.
#[cfg(target_os = "linux")]
fn since_boot_us() -> u64 {
    let mut spec = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `spec` is valid for writes of one timespec.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut spec) };
    assert_eq!(result, 0, "every supported kernel has this clock");
    let (secs, nanos) = (spec.tv_sec.unsigned_abs(), spec.tv_nsec.unsigned_abs());
    secs * 1_000_000 + nanos / 1_000
}

/// Time since the first call in µs; time in suspend may be missing.
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

    /// Broken if the instants of a run differ from the wall clock.
    #[test]
    fn it_begins_with_the_wall_clock_and_goes_on() {
        let clock = Clock::system();
        let wall = || boot_at_us() + since_boot_us();
        let (before, shown, after) = (wall(), clock.now().0, wall());
        // Both clocks of one machine are slewed alike, and are read one after the other.
        assert!(before.abs_diff(shown) < 1_000_000 && shown.abs_diff(after) < 1_000_000);
        assert!(clock.now() <= clock.now());
    }

    /// Broken if a coordinator with a wrong wall clock sends agents that time.
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

    /// Broken if a test cannot set the time.
    #[test]
    fn a_clock_of_a_function_shows_its_result() {
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

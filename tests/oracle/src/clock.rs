//! Both clocks, read together. Wall time can be compared with a client's log; delays and freezes
//! use monotonic time. Every logged time is a reading of `CLOCK_REALTIME`, never converted.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The two clocks, read together.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Monotonic reading.
    pub mono: Instant,
    /// `CLOCK_REALTIME`, microseconds since 1970.
    pub wall_us: u64,
    /// Kernel receive time of the bytes read at this moment, µs of `CLOCK_REALTIME`; present only
    /// if the server requests kernel times and the kernel gave one.
    pub kernel_us: Option<u64>,
}

impl Moment {
    /// Reads both clocks now.
    pub fn now() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        let wall = wall.expect("the wall clock is set after 1970");
        let wall_us = u64::try_from(wall.as_micros()).expect("wall time fits 64 bits until 586524");
        Self {
            mono: Instant::now(),
            wall_us,
            kernel_us: None,
        }
    }

    /// This moment moved later.
    pub fn plus(self, by: Duration) -> Self {
        let by_us = u64::try_from(by.as_micros()).expect("durations are bounded at the door");
        Self {
            mono: self.mono + by,
            wall_us: self.wall_us + by_us,
            kernel_us: None,
        }
    }
}

//! The wall clock of this machine. It gives the times of events; firing follows the monotonic
//! clock.

use std::time::{SystemTime, UNIX_EPOCH};

use loadpilot_events::Timestamp;

/// The current time, in µs since 1970.
///
/// # Panics
/// When the clock stands before 1970 or after the year 586,000.
#[must_use]
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.expect("the clock stands after 1970");
    Timestamp(u64::try_from(since.as_micros()).expect("the clock stands before the year 586,000"))
}

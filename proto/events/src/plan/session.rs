//! Sessions: how long a user of a closed loop stays before another one takes its place.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Length of the sessions of a closed loop, drawn by the seed; a day at most. Each place among the
/// users holds one session after another: a user whose session is over ends its task and leaves,
/// and a new user takes its place at once. The run begins in the middle of the sessions, so that
/// new ones begin evenly from the start on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SessionLength {
    /// Of a uniform distribution; constant where both ends are equal.
    Between {
        /// Minimum, in µs.
        from_us: u64,
        /// Maximum, in µs.
        to_us: u64,
    },
    /// Of an exponential distribution.
    Exponential {
        /// Median, in µs; the mean is 1/ln 2 = 1.4427 times as long.
        median_us: u64,
    },
    /// Of a lognormal distribution.
    Lognormal {
        /// Median, in µs.
        median_us: u64,
        /// 99th percentile, in µs; above the median.
        p99_us: u64,
    },
}

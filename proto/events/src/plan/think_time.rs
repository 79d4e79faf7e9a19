//! Think times: how long users of a closed loop rest between two tasks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Think time of a user of a closed loop between two tasks. Users start spread evenly over the
/// first think time, of a distribution its median, so that they do not run in step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Rest {
    /// Think time after each task, drawn from a uniform distribution by the seed.
    Wait {
        /// Minimum, in µs.
        from_us: u64,
        /// Maximum, in µs.
        to_us: u64,
    },
    /// Think time after each task, drawn from an exponential distribution by the seed; a day at
    /// most. From the second version of the format.
    Exponential {
        /// Median, in µs; the mean is 1/ln 2 = 1.4427 times as long.
        median_us: u64,
    },
    /// Think time after each task, drawn from a lognormal distribution by the seed; a day at most.
    /// From the second version of the format.
    Lognormal {
        /// Median, in µs.
        median_us: u64,
        /// 99th percentile, in µs; above the median.
        p99_us: u64,
    },
    /// Fixed time between the starts of two tasks; a task that took longer is followed at once.
    Pacing {
        /// Interval, in µs.
        every_us: u64,
    },
}

impl Rest {
    /// Whether readers of the first version of the format know it.
    #[must_use]
    pub fn is_of_first_version(self) -> bool {
        matches!(self, Self::Wait { .. } | Self::Pacing { .. })
    }
}

//! Buckets of histograms for systems of metrics: classic ones with fixed bounds, and native ones
//! whose bounds grow exponentially. Must never compute a percentile: the reader of buckets does.

use std::collections::BTreeMap;

use loadpilot_events::log::hist::Hist;

/// Upper bounds of the classic buckets of a histogram, in µs; one more bucket has the values above.
pub const BOUNDS_US: [u64; 17] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 75_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000,
];
/// Schema of the native buckets: each upper bound is 2^(1/2^schema) times the one below, which is
/// 1.1 %, so that a percentile is never further than that from the value.
/// <https://prometheus.io/docs/specs/native_histograms/#schema>
pub const NATIVE_SCHEMA: i32 = 6;
/// Number of native buckets from one power of two to the next.
const BUCKETS_PER_POWER: f64 = (1 << NATIVE_SCHEMA) as f64;

/// A histogram of times, in classic and in native buckets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Buckets {
    /// Number of values in each bucket of [`BOUNDS_US`], not cumulative; the last one has no upper
    /// bound.
    pub classic: [u64; BOUNDS_US.len() + 1],
    /// Number of values by native bucket; empty ones are left out. The bucket n has the times in
    /// seconds above 2^((n−1)/2^schema), up to 2^(n/2^schema).
    pub native: BTreeMap<i32, u64>,
    /// Sum of the values in µs, each to the digits that are stored.
    pub sum_us: u64,
}

impl Buckets {
    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.classic.iter().sum()
    }

    /// Adds the values of a stored histogram.
    pub fn add(&mut self, hist: &Hist) {
        for bucket in hist.iter_recorded() {
            let (value, count) = (
                bucket.value_iterated_to(),
                bucket.count_since_last_iteration(),
            );
            let least_us = hist.lowest_equivalent(value);
            let index = BOUNDS_US.partition_point(|bound_us| *bound_us < least_us);
            self.classic[index] += count;
            let median_us = hist.median_equivalent(value);
            *self.native.entry(native_bucket(median_us)).or_default() += count;
            let sum_us = median_us.saturating_mul(count);
            self.sum_us = self.sum_us.saturating_add(sum_us);
        }
    }
}

/// The native bucket of a time; stored histograms have no zero.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "times are below 2^53 µs, the logarithm is a small number"
)]
fn native_bucket(us: u64) -> i32 {
    let seconds = us.max(1) as f64 / 1e6;
    (seconds.log2() * BUCKETS_PER_POWER).ceil() as i32
}

//! The buckets of a histogram.
//!
//! Buckets are those of HdrHistogram with a least value of 1 (Tene, "HdrHistogram: internal
//! design"), as wide as three or two significant digits allow.

use super::{DIGITS_MAX, DIGITS_MIN, Hist, anatomy, latency};

/// Number of significant digits of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Three significant digits: latencies.
    Latency,
    /// Two significant digits: phases of calls.
    Phase,
}

impl Precision {
    /// The precision of so many significant digits.
    pub(super) fn of_digits(digits: u32) -> Option<Self> {
        match u8::try_from(digits) {
            Ok(DIGITS_MAX) => Some(Self::Latency),
            Ok(DIGITS_MIN) => Some(Self::Phase),
            _ => None,
        }
    }

    /// Number of buckets per power of two.
    fn half(self) -> u64 {
        match self {
            Self::Latency => 1_024,
            Self::Phase => 128,
        }
    }

    /// The bucket of a value.
    #[must_use]
    pub fn bucket(self, value: u64) -> usize {
        let (half, mask) = (self.half(), 2 * self.half() - 1);
        let shift = (value | mask).ilog2() - mask.ilog2();
        let bucket = u64::from(shift) * half + (value >> shift);
        usize::try_from(bucket).unwrap_or(usize::MAX)
    }

    /// The least value of a bucket.
    #[must_use]
    pub fn least(self, bucket: usize) -> u64 {
        let (half, bucket) = (self.half(), bucket as u64);
        let shift = (bucket / half).saturating_sub(1);
        (bucket - shift * half) << shift
    }

    /// The greatest value of a bucket.
    #[must_use]
    pub fn greatest(self, bucket: usize) -> u64 {
        self.least(bucket + 1) - 1
    }

    /// Number of buckets of a histogram whose range ends at `high`: whole powers of two.
    pub(super) fn buckets_up_to(self, high: u64) -> usize {
        let half = usize::try_from(self.half()).unwrap_or(usize::MAX);
        (self.bucket(high) / half + 1).max(2) * half
    }

    /// An empty histogram.
    #[must_use]
    pub fn empty(self) -> Hist {
        match self {
            Self::Latency => latency(),
            Self::Phase => anatomy(),
        }
    }
}

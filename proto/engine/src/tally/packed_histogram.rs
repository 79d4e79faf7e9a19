//! Histogram counts in packed form, for storing many of them and for adding them up.
//!
//! Packing loses nothing: an unpacked sum has the same counts as the merged histograms. Must never
//! read a percentile.

pub use loadpilot_events::log::hist::Precision;
use loadpilot_events::log::hist::{self, FilledBuckets, Hist};
use serde::{Deserialize, Serialize};

use crate::tally::bytes_codec;

/// Appends a number as a varint: seven bits a byte, the lowest first.
pub(crate) fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a varint from the front; `None` at the end.
pub(crate) fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0_u64, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

/// Packed counts: for each bucket that is not empty, its distance from the one before, and its
/// count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedHistogram(#[serde(with = "bytes_codec::bytes")] pub(crate) Vec<u8>);

impl PackedHistogram {
    /// Packs the counts of a histogram.
    #[must_use]
    pub fn of(hist: &Hist, precision: Precision) -> Self {
        let mut packed = Packer::default();
        let mut last = None;
        for step in hist.iter_recorded() {
            // A histogram of fewer digits counts at the least value of its bucket, as merging does.
            let least = hist.lowest_equivalent(step.value_iterated_to());
            let bucket = precision.bucket(least);
            debug_assert!(last.is_none_or(|last| last <= bucket));
            last = Some(bucket);
            packed.push(bucket, step.count_at_value());
        }
        packed.close()
    }

    /// Packs the counts of a stored histogram.
    #[must_use]
    pub fn of_filled(filled: &FilledBuckets, precision: Precision) -> Self {
        let mut packed = Packer::default();
        for (least, count) in filled.values() {
            packed.push(precision.bucket(least), count);
        }
        packed.close()
    }

    /// The buckets and their counts, in order.
    pub fn iter(&self) -> Counts<'_> {
        Counts::new(&self.0)
    }

    /// Adds `more`.
    pub fn add(&mut self, more: &Self) {
        if self.0.is_empty() {
            self.0.clone_from(&more.0);
            return;
        }
        let mut packed = Packer::default();
        let (mut ours, mut theirs) = (self.iter().peekable(), more.iter().peekable());
        loop {
            let next = match (ours.peek(), theirs.peek()) {
                (Some(one), Some(other)) if other.0 < one.0 => theirs.next(),
                (None, Some(_)) => theirs.next(),
                (Some(_), _) => ours.next(),
                (None, None) => break,
            };
            if let Some((bucket, count)) = next {
                packed.push(bucket, count);
            }
        }
        *self = packed.close();
    }
}

/// Packs counts in the order of their buckets; counts of the same bucket add up.
#[derive(Debug, Default)]
struct Packer {
    bytes: Vec<u8>,
    last: usize,
    open: Option<(usize, u64)>,
}

impl Packer {
    fn push(&mut self, bucket: usize, count: u64) {
        match &mut self.open {
            Some((at, sum)) if *at == bucket => *sum = sum.saturating_add(count),
            _ => {
                self.flush();
                self.open = Some((bucket, count));
            }
        }
    }

    fn flush(&mut self) {
        if let Some((bucket, count)) = self.open.take() {
            push_number(&mut self.bytes, (bucket - self.last) as u64);
            push_number(&mut self.bytes, count);
            self.last = bucket;
        }
    }

    fn close(mut self) -> PackedHistogram {
        self.flush();
        PackedHistogram(self.bytes)
    }
}

/// Iterates over packed counts.
#[derive(Debug, Clone)]
pub struct Counts<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Counts<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl Iterator for Counts<'_> {
    type Item = (usize, u64);

    fn next(&mut self) -> Option<(usize, u64)> {
        let distance = take_number(&mut self.bytes)?;
        let count = take_number(&mut self.bytes)?;
        self.at = self.at.saturating_add(usize::try_from(distance).ok()?);
        Some((self.at, count))
    }
}

/// A sum of counts: one per bucket.
#[derive(Debug, Clone)]
pub struct HistogramSum {
    precision: Precision,
    counts: Vec<u64>,
}

impl HistogramSum {
    /// An empty sum.
    #[must_use]
    pub fn new(precision: Precision) -> Self {
        Self {
            precision,
            counts: Vec::new(),
        }
    }

    /// Adds packed counts.
    pub fn add(&mut self, more: Counts<'_>) {
        for (bucket, count) in more {
            if bucket >= hist::HIST_COUNTS_MAX {
                // Beyond every valid histogram.
                return;
            }
            if bucket >= self.counts.len() {
                self.counts.resize(bucket + 1, 0);
            }
            self.counts[bucket] = self.counts[bucket].saturating_add(count);
        }
    }

    /// Adds the counts of another sum.
    pub fn merge(&mut self, more: &Self) {
        if more.counts.len() > self.counts.len() {
            self.counts.resize(more.counts.len(), 0);
        }
        for (sum, count) in self.counts.iter_mut().zip(&more.counts) {
            *sum = sum.saturating_add(*count);
        }
    }

    /// Buckets that are not empty, in order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u64)> {
        let counts = self.counts.iter().copied().enumerate();
        counts.filter(|&(_, count)| count > 0)
    }

    /// The sum, packed.
    #[must_use]
    pub fn pack(&self) -> PackedHistogram {
        let mut packed = Packer::default();
        for (bucket, count) in self.iter() {
            packed.push(bucket, count);
        }
        packed.close()
    }

    /// The sum as a histogram, from which percentiles can be read.
    ///
    /// # Panics
    /// Never: histograms grow on demand.
    #[must_use]
    pub fn hist(&self) -> Hist {
        let mut hist = self.precision.empty();
        // The greatest bucket first, so that the histogram grows once.
        for (bucket, count) in self.iter().collect::<Vec<_>>().into_iter().rev() {
            hist.record_n(self.precision.least(bucket), count)
                .expect("an auto-resizing histogram takes any value");
        }
        hist
    }
}

impl PackedHistogram {
    /// The counts as a histogram.
    #[must_use]
    pub fn hist(&self, precision: Precision) -> Hist {
        let mut dense = HistogramSum::new(precision);
        dense.add(self.iter());
        dense.hist()
    }
}

//! A stored histogram as its filled buckets.
//!
//! The log of a day holds millions of histograms of a few values each. An array with a count for
//! each of thousands of buckets takes longer to fold than these values. Must never differ from
//! [`decode`] in the texts that it reads or refuses: a text in another form than the plain one that
//! [`super::encode`] writes is passed to `decode`.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use zlib_rs::{Inflate, InflateFlush, Status};

use super::{
    DEFLATE_HEADER_BYTES, EncodedHistogram, HEADER_BYTES, Hist, NUMBER_BYTES_MAX, NotAHistogram,
    Precision, RANGE_US, V2_DEFLATE_COOKIE, decode, judge, long_word, word,
};

/// Logarithm of the largest window of deflate, in bytes.
const WINDOW_BITS: u8 = 15;
/// Maximum size in bytes of a V2 form that is read as the plain form.
const PLAIN_BYTES_MAX: usize = 16 << 10;

/// The buckets of a histogram that are not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledBuckets {
    precision: Precision,
    /// Number of its buckets, empty ones included.
    buckets: usize,
    /// Number of its values.
    len: u64,
    /// Buckets and their counts, in order.
    filled: Vec<(u32, u64)>,
}

impl FilledBuckets {
    fn of(hist: &Hist) -> Self {
        let digits = u32::from(hist.sigfig());
        let precision = Precision::of_digits(digits).unwrap_or(Precision::Latency);
        let mut filled = Vec::new();
        for step in hist.iter_recorded() {
            let least = hist.lowest_equivalent(step.value_iterated_to());
            let bucket = u32::try_from(precision.bucket(least)).unwrap_or(u32::MAX);
            filled.push((bucket, step.count_at_value()));
        }
        Self {
            precision,
            buckets: hist.distinct_values(),
            len: hist.len(),
            filled,
        }
    }

    /// Number of values.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of buckets, empty ones included, as [`Hist::distinct_values`] counts them.
    #[must_use]
    pub fn buckets(&self) -> usize {
        self.buckets
    }

    /// Number of buckets that are not empty.
    #[must_use]
    pub fn filled(&self) -> usize {
        self.filled.len()
    }

    /// The least value of each filled bucket and its count, in order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        let filled = self.filled.iter();
        filled.map(|&(bucket, count)| (self.precision.least(bucket as usize), count))
    }

    /// Adds its values to a sum, as the sum of both histograms.
    ///
    /// # Panics
    /// Never: histograms grow on demand.
    pub fn add_to(&self, sum: &mut Hist) {
        // The greatest value first, so that the sum grows once.
        for (value, count) in self.values().rev() {
            sum.record_n(value, count)
                .expect("an auto-resizing histogram takes any value");
        }
    }
}

/// Reads stored histograms, with buffers that are allocated once.
///
/// It inflates with zlib-rs: for a few dozen bytes miniz_oxide, which [`decode`] uses, takes four
/// times as long, since it builds the tables of a code for each of them.
pub struct HistogramReader {
    inflate: Inflate,
    deflated: Vec<u8>,
    v2: Vec<u8>,
}

impl Default for HistogramReader {
    fn default() -> Self {
        Self {
            inflate: Inflate::new(true, WINDOW_BITS),
            deflated: Vec::new(),
            v2: vec![0; PLAIN_BYTES_MAX],
        }
    }
}

impl fmt::Debug for HistogramReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistogramReader").finish_non_exhaustive()
    }
}

impl HistogramReader {
    /// Reads a histogram; empty text gives no values.
    ///
    /// # Errors
    /// Those of [`decode`].
    pub fn read(&mut self, encoded: &EncodedHistogram) -> Result<FilledBuckets, NotAHistogram> {
        match self.plain(&encoded.0) {
            Some(filled) => Ok(filled),
            None => decode(encoded).map(|hist| FilledBuckets::of(&hist)),
        }
    }

    /// Reads the plain form; `None` for any other text.
    pub(super) fn plain(&mut self, text: &str) -> Option<FilledBuckets> {
        if text.is_empty() {
            return FilledBuckets::from_counts(Precision::Latency, RANGE_US, &[]);
        }
        self.deflated.clear();
        BASE64_STANDARD.decode_vec(text, &mut self.deflated).ok()?;
        let (header, deflated) = self.deflated.split_first_chunk::<DEFLATE_HEADER_BYTES>()?;
        let says_bytes = usize::try_from(word(header, 4)).ok()?;
        if word(header, 0) != V2_DEFLATE_COOKIE || says_bytes != deflated.len() {
            return None;
        }
        self.inflate.reset(true);
        let finish = InflateFlush::Finish;
        let status = self
            .inflate
            .decompress(deflated, &mut self.v2, finish)
            .ok()?;
        let is_whole =
            status == Status::StreamEnd && self.inflate.total_in() == deflated.len() as u64;
        let v2 = self
            .v2
            .get(..usize::try_from(self.inflate.total_out()).ok()?)?;
        if !is_whole || judge(v2).is_err() {
            return None;
        }
        let (header, counts) = v2.split_first_chunk::<HEADER_BYTES>()?;
        let (offset, ratio) = (word(header, 8), f64::from_bits(long_word(header, 32)));
        if offset != 0 || ratio.to_bits() != 1_f64.to_bits() {
            return None;
        }
        let precision = Precision::of_digits(word(header, 12))?;
        FilledBuckets::from_counts(precision, long_word(header, 24), counts)
    }
}

impl FilledBuckets {
    /// The filled buckets of a V2 form without its header; `None` when it is not valid.
    fn from_counts(precision: Precision, high: u64, mut counts: &[u8]) -> Option<Self> {
        let buckets = precision.buckets_up_to(high);
        let (mut filled, mut len) = (Vec::new(), 0_u64);
        let mut bucket = 0_usize;
        while !counts.is_empty() {
            let number = take_zigzag(&mut counts)?;
            if number < 0 {
                let zeroes = usize::try_from(number.unsigned_abs()).ok()?;
                bucket = bucket.checked_add(zeroes)?;
                continue;
            }
            if number > 0 {
                if bucket >= buckets {
                    return None;
                }
                filled.push((u32::try_from(bucket).ok()?, number.unsigned_abs()));
                len = len.checked_add(number.unsigned_abs())?;
            }
            bucket += 1;
        }
        Some(Self {
            precision,
            buckets,
            len,
            filled,
        })
    }
}

/// Reads a number of the V2 form from the front: seven bits a byte, the lowest first, and all eight
/// of the ninth; zigzag. `None` at the end.
fn take_zigzag(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0_u64;
    for place in 0..NUMBER_BYTES_MAX {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let is_last = place == NUMBER_BYTES_MAX - 1;
        let bits = if is_last { byte } else { byte & 0x7f };
        number |= u64::from(bits) << (7 * place);
        if is_last || byte < 0x80 {
            break;
        }
    }
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

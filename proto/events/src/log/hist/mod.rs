//! Histograms in their stored form: HdrHistogram V2 deflate in base64, which every HdrHistogram
//! library reads.
//!
//! Values are µs. The range grows with the largest value: no value is clamped. Zero is recorded as
//! 1 µs.
//!
//! Any publisher may send a forged histogram: [`decode`] checks what a header claims before it
//! allocates, so that a hundred bytes cannot make a reader allocate gigabytes. It never panics on
//! any text.

use std::io::Read as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::bufread::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod buckets;
mod precision;

pub use buckets::{FilledBuckets, HistogramReader};
pub use precision::Precision;

/// Upper end of the range of an empty histogram, in µs: the least that the library accepts. A run
/// of many tasks holds thousands of histograms, and most targets respond quickly.
const RANGE_US: u64 = 2;

/// Significant digits of an anatomy histogram.
const DIGITS_MIN: u8 = 2;
/// Significant digits of a latency histogram.
const DIGITS_MAX: u8 = 3;
/// Maximum upper end of the range of a histogram that is read, in µs: 50 days; the longest run has
/// 11.
pub const HIST_US_MAX: u64 = (1 << 42) - 1;
/// Maximum number of counts of a histogram that is read: three digits up to [`HIST_US_MAX`] are 32
/// halves of 2,048 counts, for the powers of two from 2¹¹, and one more half for lower values.
pub const HIST_COUNTS_MAX: usize = 33 * 1_024;

/// First bytes of the V2 form and of its deflate form.
const V2_COOKIE: u32 = 0x1c84_9313;
const V2_DEFLATE_COOKIE: u32 = 0x1c84_9314;
/// Size of the header before the deflated bytes: the cookie and their length.
const DEFLATE_HEADER_BYTES: usize = 8;
/// Size of the header before the counts of the V2 form: cookie, length, offset, digits, both ends
/// of the range, ratio.
const HEADER_BYTES: usize = 40;
/// Maximum size of a number of the V2 form.
const NUMBER_BYTES_MAX: usize = 9;
/// Maximum size of a V2 form that is inflated.
const V2_BYTES_MAX: usize = HEADER_BYTES + HIST_COUNTS_MAX * NUMBER_BYTES_MAX;

/// A latency histogram in memory.
pub type Hist = Histogram<u64>;

/// Histogram: base64 of its HdrHistogram V2 deflate form; empty text is the empty histogram.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct EncodedHistogram(pub String);

/// Why a text is not a histogram.
#[derive(Debug, thiserror::Error)]
#[error("not a histogram: {0}")]
pub struct NotAHistogram(String);

/// An empty histogram with three significant digits (latencies).
///
/// # Panics
/// Never: the bounds are constants that the library accepts.
#[must_use]
pub fn latency() -> Hist {
    bounded(DIGITS_MAX)
}

/// An empty histogram with two significant digits (anatomy).
///
/// # Panics
/// Never: the bounds are constants that the library accepts.
#[must_use]
pub fn anatomy() -> Hist {
    bounded(DIGITS_MIN)
}

fn bounded(digits: u8) -> Hist {
    let mut hist = Hist::new_with_bounds(1, RANGE_US, digits).expect("constant bounds are valid");
    hist.auto(true);
    hist
}

/// Records one value in µs.
///
/// # Panics
/// Never: the histogram grows on demand.
pub fn record(hist: &mut Hist, value_us: u64) {
    hist.record(value_us.max(1))
        .expect("an auto-resizing histogram takes any value");
}

/// Encodes a histogram.
///
/// # Panics
/// Never: writing to memory cannot fail.
#[must_use]
pub fn encode(hist: &Hist) -> EncodedHistogram {
    if hist.is_empty() {
        return EncodedHistogram::default();
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(hist, &mut bytes)
        .expect("memory takes every write");
    EncodedHistogram(BASE64_STANDARD.encode(bytes))
}

/// Decodes a histogram; empty text gives the empty latency histogram.
///
/// # Errors
/// When the text is not base64 of a histogram that [`encode`] can write.
pub fn decode(encoded: &EncodedHistogram) -> Result<Hist, NotAHistogram> {
    if encoded.0.is_empty() {
        return Ok(latency());
    }
    let bytes = BASE64_STANDARD
        .decode(&encoded.0)
        .map_err(|error| NotAHistogram(error.to_string()))?;
    let v2 = inflate(&bytes)?;
    judge(&v2)?;
    let mut hist: Hist = Deserializer::new()
        .deserialize(&mut v2.as_slice())
        .map_err(|error| NotAHistogram(error.to_string()))?;
    hist.auto(true);
    Ok(hist)
}

/// Inflates the V2 form, up to its maximum size.
fn inflate(bytes: &[u8]) -> Result<Vec<u8>, NotAHistogram> {
    let (header, deflated) = bytes
        .split_first_chunk::<DEFLATE_HEADER_BYTES>()
        .ok_or_else(|| refusal("it ends inside its header"))?;
    if word(header, 0) != V2_DEFLATE_COOKIE {
        return Err(refusal("it is not in V2 deflate form"));
    }
    if usize::try_from(word(header, 4)) != Ok(deflated.len()) {
        return Err(refusal("its length differs from the one in its header"));
    }
    let mut v2 = Vec::new();
    let most = V2_BYTES_MAX as u64 + 1;
    ZlibDecoder::new(deflated)
        .take(most)
        .read_to_end(&mut v2)
        .map_err(|error| NotAHistogram(error.to_string()))?;
    if v2.len() > V2_BYTES_MAX {
        return Err(NotAHistogram(format!(
            "it inflates to more than {V2_BYTES_MAX} bytes"
        )));
    }
    Ok(v2)
}

/// Checks whether the library can read this V2 form safely: it allocates whatever range, precision
/// and length the header claims, and negates numbers that have no opposite.
fn judge(v2: &[u8]) -> Result<(), NotAHistogram> {
    let (header, counts) = v2
        .split_first_chunk::<HEADER_BYTES>()
        .ok_or_else(|| refusal("it ends inside its header"))?;
    if word(header, 0) != V2_COOKIE {
        return Err(refusal("its inflated content is not in V2 form"));
    }
    if usize::try_from(word(header, 4)) != Ok(counts.len()) {
        return Err(refusal(
            "the length of its counts differs from the one in its header",
        ));
    }
    let digits = word(header, 12);
    if !(u32::from(DIGITS_MIN)..=u32::from(DIGITS_MAX)).contains(&digits) {
        return Err(NotAHistogram(format!(
            "{digits} significant digits; {DIGITS_MIN} or {DIGITS_MAX} are allowed"
        )));
    }
    let (low, high) = (long_word(header, 16), long_word(header, 24));
    if low != 1 || !(RANGE_US..=HIST_US_MAX).contains(&high) {
        return Err(NotAHistogram(format!(
            "a range from {low} to {high}; allowed is 1 to at most {HIST_US_MAX}"
        )));
    }
    // The smallest number is nine bytes of ones, which no two other numbers make together.
    let mut ones = 0;
    for &byte in counts {
        ones = if byte == 0xff { ones + 1 } else { 0 };
        if ones == NUMBER_BYTES_MAX {
            return Err(refusal("a run of 2⁶³ zeroes is not allowed"));
        }
    }
    Ok(())
}

fn refusal(why: &str) -> NotAHistogram {
    NotAHistogram(why.to_owned())
}

fn word(header: &[u8], at: usize) -> u32 {
    let bytes = &header[at..at + 4];
    bytes
        .iter()
        .fold(0, |word, &byte| word << 8 | u32::from(byte))
}

fn long_word(header: &[u8], at: usize) -> u64 {
    u64::from(word(header, at)) << 32 | u64::from(word(header, at + 4))
}

#[cfg(test)]
mod tests;

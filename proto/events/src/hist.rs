//! Histograms as they travel: HdrHistogram V2 deflate in base64, which every HdrHistogram library
//! reads.
//!
//! Values are µs. The range grows with the largest value: a value is never clamped silently. Zero
//! is recorded as 1 µs.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Upper end of the range of an empty histogram, in µs: the least that the library accepts. A run
/// of many tasks holds thousands of histograms, and most targets answer in little time.
const RANGE_US: u64 = 2;

/// A latency histogram in memory.
pub type Hist = Histogram<u64>;

/// A histogram in base64 of its V2 deflate form; empty text is the empty histogram.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct EncodedHistogram(pub String);

/// Why text is not a histogram.
#[derive(Debug, thiserror::Error)]
#[error("not a histogram: {0}")]
pub struct NotAHistogram(String);

/// An empty histogram with three significant digits (latencies).
///
/// # Panics
/// Never: the bounds are constants that the library accepts.
#[must_use]
pub fn latency() -> Hist {
    bounded(3)
}

/// An empty histogram with two significant digits (anatomy).
///
/// # Panics
/// Never: the bounds are constants that the library accepts.
#[must_use]
pub fn anatomy() -> Hist {
    bounded(2)
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
/// When the text is not base64 of a histogram.
pub fn decode(encoded: &EncodedHistogram) -> Result<Hist, NotAHistogram> {
    if encoded.0.is_empty() {
        return Ok(latency());
    }
    let bytes = BASE64_STANDARD
        .decode(&encoded.0)
        .map_err(|error| NotAHistogram(error.to_string()))?;
    let mut hist: Hist = Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| NotAHistogram(error.to_string()))?;
    hist.auto(true);
    Ok(hist)
}

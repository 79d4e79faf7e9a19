//! Properties of the reader of deltas from the log: it reads a delta within bounds, or refuses it.

use std::io::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use loadpilot_events::limits::SAMPLES_PER_DELTA_MAX;
use loadpilot_events::log::delta::DeltaReported;
use loadpilot_events::log::hist::{self, EncodedHistogram, HIST_COUNTS_MAX, HIST_US_MAX};
use loadpilot_events::log::samples::{self, EncodedSamples};

/// JSON of a delta, with all that is encoded in it.
///
/// # Panics
/// It is read as something different, or beyond the bounds.
pub fn delta(bytes: &[u8]) {
    let Ok(delta) = serde_json::from_slice::<DeltaReported>(bytes) else {
        return;
    };
    let text = serde_json::to_vec(&delta).expect("what was read can be written");
    let again: DeltaReported = serde_json::from_slice(&text).expect("what was written is read");
    assert_eq!(again, delta);
    let responses = delta
        .calls
        .iter()
        .flat_map(|row| [&row.response, &row.service]);
    let phases = delta.anatomy.iter().flat_map(|row| row.phases.values());
    responses.chain(phases).for_each(read_histogram);
    read_samples(&delta.samples);
}

/// A histogram in V2 form, before deflation: a search would not find a valid deflated one.
///
/// # Panics
/// As [`delta`].
pub fn histogram(v2: &[u8]) {
    /// First bytes of the deflate form.
    const COOKIE: [u8; 4] = [0x1c, 0x84, 0x93, 0x14];
    let mut deflate = ZlibEncoder::new(Vec::new(), Compression::none());
    deflate.write_all(v2).expect("memory takes every write");
    let deflated = deflate.finish().expect("memory takes every write");
    let length = u32::try_from(deflated.len()).expect("no more than a search makes");
    let bytes = [&COOKIE, length.to_be_bytes().as_slice(), &deflated].concat();
    read_histogram(&EncodedHistogram(BASE64_STANDARD.encode(bytes)));
    // The bytes themselves are no deflate form, or one cut short.
    read_histogram(&EncodedHistogram(BASE64_STANDARD.encode(v2)));
}

/// The columns of sampled calls.
///
/// # Panics
/// As [`delta`].
pub fn columns(bytes: &[u8]) {
    read_samples(&EncodedSamples(BASE64_STANDARD.encode(bytes)));
}

fn read_histogram(text: &EncodedHistogram) {
    let Ok(read) = hist::decode(text) else { return };
    assert!(read.distinct_values() <= HIST_COUNTS_MAX);
    // The greatest value that shares its count with the end of the range.
    assert!(read.max() <= HIST_US_MAX, "{}", read.max());
    let again = hist::decode(&hist::encode(&read)).expect("what was written is read");
    assert_eq!(again.len(), read.len());
    assert!(read.is_empty() || again == read);
}

fn read_samples(text: &EncodedSamples) {
    let Ok(read) = samples::decode(text) else {
        return;
    };
    assert!(read.len() <= SAMPLES_PER_DELTA_MAX, "{}", read.len());
    let mut again = Vec::new();
    for text in samples::encode(&read) {
        again.extend(samples::decode(&text).expect("what was written is read"));
    }
    assert_eq!(again, read);
}

//! Properties of the reader of a ring's records: foreign bytes are a record exactly as this code
//! encodes it, or no record.

use crate::fire::journal::record::{CallRecord, RECORD_BYTES, seal};

/// The first 8 bytes are the record's place, the next ones the record; missing bytes are 0.
///
/// # Panics
/// A record is read that no writer could have written.
pub fn record(bytes: &[u8]) {
    let mut padded = [0; 8 + RECORD_BYTES];
    let length = bytes.len().min(padded.len());
    padded[..length].copy_from_slice(&bytes[..length]);
    let mut words = [0; 1 + RECORD_BYTES / 8];
    for (word, part) in words.iter_mut().zip(padded.as_chunks().0) {
        *word = u64::from_le_bytes(*part);
    }
    let [place, words @ ..] = words;
    let mut record = [0; RECORD_BYTES];
    record.copy_from_slice(&padded[8..]);
    judge(&record, place);
    // No search finds a check value by chance, so the same bytes are tried with a valid one.
    let mut forged = words;
    // The bits of the check value, which `seal` fills in.
    forged[0] &= !u64::from(u32::MAX);
    judge(&seal(forged, place), place);
}

fn judge(bytes: &[u8; RECORD_BYTES], place: u64) {
    if let Some(record) = CallRecord::decode(bytes, place) {
        assert_eq!(record.encode(place), *bytes, "{record:?}");
        let end = record.call_end();
        assert_eq!(end.is_some(), record.ended.is_some(), "{record:?}");
    }
}

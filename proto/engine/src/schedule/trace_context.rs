//! The ids of calls in W3C Trace Context: <https://www.w3.org/TR/trace-context/>.
//!
//! They are hashes, since services that record a share of traces choose by the last bytes of the
//! id. A program that knows a call of a run can compute its ids, so this computation must never
//! change.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Number of bytes of the id of a trace.
const TRACE_ID_BYTES: usize = 16;
/// Number of bytes of the id of a call in its trace.
const PARENT_ID_BYTES: usize = 8;

/// The id of the trace of an arrival, `<run>/<arrival>`, in hex. All its calls are one trace.
#[must_use]
pub fn trace_id(arrival: &str) -> String {
    let mut id = String::with_capacity(2 * TRACE_ID_BYTES);
    push_hash(&mut id, arrival, TRACE_ID_BYTES);
    id
}

/// Replaces the id of an arrival, `<run>/<arrival>`, with the value of the header `traceparent` of
/// its call number `step`. The flag asks services to record the trace.
///
/// # Panics
/// Never: a `String` takes what is written.
pub fn to_traceparent(id: &mut String, step: usize) {
    let mut value = String::with_capacity(55);
    value.push_str("00-");
    push_hash(&mut value, id, TRACE_ID_BYTES);
    value.push('-');
    write!(id, "/{step}").expect("a String takes what is written");
    push_hash(&mut value, id, PARENT_ID_BYTES);
    value.push_str("-01");
    *id = value;
}

/// Appends the first bytes of the SHA-256 of a text, in hex.
fn push_hash(to: &mut String, text: &str, bytes: usize) {
    for byte in &Sha256::digest(text)[..bytes] {
        write!(to, "{byte:02x}").expect("a String takes what is written");
    }
}

//! What must hold of everything that reads bytes of strangers: one function for each, which panics
//! when its law is broken.
//!
//! cargo-fuzz searches them for such bytes (`services/agent/fuzz`); the tests run them over what it
//! found and over what people thought of. Built for nobody else, and must never need a clock,
//! chance or a socket.

mod delta;
#[cfg(test)]
mod tests;

pub use delta::{columns, delta, histogram};

/// Most places at which bytes are cut in two; all of them when there are no more.
const CUTS_MAX: usize = 128;
/// Pieces of these lengths: among them those that go through every place, and through the middle
/// of a line's end.
const PIECES_BYTES: [usize; 4] = [1, 2, 3, 7];

/// An HTTP/1.1 answer, as it comes from a target.
///
/// # Panics
/// When what it means depends on how it is cut, or more of it is kept than a head.
pub fn answer(bytes: &[u8]) {
    super::http::http1::answer::fuzz::answer(bytes);
}

/// The body of a streamed answer.
///
/// # Panics
/// When its tokens are not those that somebody counts who has all of it.
pub fn tokens(bytes: &[u8]) {
    super::request::stream_tokens::fuzz::tokens(bytes);
}

/// A place of a ring and its record, as a process that was killed may have left it.
///
/// # Panics
/// When a record is read that nobody could have written.
pub fn record(bytes: &[u8]) {
    super::journal::record::fuzz::record(bytes);
}

/// The ways in which `bytes` are cut.
pub(super) fn ways(bytes: &[u8]) -> impl Iterator<Item = Vec<&[u8]>> {
    let step = bytes.len().div_ceil(CUTS_MAX).max(1);
    let halves = (1..bytes.len()).step_by(step).map(|at| {
        let (head, tail) = bytes.split_at(at);
        vec![head, tail]
    });
    let pieces = PIECES_BYTES
        .iter()
        .map(|&piece| bytes.chunks(piece).collect());
    halves.chain(pieces)
}

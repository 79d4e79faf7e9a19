//! What must hold of everything that reads bytes of strangers: one function for each, which panics
//! when its law is broken.
//!
//! cargo-fuzz searches them for such bytes (`services/agent/fuzz`); the tests run them over what it
//! found and over what people thought of. Built for nobody else, and must never need a clock,
//! chance or a socket.

mod answer;
mod delta;
mod record;
#[cfg(test)]
mod tests;
mod tokens;

pub use answer::answer;
pub use delta::{columns, delta, histogram};
pub use record::record;
pub use tokens::tokens;

/// Most places at which bytes are cut in two; all of them when there are no more.
const CUTS_MAX: usize = 128;
/// Pieces of these lengths: among them those that go through every place, and through the middle
/// of a line's end.
const PIECES_BYTES: [usize; 4] = [1, 2, 3, 7];

/// The ways in which `bytes` are cut.
fn ways(bytes: &[u8]) -> impl Iterator<Item = Vec<&[u8]>> {
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

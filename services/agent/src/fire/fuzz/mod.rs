//! What must hold of the readers of foreign bytes: one function for each, which panics when its law
//! is broken.
//!
//! - [`answer`]: an HTTP/1.1 answer.
//! - [`tokens`]: the body of a streamed answer.
//! - [`record`]: a place of a ring, as a killed process may have left it.
//! - [`delta`], [`histogram`], [`columns`]: a delta in the log, and what is encoded in it.
//!
//! cargo-fuzz searches for such bytes (`services/agent/fuzz`); the tests use its findings and bytes
//! by hand. Built for these two only; must never need a clock, chance or a socket.

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

/// Maximum number of places at which bytes are cut in two.
const CUTS_MAX: usize = 128;
/// Lengths of equal pieces: among them those that cut at every place, and in the middle of a line's
/// end.
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

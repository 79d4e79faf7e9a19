//! The ways in which the bytes of a target may be cut.

/// Maximum number of places at which bytes are cut in two.
const CUTS_MAX: usize = 128;
/// Lengths of equal pieces: among them those that cut at every place, and in the middle of a line's
/// end.
const PIECES_BYTES: [usize; 4] = [1, 2, 3, 7];

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

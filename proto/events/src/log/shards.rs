//! Stored form of lists of shards: strides of three numbers each (ADR 0030).
//!
//! Shards are dealt one by one, so that each of a thousand agents holds every thousandth shard. As
//! a plain list the map of a run would grow with agents times shards and soon exceed the server's
//! largest message. A list is stored as shards and strides `[first, step, count]`, mixed, and is
//! never longer than the plain list. Plain lists of earlier versions are read unchanged. No shard
//! is dropped or repeated.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// Minimum number of shards of a stride; fewer are written one by one.
const STRIDE_MIN: u32 = 3;

/// Number of steps tried from a shard: to its nearest neighbours. A holder that took over from more
/// holders at once has some shards written one by one.
const STEPS_TRIED: usize = 8;

/// One shard, or a stride of shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Piece {
    /// One shard.
    One(u32),
    /// Stride `[first, step, count]`: the `count` shards first, first + step, …
    Stride(u32, u32, u32),
}

impl Piece {
    /// Whether it is written as `[first, step, count]`.
    pub(super) fn is_stride(self) -> bool {
        matches!(self, Self::Stride(..))
    }

    /// Number of shards that it stands for.
    pub(super) fn count(self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Stride(_, _, count) => count as usize,
        }
    }

    /// Its shards, up to the largest number that a shard can have.
    pub(super) fn shards(self) -> impl Iterator<Item = u32> {
        let (first, step, count) = match self {
            Self::One(shard) => (shard, 0, 1),
            Self::Stride(first, step, count) => (first, step, count),
        };
        (0..count).map_while(move |nth| first.checked_add(step.checked_mul(nth)?))
    }

    /// Whether all its shards are within the range of a shard number.
    pub(super) fn is_whole(self) -> bool {
        self.shards().count() == self.count()
    }
}

/// Pieces of a list. Strides are searched in ascending lists only, and may interleave: a holder
/// that took over the shards of others has several. Any other list is written one by one.
#[must_use]
pub fn pieces(shards: &[u32]) -> Vec<Piece> {
    if !shards.is_sorted_by(|one, next| one < next) {
        return shards.iter().copied().map(Piece::One).collect();
    }
    let mut pieces = Vec::new();
    let mut rest: BTreeSet<u32> = shards.iter().copied().collect();
    while let Some(first) = rest.pop_first() {
        let steps = rest.iter().take(STEPS_TRIED).map(|next| next - first);
        let found = steps.map(|step| (stride_length(&rest, first, step), step));
        let longest = found.max_by_key(|&(count, step)| (count, Reverse(step)));
        let stride = longest.map(|(count, step)| Piece::Stride(first, step, count));
        match stride.filter(|stride| saves(*stride)) {
            Some(stride) => {
                for shard in stride.shards() {
                    rest.remove(&shard);
                }
                pieces.push(stride);
            }
            None => pieces.push(Piece::One(first)),
        }
    }
    pieces
}

/// Whether a list is stored with strides.
pub(crate) fn has_strides(shards: &[u32]) -> bool {
    pieces(shards).iter().any(|piece| piece.is_stride())
}

/// Number of shards of the stride from `first` by `step`, `first` included.
fn stride_length(rest: &BTreeSet<u32>, first: u32, step: u32) -> u32 {
    let mut count = 1;
    let mut next = first.checked_add(step);
    while let Some(shard) = next.filter(|shard| rest.contains(shard)) {
        count += 1;
        next = shard.checked_add(step);
    }
    count
}

/// Whether a stride is shorter than its shards written one by one with commas.
fn saves(stride: Piece) -> bool {
    let Piece::Stride(first, step, count) = stride else {
        return false;
    };
    let written: usize = stride.shards().map(|shard| digits(shard) + 1).sum();
    let numbers = digits(first) + digits(step) + digits(count);
    count >= STRIDE_MIN && "[,,],".len() + numbers < written
}

fn digits(number: u32) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Stores a list as its pieces.
pub(crate) fn serialize<S: Serializer>(shards: &[u32], to: S) -> Result<S::Ok, S::Error> {
    pieces(shards).serialize(to)
}

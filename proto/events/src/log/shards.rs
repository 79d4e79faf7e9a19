//! Lists of shards as they are stored: strides of them in three numbers each.
//!
//! Shards are dealt one by one, so that of a thousand agents each holds every thousandth: written
//! out, the map of a run would grow with agents times shards and soon be larger than a message of
//! the server. A list is stored as shards and strides `[first, step, count]`, mixed, and never
//! longer than written out. Plain lists, as they were stored before, are read as they are.
//!
//! Whoever may write may forge: a map that would unfold into more shards than a run can have is
//! refused before it is unfolded. Must never drop or repeat a shard.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// Fewest shards that are worth a stride; fewer are written out.
const STRIDE_MIN: u32 = 3;

/// Steps that are tried from a shard on: to its next neighbours. Whoever took over from more others
/// at once has some shards written out.
const STEPS_TRIED: usize = 8;

/// A piece of a list of shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Piece {
    /// One shard.
    One(u32),
    /// `[first, step, count]`: the shards first, first + step, … of which there are count.
    Stride(u32, u32, u32),
}

impl Piece {
    /// Whether it is written as `[first, step, count]`.
    pub(super) fn is_stride(self) -> bool {
        matches!(self, Self::Stride(..))
    }

    /// How many shards it stands for.
    pub(super) fn count(self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Stride(_, _, count) => count as usize,
        }
    }

    /// What it stands for, up to the greatest number that a shard can have.
    pub(super) fn shards(self) -> impl Iterator<Item = u32> {
        let (first, step, count) = match self {
            Self::One(shard) => (shard, 0, 1),
            Self::Stride(first, step, count) => (first, step, count),
        };
        (0..count).map_while(move |nth| first.checked_add(step.checked_mul(nth)?))
    }

    /// Whether all of it are numbers that a shard can have.
    pub(super) fn is_whole(self) -> bool {
        self.shards().count() == self.count()
    }
}

/// The pieces of a list. Strides are looked for in ascending lists only, and may interleave:
/// whoever took over the shards of others has several of them. Any other list is written out.
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

/// How many shards there are from `first` on by `step`, itself included.
fn stride_length(rest: &BTreeSet<u32>, first: u32, step: u32) -> u32 {
    let mut count = 1;
    let mut next = first.checked_add(step);
    while let Some(shard) = next.filter(|shard| rest.contains(shard)) {
        count += 1;
        next = shard.checked_add(step);
    }
    count
}

/// Whether a stride is shorter than its shards written out with the commas between them.
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

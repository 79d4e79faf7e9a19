//! Seeded draws: one 64-bit hash of a seed, a purpose and two numbers.
//!
//! The finaliser is the one of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom
//! number generators", OOPSLA 2014). The result is stored for ever in the sense that a plan and a
//! seed fix every arrival: this function must never change.

/// Purpose of a draw; draws of different purposes are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// The keys of the task permutation.
    TaskKey = 1,
    /// The coin flips of the task permutation.
    TaskFlip = 2,
    /// The points of Poisson arrivals.
    Poisson = 3,
    /// Whether a call may use an open connection.
    Reuse = 4,
    /// Whether a call is recorded one by one.
    Sample = 5,
    /// The key of the values that an arrival draws in a scenario.
    OfArrival = 6,
    /// The key of the values that an iteration of a closed loop draws.
    OfIteration = 7,
    /// The key of the values that a user draws in its preparation.
    OfStart = 8,
    /// The key of the values that a user draws in its clean-up.
    OfStop = 9,
    /// A drawn value, by its number, under one of those keys.
    Value = 10,
    /// The keys of the order of a feed.
    FeedKey = 11,
    /// The coin flips of the order of a feed.
    FeedFlip = 12,
    /// How long a user of a closed loop rests.
    Rest = 13,
    /// The parts of a run that a sample of a comparison is drawn from.
    Bootstrap = 14,
    /// The keys of the order in which users have types.
    TypeKey = 15,
    /// The coin flips of that order.
    TypeFlip = 16,
    /// Which half of a pair of arrivals is of the first side.
    PairOrder = 17,
    /// How long a session lasts.
    Session = 18,
    /// Where in its first session a place of a closed loop is at the start.
    SessionPlace = 19,
}

/// A uniform 64-bit value fixed by its arguments.
#[must_use]
pub fn draw(seed: u64, purpose: Purpose, block: u64, index: u64) -> u64 {
    let mut state = finalise(seed.wrapping_add(GOLDEN));
    for word in [purpose as u64, block, index] {
        state = finalise(state ^ word.wrapping_mul(GOLDEN));
        state = state.wrapping_add(GOLDEN);
    }
    finalise(state)
}

/// A uniform value below `bound`, which must not be 0 (multiply-shift; bias below 2⁻³²).
#[must_use]
pub fn below(bound: u64, uniform: u64) -> u64 {
    let product = u128::from(uniform) * u128::from(bound);
    u64::try_from(product >> 64).unwrap_or(u64::MAX)
}

/// The new place of the item at `position` of 0..len in a shuffled order: swap-or-not (Hoang,
/// Morris, Rogaway: "An enciphering scheme based on a card shuffle", CRYPTO 2012), a permutation
/// that computes any single position at the same cost. `len` must not be 0; the purposes are those
/// of its keys and of its coin flips.
#[must_use]
pub fn shuffled(
    seed: u64,
    (keys, flips): (Purpose, Purpose),
    block: u64,
    position: u64,
    len: u64,
) -> u64 {
    let bits = u64::from(u64::BITS - (len - 1).leading_zeros());
    let rounds = bits + SHUFFLE_ROUNDS_BEYOND_BITS;
    let mut x = position;
    for round in 0..rounds {
        let key = below(len, draw(seed, keys, block, round));
        let partner = (key + len - x) % len;
        let representative = x.max(partner);
        let flip = representative.wrapping_mul(rounds).wrapping_add(round);
        if draw(seed, flips, block, flip) & 1 == 1 {
            x = partner;
        }
    }
    x
}

/// Number of rounds of the swap-or-not shuffle beyond one for each bit of the length of a block. A
/// position that was once swapped by a random key is uniformly distributed. After r rounds a
/// position was never swapped with chance 2⁻ʳ, so that 2⁻¹² positions of a block are expected to be
/// unmoved.
const SHUFFLE_ROUNDS_BEYOND_BITS: u64 = 12;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn finalise(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_never_change() {
        // Stored runs depend on these values: a difference here is a new plan version.
        assert_eq!(draw(0, Purpose::TaskKey, 0, 0), 14_841_753_917_533_821_954);
        assert_eq!(
            draw(42, Purpose::Poisson, 7, 1023),
            15_879_631_702_115_655_087
        );
    }
}

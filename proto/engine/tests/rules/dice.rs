//! Seeded random numbers: the same seed gives the same numbers on every machine.

use loadpilot_engine::schedule::hash::{Purpose, below, draw};

/// A random number generator: its state is the seed and the number of throws.
#[derive(Debug, Clone)]
pub(crate) struct Dice {
    seed: u64,
    throws: u64,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, throws: 0 }
    }

    /// A value in `range`, which must not be empty.
    pub(crate) fn pick(&mut self, range: std::ops::Range<u64>) -> u64 {
        self.throws += 1;
        let uniform = draw(self.seed, Purpose::TaskKey, self.throws, 0);
        range.start + below(range.end - range.start, uniform)
    }

    /// True in `percent` of 100 throws.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.pick(0..100) < percent
    }

    /// One element of `some`, which must not be empty.
    pub(crate) fn one_of<T: Clone>(&mut self, some: &[T]) -> T {
        some[self.pick(0..some.len() as u64) as usize].clone()
    }

    pub(crate) fn shuffle<T>(&mut self, some: &mut [T]) {
        for place in (1..some.len()).rev() {
            some.swap(place, self.pick(0..place as u64 + 1) as usize);
        }
    }
}

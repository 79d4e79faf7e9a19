//! The values that a scenario draws: fixed by the seed, by whose they are, and by how many the same
//! one drew before.
//!
//! Two hashes of [`crate::schedule::hash`]: the first makes a key of the seed and of who draws, the
//! second a value of the key and of the number of the draw. Must never change: a run of today drawn
//! again in a year draws the same.

use crate::schedule::hash::{Purpose, draw};

/// Who draws values and takes rows of feeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawScope {
    /// The n-th arrival of the run.
    Arrival(u64),
    /// The k-th iteration of a user of a closed loop, as its holder counts them.
    Iteration {
        /// The user's number.
        user: u32,
        /// From 0.
        k: u64,
    },
    /// A user while it is prepared.
    Start(u32),
    /// A user while it cleans up.
    Stop(u32),
}

/// The values of one of them, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Draws {
    key: u64,
    drawn: u64,
}

impl Draws {
    /// Of `whose`, from the first one on.
    #[must_use]
    pub fn new(seed: u64, whose: DrawScope) -> Self {
        let (purpose, block, index) = match whose {
            DrawScope::Arrival(n) => (Purpose::OfArrival, n, 0),
            DrawScope::Iteration { user, k } => (Purpose::OfIteration, u64::from(user), k),
            DrawScope::Start(user) => (Purpose::OfStart, u64::from(user), 0),
            DrawScope::Stop(user) => (Purpose::OfStop, u64::from(user), 0),
        };
        Self {
            key: draw(seed, purpose, block, index),
            drawn: 0,
        }
    }

    /// The next one, uniform over 64 bits.
    pub fn next_value(&mut self) -> u64 {
        let value = draw(self.key, Purpose::Value, 0, self.drawn);
        self.drawn += 1;
        value
    }
}

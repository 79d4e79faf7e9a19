//! The values that a scenario draws: fixed by the seed, by their scope, and by the number of the
//! draw.
//!
//! Two hashes of [`crate::schedule::hash`]: the first makes a key of the seed and the scope, the
//! second a value of the key and the number of the draw. Must never change: a run that is repeated
//! in a year draws the same values.

use crate::schedule::hash::{Purpose, draw};

/// The part of a run that draws values and takes rows of feeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawScope {
    /// The n-th arrival of the run.
    Arrival(u64),
    /// The k-th iteration of a user of a closed loop, as its holder counts iterations.
    Iteration {
        /// The user's number.
        user: u32,
        /// The iteration, from 0.
        k: u64,
    },
    /// The preparation of a user.
    Start {
        /// The user's number.
        user: u32,
        /// The session of its place in a closed loop, from 0; without sessions 0.
        session: u32,
    },
    /// The clean-up of a user.
    Stop {
        /// The user's number.
        user: u32,
        /// As in the preparation.
        session: u32,
    },
}

/// The values of one scope, in order.
#[derive(Debug, Clone, Copy)]
pub struct Draws {
    key: u64,
    drawn: u64,
}

impl Draws {
    /// The values of `scope`, from the first one on.
    #[must_use]
    pub fn new(seed: u64, scope: DrawScope) -> Self {
        let (purpose, block, index) = match scope {
            DrawScope::Arrival(n) => (Purpose::OfArrival, n, 0),
            DrawScope::Iteration { user, k } => (Purpose::OfIteration, u64::from(user), k),
            DrawScope::Start { user, session } => {
                (Purpose::OfStart, u64::from(user), u64::from(session))
            }
            DrawScope::Stop { user, session } => {
                (Purpose::OfStop, u64::from(user), u64::from(session))
            }
        };
        Self {
            key: draw(seed, purpose, block, index),
            drawn: 0,
        }
    }

    /// The next value, uniform over 64 bits.
    pub fn next_value(&mut self) -> u64 {
        let value = draw(self.key, Purpose::Value, 0, self.drawn);
        self.drawn += 1;
        value
    }
}

//! The identity of one arrival, which the journal, the runner and the recovery share.
//!
//! A leaf: it must know nothing of HTTP or of pacing.

use loadpilot_engine::tally::RowKey;

use crate::fire::clock::MonoTime;

/// Which arrival, for its id; the rest is in its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrivalId {
    /// The n-th of the plan.
    Planned(u64),
    /// The k-th iteration of a user on this core.
    Iteration {
        /// Whose.
        user: u32,
        /// Its number among those of this user on this core, from 0.
        k: u64,
    },
}

impl ArrivalId {
    /// Whose arrival it is, and its number: of a schedule, nobody's.
    pub(crate) fn user_and_number(self) -> (Option<u32>, u64) {
        match self {
            Self::Planned(n) => (None, n),
            Self::Iteration { user, k } => (Some(user), k),
        }
    }

    /// What its draws are named by: the block and the index in it.
    pub(crate) fn draw_key(self) -> (u64, u64) {
        match self {
            Self::Planned(n) => (n, 0),
            Self::Iteration { user, k } => (u64::from(user), k),
        }
    }
}

/// An arrival that the pacer has reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub id: ArrivalId,
    pub key: RowKey,
    pub due: MonoTime,
    /// When the pacer reached it.
    pub reached: MonoTime,
}

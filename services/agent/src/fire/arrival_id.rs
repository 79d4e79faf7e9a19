//! The identity of one arrival, which the journal, the runner and the crash recovery share.
//!
//! A leaf: it must know nothing of HTTP or of pacing.

use loadpilot_engine::tally::RowKey;

use crate::fire::clock::MonoTime;

/// Identity of an arrival within its run; what it is counted under is its row key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrivalId {
    /// The n-th arrival of the plan's schedule.
    Planned(u64),
    /// The k-th iteration of a user on this core.
    Iteration {
        /// Number of the user.
        user: u32,
        /// Number of the iteration among those of this user on this core, from 0.
        k: u64,
    },
}

impl ArrivalId {
    /// The user (`None` for a schedule) and the number of the arrival.
    pub(crate) fn user_and_number(self) -> (Option<u32>, u64) {
        match self {
            Self::Planned(n) => (None, n),
            Self::Iteration { user, k } => (Some(user), k),
        }
    }

    /// Index among `count` things that arrivals take in turn: by the ordinal in a schedule, else by
    /// user and iteration. It is the same on every agent.
    ///
    /// # Panics
    /// `count` is 0 or beyond 65,536.
    pub(crate) fn turn(self, count: usize) -> u16 {
        let ordinal = match self {
            Self::Planned(n) => n,
            Self::Iteration { user, k } => k.wrapping_add(user.into()),
        };
        u16::try_from(ordinal % count as u64).expect("at most 65,536 things")
    }

    /// Key of its random draws: the block and the index in it.
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

//! The identity of one arrival, which the journal, the runner and the crash recovery share.
//!
//! A leaf: it must know nothing of HTTP or of pacing.

use loadpilot_engine::tally::RowKey;

use crate::fire::clock::MonoTime;

/// Identity of an arrival within its run. Its row key determines where it is counted.
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
    /// Number of the session of its user's place; `None` where each user stays for the whole run.
    pub session: Option<u32>,
}

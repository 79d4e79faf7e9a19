//! Pairs: a run that compares two targets offers every request twice, once to each.
//!
//! The two user types of such a plan are its sides. Arrivals 2p and 2p + 1 are pair p: the seed
//! draws which of them is of which side, and both have the task, the rows and the values that
//! arrival p has in a run of one side alone. Users of a closed loop are paired in the same way.
//! Both halves of a pair are in one shard, so that a lost agent loses whole pairs. Must never
//! depend on what a target answers.

use loadpilot_events::plan::Plan;

use crate::schedule::hash::{Purpose, draw};
use crate::schedule::share::Share;

/// Number of sides.
pub const SIDES: usize = 2;

/// The pairs of a run.
#[derive(Debug, Clone, Copy)]
pub(in crate::schedule) struct Pairs {
    seed: u64,
    /// Number of tasks of each side.
    tasks: u16,
}

impl Pairs {
    /// The pairs of a checked plan; `None` where arrivals stand alone.
    pub(in crate::schedule) fn of(plan: &Plan, seed: u64) -> Option<Self> {
        let tasks = plan.second_from()?;
        Some(Self { seed, tasks })
    }

    /// The task of arrival `n`, whose pair has `task` on the first side.
    pub(in crate::schedule) fn task(self, n: u64, task: u16) -> u16 {
        let first_half = draw(self.seed, Purpose::PairOrder, n / 2, 0) & 1;
        match (n & 1) ^ first_half {
            0 => task,
            _ => task.saturating_add(self.tasks),
        }
    }
}

/// The shard of arrival or user `n`; `paired` as in the plan.
///
/// # Panics
/// `shards` is 0.
#[must_use]
pub fn shard_of(paired: bool, n: u64, shards: u32) -> u32 {
    let unit = if paired { n / 2 } else { n };
    u32::try_from(unit % u64::from(shards)).unwrap_or(u32::MAX)
}

/// The arrivals, or users, of some shards; `paired` as in the plan.
///
/// # Panics
/// As [`Share::new`].
#[must_use]
pub fn share_of(paired: bool, shards: u32, owned: Vec<u32>) -> Share {
    if !paired {
        return Share::new(shards, owned);
    }
    let halves = |shard: u32| [2 * shard, 2 * shard + 1];
    Share::new(2 * shards, owned.into_iter().flat_map(halves).collect())
}

//! Draws of arrivals and users in pairs: both halves of a pair draw the same values, those of one
//! arrival or user in a run of one target. Without pairs each draws on its own.

use std::ops::Range;
use std::sync::Arc;

use crate::schedule::random::DrawScope;
use crate::schedule::share::Share;
use crate::schedule::user_types::pairs::{SIDES, shard_of, share_of};
use crate::schedule::workload::Workload;

impl Workload {
    /// Number of arrivals of each task among the numbers `range`.
    #[must_use]
    pub fn count_per_task(&self, range: Range<u64>) -> Vec<u64> {
        if self.pairs.is_none() {
            return self.count_in_blocks(range);
        }
        // Whole pairs have as many arrivals of each side; at both ends there may be half a pair.
        let first = range.start.div_ceil(2);
        let whole = first..first.max(range.end / 2);
        let mut counts = self.count_in_blocks(whole.clone()).repeat(SIDES);
        let before = range.start..range.end.min(2 * whole.start);
        let after = range.start.max(2 * whole.end)..range.end;
        for n in before.chain(after) {
            counts[usize::from(self.task_of(n))] += 1;
        }
        counts
    }

    /// The scope by which a part of the run draws values and takes rows: the same for both halves
    /// of a pair.
    #[must_use]
    pub fn draws_of(&self, scope: DrawScope) -> DrawScope {
        if self.pairs.is_none() {
            return scope;
        }
        match scope {
            DrawScope::Arrival(n) => DrawScope::Arrival(n / 2),
            DrawScope::Iteration { user, k } => DrawScope::Iteration { user: user / 2, k },
            // A user that serves arrivals is one of each side.
            DrawScope::Start { .. } | DrawScope::Stop { .. } if self.users.is_none() => scope,
            DrawScope::Start { user, session } => DrawScope::Start {
                user: user / 2,
                session,
            },
            DrawScope::Stop { user, session } => DrawScope::Stop {
                user: user / 2,
                session,
            },
        }
    }

    /// The workload that [`Workload::draws_of`] refers to: with pairs, the first side alone.
    pub(in crate::schedule) fn drawn_from(self: &Arc<Self>) -> Arc<Self> {
        if self.pairs.is_none() {
            return Arc::clone(self);
        }
        let mut alone = Self::clone(self);
        alone.pairs = None;
        alone.users = alone.users.map(|users| users / 2);
        alone.types = alone.types.first_alone();
        Arc::new(alone)
    }

    /// The number of user `user` among those that draw on their own: both halves of a pair share
    /// one number.
    pub(in crate::schedule) fn drawing_user(&self, user: u32) -> u32 {
        self.pairs.map_or(user, |_| user / 2)
    }

    /// The shard of arrival or user `n`.
    ///
    /// # Panics
    /// `shards` is 0.
    #[must_use]
    pub fn shard_of(&self, n: u64, shards: u32) -> u32 {
        shard_of(self.pairs.is_some(), n, shards)
    }

    /// The arrivals, or users, of some shards.
    ///
    /// # Panics
    /// As [`Share::new`].
    #[must_use]
    pub fn share_of(&self, shards: u32, owned: Vec<u32>) -> Share {
        share_of(self.pairs.is_some(), shards, owned)
    }
}

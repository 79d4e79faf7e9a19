//! A mix of user types: the task of an arrival, and the type of a user of a closed loop.
//!
//! Every block of arrivals contains every task as often as its share of the run says. The shares
//! and the weights are brought to one measure, so that a mix is one permutation, as any plan is.
//! Every block of users contains every type as often as its share says; the last, shorter block to
//! within one. Must never depend on the agent that computes it.
//!
//! - [`pairs`]: two types that are the sides of a comparison
//! - `pair_draws`: the draws of both halves of a pair

mod pair_draws;
pub mod pairs;

use std::ops::Range;

use loadpilot_events::plan::script::Feed;
use loadpilot_events::plan::{Plan, Rest, SessionLength};

use crate::schedule::hash::{Purpose, shuffled};
use crate::schedule::run_weights::gcd;
use crate::schedule::task_order::TaskOrder;

/// Number of users that take rows of a feed when they are prepared: those of its type. For a feed
/// that only hooks use the type is unknown; then it is the largest number of any type.
#[must_use]
pub fn users_of_feed(plan: &Plan, feed: &Feed) -> u32 {
    let users = plan.scenario_users().unwrap_or(0);
    if plan.users.is_none() || plan.types.is_empty() {
        return users;
    }
    let counts = users_of_types(plan);
    match feed.tasks.first() {
        Some(&task) => counts
            .get(UserTypes::new(plan, 0).of_task(task))
            .copied()
            .unwrap_or(0),
        None => counts.into_iter().max().unwrap_or(0),
    }
}

/// Number of users of each type in the closed loop of a plan.
#[must_use]
pub fn users_of_types(plan: &Plan) -> Vec<u32> {
    UserTypes::new(plan, 0).counts(plan.users.unwrap_or(0))
}

/// The user types of a run; a plan without a mix has one.
#[derive(Debug, Clone)]
pub(crate) struct UserTypes {
    types: Vec<OneType>,
}

#[derive(Debug, Clone)]
struct OneType {
    tasks: TaskOrder,
    /// Sum of the shares up to this one, in lowest terms.
    share_end: u64,
    rest: Option<Rest>,
    session: Option<SessionLength>,
}

impl UserTypes {
    /// The user types of a plan that [`crate::check`] has accepted.
    pub(crate) fn new(plan: &Plan, seed: u64) -> Self {
        let weights = |tasks: Range<u16>| {
            let of_type = plan
                .tasks
                .get(usize::from(tasks.start)..usize::from(tasks.end));
            let of_type = of_type.into_iter().flatten();
            TaskOrder::new(
                seed,
                tasks.start,
                of_type.map(|task| u64::from(task.weight)),
            )
        };
        if plan.types.is_empty() {
            let all = 0..u16::try_from(plan.tasks.len()).unwrap_or(u16::MAX);
            let only = OneType {
                tasks: weights(all),
                share_end: 1,
                rest: plan.rest,
                session: plan.session,
            };
            return Self { types: vec![only] };
        }
        let shares = plan.types.iter().map(|one| u128::from(one.share));
        let common = u64::try_from(shares.fold(0, gcd)).unwrap_or(1).max(1);
        let mut share_end = 0;
        let types = plan.tasks_of_types().map(|(one, tasks)| {
            share_end += u64::from(one.share) / common;
            OneType {
                tasks: weights(tasks),
                share_end,
                rest: one.rest,
                session: one.session,
            }
        });
        Self {
            types: types.collect(),
        }
    }

    /// The first type alone.
    pub(crate) fn first_alone(&self) -> Self {
        let first = self.types.first().cloned();
        let mut types: Vec<OneType> = first.into_iter().collect();
        types.iter_mut().for_each(|one| one.share_end = 1);
        Self { types }
    }

    /// Whether there is more than one type.
    pub(crate) fn is_mix(&self) -> bool {
        self.types.len() > 1
    }

    /// The tasks of a type.
    pub(crate) fn tasks(&self, of: usize) -> &TaskOrder {
        &self.types[of.min(self.types.len() - 1)].tasks
    }

    /// The think time of a type.
    pub(crate) fn rest(&self, of: usize) -> Option<Rest> {
        self.types.get(of).and_then(|one| one.rest)
    }

    /// The length of the sessions of a type.
    pub(crate) fn session(&self, of: usize) -> Option<SessionLength> {
        self.types.get(of).and_then(|one| one.session)
    }

    /// Whether users of any type leave when their session is over.
    pub(crate) fn have_sessions(&self) -> bool {
        self.types.iter().any(|one| one.session.is_some())
    }

    /// Whether users of any type rest between two tasks.
    pub(crate) fn rests(&self) -> bool {
        self.types.iter().any(|one| one.rest.is_some())
    }

    /// The type that a task belongs to.
    pub(crate) fn of_task(&self, task: u16) -> usize {
        let types = self.types.iter();
        let begun = types.take_while(|one| one.tasks.first() <= task);
        begun.count().saturating_sub(1)
    }

    /// Number of users in a block: the sum of the shares in lowest terms.
    fn block_len(&self) -> u64 {
        self.types.last().map_or(1, |last| last.share_end).max(1)
    }

    /// The type of `user` of `users`: a seeded permutation of each block of users.
    pub(crate) fn of_user(&self, seed: u64, users: u32, user: u32) -> usize {
        if !self.is_mix() {
            return 0;
        }
        let (user, full) = (u64::from(user), self.block_len());
        let (block, position) = (user / full, user % full);
        let len = full
            .min(u64::from(users).saturating_sub(block * full))
            .max(1);
        let keys = (Purpose::TypeKey, Purpose::TypeFlip);
        let position = shuffled(seed, keys, block, position.min(len - 1), len);
        let ends = self.types.iter().map(|one| cut(one.share_end, len, full));
        ends.take_while(|end| *end <= position)
            .count()
            .min(self.types.len() - 1)
    }

    /// Number of users of each type among `users`.
    pub(crate) fn counts(&self, users: u32) -> Vec<u32> {
        let full = self.block_len();
        let (blocks, len) = (u64::from(users) / full, u64::from(users) % full);
        let mut before = 0;
        let counts = self.types.iter().map(|one| {
            let end = blocks * one.share_end + cut(one.share_end, len, full);
            let count = u32::try_from(end - before).unwrap_or(u32::MAX);
            before = end;
            count
        });
        counts.collect()
    }
}

/// The end of a type in a block of `len` of `full` users: the difference of two ends is less than
/// one from the exact share.
fn cut(share_end: u64, len: u64, full: u64) -> u64 {
    let exact = u128::from(share_end) * u128::from(len) / u128::from(full);
    u64::try_from(exact).unwrap_or(u64::MAX)
}

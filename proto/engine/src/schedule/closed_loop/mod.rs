//! The users of a closed loop: the type of each, the tasks that it draws from, how long it rests,
//! and how long it stays.
//!
//! - [`sessions`]: the session that the place of a user holds at a moment
//! - `distribution`: the times that follow a distribution

mod distribution;
pub mod sessions;

use loadpilot_events::plan::Rest;

use crate::schedule::hash::{Purpose, draw};
use crate::schedule::task_order::TaskOrder;
use crate::schedule::workload::Workload;

impl Workload {
    /// Whether users of a closed loop rest between two tasks.
    #[must_use]
    pub fn rests(&self) -> bool {
        self.types.rests()
    }

    /// The delay of a user's first task, in µs: the users of a closed loop begin evenly spread over
    /// a rest.
    #[must_use]
    pub fn begin_us_of_user(&self, user: u32) -> u64 {
        let over_us = match self.rest_of(user) {
            None => return 0,
            Some(Rest::Wait { from_us, to_us }) => from_us.midpoint(to_us),
            Some(Rest::Exponential { median_us } | Rest::Lognormal { median_us, .. }) => median_us,
            Some(Rest::Pacing { every_us }) => every_us,
        };
        let users = u128::from(self.users.unwrap_or(1).max(1));
        let share = u128::from(over_us) * u128::from(user) / users;
        u64::try_from(share).unwrap_or(over_us)
    }

    /// When a user starts its next task after task `k`, which began at `began_us` and ended at
    /// `ended_us`; all in µs after the start.
    #[must_use]
    pub fn next_start_us(&self, user: u32, k: u64, began_us: u64, ended_us: u64) -> u64 {
        let drawing = self.drawing_user(user);
        let drawn = || draw(self.seed, Purpose::Rest, u64::from(drawing), k);
        let think_us = match self.rest_of(user) {
            None => 0,
            Some(Rest::Pacing { every_us }) => {
                return ended_us.max(began_us.saturating_add(every_us));
            }
            Some(Rest::Wait { from_us, to_us }) => distribution::uniform(from_us, to_us, drawn()),
            Some(Rest::Exponential { median_us }) => distribution::exponential(median_us, drawn()),
            Some(Rest::Lognormal { median_us, p99_us }) => {
                distribution::lognormal(median_us, p99_us, drawn())
            }
        };
        ended_us.saturating_add(think_us)
    }

    /// The type of a user of a closed loop, by its position in the plan; 0 without a mix.
    #[must_use]
    pub fn type_of_user(&self, user: u32) -> usize {
        self.types.of_user(self.seed, self.users.unwrap_or(0), user)
    }

    /// The type of a task, by its position in the plan; 0 without a mix.
    #[must_use]
    pub fn type_of_task(&self, task: u16) -> usize {
        self.types.of_task(task)
    }

    /// Number of users of each type of a closed loop.
    #[must_use]
    pub fn users_of_types(&self) -> Vec<u32> {
        self.types.counts(self.users.unwrap_or(0))
    }

    /// For each user of a closed loop with a mix the number of users of its type before it; `None`
    /// where users are of one type or arrivals come on schedule.
    pub(crate) fn places_in_types(&self) -> Option<Vec<u32>> {
        let users = self.users.filter(|_| self.types.is_mix())?;
        let mut counts = vec![0_u32; self.users_of_types().len()];
        let place = |user| {
            let count = &mut counts[self.type_of_user(user)];
            *count += 1;
            *count - 1
        };
        Some((0..users).map(place).collect())
    }

    /// The think time of a user.
    fn rest_of(&self, user: u32) -> Option<Rest> {
        self.types.rest(self.type_of_user(user))
    }

    /// The tasks that a user of a closed loop draws from.
    pub(crate) fn tasks_of(&self, user: u32) -> &TaskOrder {
        self.types.tasks(self.type_of_user(user))
    }
}

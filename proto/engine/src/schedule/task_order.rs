//! Tasks in blocks: every block of W arrivals, where W is the sum of the weights, holds every task
//! exactly as often as its weight says, in a seeded order of its own. The tasks are those of a run,
//! or of the users of one type.

use loadpilot_events::plan::Plan;

use crate::schedule::hash::{Purpose, shuffled};
use crate::schedule::run_weights::run_weights;

/// The weights of some consecutive tasks, and the seed that orders them.
#[derive(Debug, Clone)]
pub(crate) struct TaskOrder {
    seed: u64,
    first: u16,
    /// `weight_ends[t]` is the sum of the weights up to the t-th of these tasks.
    weight_ends: Vec<u64>,
}

impl TaskOrder {
    /// The tasks from `first` on with these weights.
    pub(super) fn new(seed: u64, first: u16, weights: impl Iterator<Item = u64>) -> Self {
        let ends = weights.scan(0_u64, |sum, weight| {
            *sum = sum.saturating_add(weight);
            Some(*sum)
        });
        Self {
            seed,
            first,
            weight_ends: ends.collect(),
        }
    }

    /// All tasks of a plan, with the weights that they have among its arrivals; of pairs the tasks
    /// of the first side.
    pub(super) fn of_run(plan: &Plan, seed: u64) -> Self {
        let own = || -> Vec<u64> {
            let tasks = plan.tasks.iter();
            tasks.map(|task| u64::from(task.weight)).collect()
        };
        if let Some(second) = plan.second_from() {
            return Self::new(seed, 0, own().into_iter().take(usize::from(second)));
        }
        // A checked plan of a schedule has them. In a closed loop no arrival uses them.
        let weights: Vec<u64> = run_weights(plan).unwrap_or_else(own);
        Self::new(seed, 0, weights.into_iter())
    }

    /// The first task.
    pub(super) fn first(&self) -> u16 {
        self.first
    }

    /// The task at a position of a block.
    pub(super) fn task_at(&self, block: u64, position: u64) -> u16 {
        let keys = (Purpose::TaskKey, Purpose::TaskFlip);
        let position = shuffled(self.seed, keys, block, position, self.block_len());
        let task = self.weight_ends.partition_point(|&end| end <= position);
        u16::try_from(task).map_or(u16::MAX, |task| self.first.saturating_add(task))
    }

    /// Number of arrivals in one block: the sum of the weights.
    pub(super) fn block_len(&self) -> u64 {
        self.weight_ends.last().copied().unwrap_or(1)
    }

    /// Number of tasks.
    pub(super) fn tasks(&self) -> usize {
        self.weight_ends.len()
    }

    /// The weight of each task.
    pub(super) fn weights(&self) -> impl Iterator<Item = u64> {
        let begins = [0].into_iter().chain(self.weight_ends.iter().copied());
        let both = self.weight_ends.iter().zip(begins);
        both.map(|(end, begin)| end - begin)
    }

    /// The sum of the weights of the tasks that are marked, by their positions in the plan.
    pub(super) fn weight_of(&self, marked: &[bool]) -> u64 {
        let weights = self
            .weights()
            .zip(marked.iter().skip(usize::from(self.first)));
        weights
            .filter_map(|(weight, is)| is.then_some(weight))
            .sum()
    }
}

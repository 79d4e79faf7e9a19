//! The tasks of a run in blocks: every block of W arrivals holds every task exactly as often as its
//! weight says, in a seeded order of its own; W is the sum of the weights.

use loadpilot_events::plan::Plan;

use crate::schedule::hash::{Purpose, shuffled};

/// The weights of the tasks, and the seed that orders them.
#[derive(Debug, Clone)]
pub(super) struct TaskOrder {
    seed: u64,
    /// `weight_ends[t]` is the sum of the weights of tasks 0..=t.
    weight_ends: Vec<u64>,
}

impl TaskOrder {
    pub(super) fn new(plan: &Plan, seed: u64) -> Self {
        let weights = plan.tasks.iter().map(|task| u64::from(task.weight));
        let ends = weights.scan(0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        Self {
            seed,
            weight_ends: ends.collect(),
        }
    }

    /// The task at a position of a block.
    pub(super) fn task_at(&self, block: u64, place: u64) -> u16 {
        let keys = (Purpose::TaskKey, Purpose::TaskFlip);
        let place = shuffled(self.seed, keys, block, place, self.block_len());
        let task = self.weight_ends.partition_point(|&end| end <= place);
        u16::try_from(task).unwrap_or(u16::MAX)
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

    /// The sum of the weights of the tasks that are marked.
    pub(super) fn weight_of(&self, marked: &[bool]) -> u64 {
        let weights = self.weights().zip(marked);
        weights
            .filter_map(|(weight, is)| is.then_some(weight))
            .sum()
    }
}

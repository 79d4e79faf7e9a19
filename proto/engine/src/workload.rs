//! The workload: a pure function of plan and seed. Arrival n fixes when it is due and what it does;
//! in a closed loop nothing is due, and a user and a count fix what it does.
//!
//! Any agent computes its own share alone, at any moment, for any n. Must never depend on which
//! agent asks or on what was asked before.

use std::sync::Arc;

use loadpilot_events::plan::{Arrivals, Plan};

use crate::bugs::{Bug, bug};
use crate::mix::{Purpose, below, draw, shuffled};
use crate::pace::{PARTS_PER_ARRIVAL, Pace};

/// Arrivals in one block of Poisson points.
pub const POISSON_BLOCK: u64 = 1_024;

/// Blocks of the task permutation that a user has before the next user's begin: more than the
/// iterations of the longest run.
const BLOCKS_PER_USER: u64 = 1 << 42;

/// All arrivals of a run.
#[derive(Debug)]
pub struct Workload {
    pace: Pace,
    users: Option<u32>,
    arrivals: Arrivals,
    seed: u64,
    tick_us: u64,
    /// `weight_ends[t]` is the sum of the weights of tasks 0..=t.
    weight_ends: Vec<u64>,
    samples_ppm: u32,
}

/// The due times of a workload for one that asks for neighbours one after the other: it keeps the
/// last block of Poisson points, which the workload itself makes anew for every question.
#[derive(Debug)]
pub struct DueTimes {
    workload: Arc<Workload>,
    block: Option<(u64, Vec<u128>)>,
}

impl DueTimes {
    /// Of `workload`.
    #[must_use]
    pub fn new(workload: Arc<Workload>) -> Self {
        Self {
            workload,
            block: None,
        }
    }

    /// The same as [`Workload::due_us`].
    ///
    /// # Panics
    /// When `n` is not below [`Workload::planned`].
    pub fn due_us(&mut self, n: u64) -> u64 {
        let workload = &self.workload;
        if workload.arrivals == Arrivals::Uniform {
            return workload.due_us(n);
        }
        assert!(n < workload.planned(), "arrival {n} beyond the plan");
        let number = n / POISSON_BLOCK;
        if self.block.as_ref().is_none_or(|(kept, _)| *kept != number) {
            self.block = Some((number, workload.poisson_points(number)));
        }
        let points = self.block.as_ref().map_or(&[][..], |(_, points)| points);
        workload.pace.due_us(points[place_in_block(n)])
    }
}

fn place_in_block(n: u64) -> usize {
    usize::try_from(n % POISSON_BLOCK).unwrap_or(usize::MAX)
}

impl Workload {
    /// The workload of a plan that [`crate::check`] has accepted.
    #[must_use]
    pub fn new(plan: &Plan, seed: u64) -> Self {
        let weight_ends = plan
            .tasks
            .iter()
            .scan(0, |sum, task| {
                *sum += u64::from(task.weight);
                Some(*sum)
            })
            .collect();
        Self {
            pace: Pace::new(&plan.profile),
            users: plan.users,
            arrivals: plan.arrivals,
            seed,
            tick_us: plan.tick_us,
            weight_ends,
            samples_ppm: plan.samples_ppm.unwrap_or(0),
        }
    }

    /// The users of a closed loop, each of which starts its next task when its last one ended;
    /// `None` when arrivals are due on schedule.
    #[must_use]
    pub fn users(&self) -> Option<u32> {
        self.users
    }

    /// What fixes every random choice.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The number of arrivals of the whole run; 0 in a closed loop, which plans none.
    #[must_use]
    pub fn planned(&self) -> u64 {
        self.pace.planned()
    }

    /// The length of the profile in µs.
    #[must_use]
    pub fn duration_us(&self) -> u64 {
        self.pace.duration_us()
    }

    /// The grain of deltas and series in µs.
    #[must_use]
    pub fn tick_us(&self) -> u64 {
        self.tick_us
    }

    /// The number of ticks that hold a due time.
    #[must_use]
    pub fn ticks(&self) -> u32 {
        u32::try_from(self.duration_us().div_ceil(self.tick_us)).unwrap_or(u32::MAX)
    }

    /// The rate profile.
    #[must_use]
    pub fn pace(&self) -> &Pace {
        &self.pace
    }

    /// When arrival `n` is due, in µs after the start; monotone in n. Whoever asks for many
    /// neighbours asks [`DueTimes`].
    ///
    /// # Panics
    /// When `n` is not below [`Workload::planned`].
    #[must_use]
    pub fn due_us(&self, n: u64) -> u64 {
        assert!(n < self.planned(), "arrival {n} beyond the plan");
        let position = match self.arrivals {
            Arrivals::Uniform => u128::from(n) * PARTS_PER_ARRIVAL,
            Arrivals::Poisson => self.poisson_points(n / POISSON_BLOCK)[place_in_block(n)],
        };
        self.pace.due_us(position)
    }

    /// The task of arrival `n`: a seeded permutation of each block of W arrivals, W being the sum
    /// of the weights, so that every block holds every task exactly as often as its weight says.
    #[must_use]
    pub fn task_of(&self, n: u64) -> u16 {
        self.task_in_blocks(0, n)
    }

    /// The task of iteration `k` (0, 1, 2 …) of a user of a closed loop: each user has a seeded
    /// permutation of each block of W iterations of its own, so that the weights hold for every
    /// user in every block, and users do not march in step.
    #[must_use]
    pub fn task_of_user(&self, user: u32, k: u64) -> u16 {
        self.task_in_blocks(Self::first_block_of(user), k)
    }

    /// The task at place `n` of a sequence whose first block has number `first_block`.
    fn task_in_blocks(&self, first_block: u64, n: u64) -> u16 {
        if self.weight_ends.len() <= 1 || bug(Bug::FirstTaskOnly) {
            return 0;
        }
        let block_len = self.block_len();
        let block = first_block.wrapping_add(n / block_len);
        self.task_at(block, n % block_len)
    }

    /// The task at a place of a block.
    pub(crate) fn task_at(&self, block: u64, place: u64) -> u16 {
        let keys = (Purpose::TaskKey, Purpose::TaskFlip);
        let place = shuffled(self.seed, keys, block, place, self.block_len());
        let task = self.weight_ends.partition_point(|&end| end <= place);
        u16::try_from(task).unwrap_or(u16::MAX)
    }

    /// The arrivals of one block: the sum of the weights.
    pub(crate) fn block_len(&self) -> u64 {
        self.weight_ends.last().copied().unwrap_or(1)
    }

    /// The first block of the task permutation of a user.
    pub(crate) fn first_block_of(user: u32) -> u64 {
        u64::from(user) * BLOCKS_PER_USER
    }

    /// How many tasks there are.
    pub(crate) fn tasks(&self) -> usize {
        self.weight_ends.len()
    }

    /// The sum of the weights of the tasks that are marked.
    pub(crate) fn weights(&self, marked: &[bool]) -> u64 {
        let begins = [0].into_iter().chain(self.weight_ends.iter().copied());
        let weights = self
            .weight_ends
            .iter()
            .zip(begins)
            .map(|(end, begin)| end - begin);
        weights
            .zip(marked)
            .filter(|(_, marked)| **marked)
            .map(|(weight, _)| weight)
            .sum()
    }

    /// The draw, in 0..1,000,000, that decides whether a call may use an open connection: of step
    /// `step` of the arrival named by `block` and `index`.
    #[must_use]
    pub fn reuse_draw_ppm(&self, block: u64, index: u64, step: usize) -> u32 {
        let index = index.wrapping_mul(1 << 16).wrapping_add(step as u64);
        let uniform = draw(self.seed, Purpose::Reuse, block, index);
        u32::try_from(below(1_000_000, uniform)).unwrap_or(u32::MAX)
    }

    /// Whether a call of the arrival named by `block` and `index` is told one by one; `call` is its
    /// place in the plan's list of calls.
    #[must_use]
    pub fn is_sampled(&self, block: u64, index: u64, call: u16) -> bool {
        let index = index.wrapping_mul(1 << 16).wrapping_add(u64::from(call));
        let drawn = || below(1_000_000, draw(self.seed, Purpose::Sample, block, index));
        match self.samples_ppm {
            0 => false,
            1_000_000.. => true,
            samples_ppm => drawn() < u64::from(samples_ppm),
        }
    }

    /// The tick that a due time lies in.
    #[must_use]
    pub fn tick_of(&self, due_us: u64) -> u32 {
        u32::try_from(due_us / self.tick_us).unwrap_or(u32::MAX)
    }

    /// The first arrival due at or after `t_us`; [`Workload::planned`] when there is none.
    #[must_use]
    pub fn first_at_or_after(&self, t_us: u64) -> u64 {
        match self.arrivals {
            Arrivals::Uniform => self.pace.planned_before(t_us),
            Arrivals::Poisson if t_us >= self.duration_us() => self.planned(),
            Arrivals::Poisson => {
                // A block of points stays inside its stretch of Λ, so that only one can hold t.
                let before = self.pace.planned_before(t_us);
                let block = before.saturating_sub(1) / POISSON_BLOCK;
                let points = self.poisson_points(block);
                let earlier = points.partition_point(|&point| self.pace.due_us(point) < t_us);
                block * POISSON_BLOCK + earlier as u64
            }
        }
    }

    /// The arrivals that are due in a tick, as a half-open range of their numbers.
    #[must_use]
    pub fn arrivals_in_tick(&self, tick: u32) -> std::ops::Range<u64> {
        let from_us = u64::from(tick) * self.tick_us;
        self.first_at_or_after(from_us)..self.first_at_or_after(from_us + self.tick_us)
    }

    /// How many arrivals of each task are among the numbers `range`.
    #[must_use]
    pub fn count_per_task(&self, range: std::ops::Range<u64>) -> Vec<u64> {
        let block_len = self.block_len();
        let mut counts = vec![0; self.weight_ends.len()];
        let mut n = range.start;
        while n < range.end {
            let whole_blocks = (range.end - n) / block_len;
            if n.is_multiple_of(block_len) && whole_blocks > 0 {
                let mut previous = 0;
                for (count, &end) in counts.iter_mut().zip(&self.weight_ends) {
                    *count += (end - previous) * whole_blocks;
                    previous = end;
                }
                n += whole_blocks * block_len;
            } else {
                counts[usize::from(self.task_of(n))] += 1;
                n += 1;
            }
        }
        counts
    }

    /// The sorted points of one block: uniform over the block's stretch of Λ.
    fn poisson_points(&self, block: u64) -> Vec<u128> {
        let first = block * POISSON_BLOCK;
        let count = POISSON_BLOCK.min(self.planned() - first);
        let begin = u128::from(first) * PARTS_PER_ARRIVAL;
        let full = u128::from(POISSON_BLOCK) * PARTS_PER_ARRIVAL;
        let width = full.min(self.pace.total_parts() - begin);
        let mut points: Vec<u128> = (0..count)
            .map(|i| u128::from(draw(self.seed, Purpose::Poisson, block, i)))
            .map(|uniform| begin + ((uniform * width) >> 64))
            .collect();
        points.sort_unstable();
        points
    }
}

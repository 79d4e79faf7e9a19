//! Feeds: which row of its data an arrival gets.
//!
//! An arrival's turn is how many arrivals before it take rows of the same feed; its row is the turn
//! modulo the rows, so that all agents together use each row once before any is used twice. Must
//! never depend on which agent asks.

use std::collections::BTreeMap;
use std::sync::Arc;

use loadpilot_events::plan::script::Feed;

use crate::schedule::hash::{Purpose, shuffled};
use crate::schedule::random::DrawScope;
use crate::schedule::workload::Workload;

/// Arrivals whose turns are kept, for whoever asks for neighbours: each user of a closed loop has
/// blocks of its own.
const KEPT_MAX: u64 = 1 << 16;

/// The rows of one feed. It keeps the blocks of arrivals that were asked for last.
#[derive(Debug)]
pub struct Feeder {
    workload: Arc<Workload>,
    /// Its place among the feeds of the plan: each is shuffled in its own way.
    number: u64,
    rows: u64,
    is_shuffled: bool,
    /// By task, whether it takes rows.
    takes: Vec<bool>,
    /// By number of the block: how many before each arrival take rows, and whether it does.
    blocks: BTreeMap<u64, Vec<Option<u32>>>,
}

impl Feeder {
    /// Of the feed at place `number` of a sound plan.
    #[must_use]
    pub fn new(workload: Arc<Workload>, number: usize, feed: &Feed) -> Self {
        let tasks = workload.tasks();
        let takes = (0..tasks).map(|task| {
            let task = u16::try_from(task).unwrap_or(u16::MAX);
            feed.tasks.contains(&task)
        });
        Self {
            takes: takes.collect(),
            workload,
            number: number as u64,
            rows: feed.rows.max(1),
            is_shuffled: feed.shuffled,
            blocks: BTreeMap::new(),
        }
    }

    /// The row of `whose`, from 0; `None` when its task takes none.
    pub fn row(&mut self, whose: DrawScope) -> Option<u64> {
        let turn = self.turn(whose)?;
        let place = turn % self.rows;
        if !self.is_shuffled {
            return Some(place);
        }
        let keys = (Purpose::FeedKey, Purpose::FeedFlip);
        // Each time through the feed has an order of its own.
        let block = (turn / self.rows).wrapping_mul(1 << 16) ^ self.number;
        Some(shuffled(
            self.workload.seed(),
            keys,
            block,
            place,
            self.rows,
        ))
    }

    /// How many take rows before `whose`: of a schedule in the order of due times; of a closed loop
    /// as if its users took turns, since nothing says in advance which of them is faster; of users
    /// by their numbers.
    fn turn(&mut self, whose: DrawScope) -> Option<u64> {
        match whose {
            DrawScope::Arrival(n) => self.turn_in_blocks(0, n),
            DrawScope::Iteration { user, k } => {
                let first_block = Workload::first_block_of(user);
                let turn = self.turn_in_blocks(first_block, k)?;
                let users = u64::from(self.workload.users().unwrap_or(1));
                Some(turn.wrapping_mul(users).wrapping_add(u64::from(user)))
            }
            DrawScope::Start(user) | DrawScope::Stop(user) => Some(u64::from(user)),
        }
    }

    /// The turn of place `n` of the sequence whose first block has number `first_block`.
    fn turn_in_blocks(&mut self, first_block: u64, n: u64) -> Option<u64> {
        if self.takes.len() <= 1 {
            return self.takes.first()?.then_some(n);
        }
        let len = self.workload.block_len();
        let block = first_block.wrapping_add(n / len);
        if !self.blocks.contains_key(&block) {
            if self.blocks.len() as u64 * len >= KEPT_MAX {
                self.blocks.clear();
            }
            let turns = self.turns(block, len);
            self.blocks.insert(block, turns);
        }
        let place = usize::try_from(n % len).ok()?;
        let before = (*self.blocks.get(&block)?.get(place)?)?;
        let each: u64 = self.workload.weights(&self.takes);
        Some((n / len) * each + u64::from(before))
    }

    fn turns(&self, block: u64, len: u64) -> Vec<Option<u32>> {
        let mut count = 0;
        let turn = |place| {
            let task = usize::from(self.workload.task_at(block, place));
            self.takes[task].then(|| {
                count += 1;
                count - 1
            })
        };
        (0..len).map(turn).collect()
    }
}

/// How many rows of a feed a run takes, as its plan says: by its arrivals, or by its users.
#[must_use]
pub fn taken(feed: &Feed, users: u32, of_task: impl Fn(usize) -> u64) -> u64 {
    let tasks = feed.tasks.iter().map(|&task| of_task(usize::from(task)));
    let of_users = if feed.prepares { users.into() } else { 0 };
    tasks.sum::<u64>().max(of_users)
}

//! Feeds: which row of its data an arrival gets.
//!
//! The turn of an arrival is the number of arrivals before it that take rows of the same feed. Its
//! row is the turn modulo the number of rows, so that all agents together use each row once before
//! any is used twice. Of a feed with unique rows, an arrival whose turn is beyond the last row gets
//! none. The row must never depend on the agent that computes it, so that this holds after a loss
//! of agents, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use loadpilot_events::plan::script::Feed;

use crate::schedule::hash::{Purpose, shuffled};
use crate::schedule::random::DrawScope;
use crate::schedule::task_order::TaskOrder;
use crate::schedule::workload::Workload;

/// Maximum number of arrivals whose turns are cached. Each user of a closed loop has blocks of its
/// own.
const CACHED_MAX: u64 = 1 << 16;

/// Why an arrival has no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRow {
    /// Its task takes no rows of the feed.
    NotTaken,
    /// All rows of the feed are used, and they are unique.
    AllUsed,
}

/// The rows of one feed, with a cache of the blocks of arrivals that were computed last.
#[derive(Debug)]
pub struct Feeder {
    workload: Arc<Workload>,
    /// Position of the feed in the plan: each feed is shuffled in its own way.
    number: u64,
    rows: u64,
    is_unique: bool,
    is_shuffled: bool,
    /// By task: whether it takes rows of this feed.
    takes: Vec<bool>,
    /// In a closed loop with a mix: the number of users of the same type before each user.
    places: Option<Vec<u32>>,
    /// Number of users of each type of a closed loop.
    users: Vec<u32>,
    /// By block number: for each arrival that takes a row, the number of such arrivals before it in
    /// the block; `None` for an arrival that takes none.
    blocks: BTreeMap<u64, Vec<Option<u32>>>,
}

impl Feeder {
    /// The feed at position `number` of a checked plan.
    #[must_use]
    pub fn new(workload: Arc<Workload>, number: usize, feed: &Feed) -> Self {
        let workload = workload.drawn_from();
        let tasks = workload.tasks();
        let takes = (0..tasks).map(|task| {
            let task = u16::try_from(task).unwrap_or(u16::MAX);
            feed.tasks.contains(&task)
        });
        Self {
            takes: takes.collect(),
            places: workload.places_in_types(),
            users: workload.users_of_types(),
            workload,
            number: number as u64,
            rows: feed.rows.max(1),
            is_unique: feed.unique,
            is_shuffled: feed.shuffled,
            blocks: BTreeMap::new(),
        }
    }

    /// The row, from 0, for `scope`, one that [`Workload::draws_of`] gave.
    ///
    /// # Errors
    /// Why there is none.
    pub fn row(&mut self, scope: DrawScope) -> Result<u64, NoRow> {
        let turn = self.turn(scope).ok_or(NoRow::NotTaken)?;
        if self.is_unique && turn >= self.rows {
            return Err(NoRow::AllUsed);
        }
        let position = turn % self.rows;
        if !self.is_shuffled {
            return Ok(position);
        }
        let keys = (Purpose::FeedKey, Purpose::FeedFlip);
        // Each pass through the feed has an order of its own.
        let block = (turn / self.rows).wrapping_mul(1 << 16) ^ self.number;
        Ok(shuffled(
            self.workload.seed(),
            keys,
            block,
            position,
            self.rows,
        ))
    }

    /// The number of rows taken before `scope`: of a schedule in the order of due times, of users
    /// by their numbers among those of their type. A closed loop counts as if its users alternated,
    /// since which of them is faster is unknown in advance.
    fn turn(&mut self, scope: DrawScope) -> Option<u64> {
        match scope {
            DrawScope::Arrival(n) => self.turn_in_blocks(None, n),
            DrawScope::Iteration { user, k } => {
                let turn = self.turn_in_blocks(Some(user), k)?;
                Some(self.turn_of_user(user, turn))
            }
            DrawScope::Start { user, session } | DrawScope::Stop { user, session } => {
                Some(self.turn_of_user(user, session.into()))
            }
        }
    }

    /// The turn of a user that has taken `before` rows, if every user of its type has taken as
    /// many.
    fn turn_of_user(&self, user: u32, before: u64) -> u64 {
        let users = self.users.get(self.workload.type_of_user(user));
        let users = u64::from(users.copied().unwrap_or(1).max(1));
        before.wrapping_mul(users).wrapping_add(self.place_of(user))
    }

    /// The number of a user among those of its type.
    fn place_of(&self, user: u32) -> u64 {
        let places = self.places.as_ref();
        let position = places.and_then(|places| places.get(user as usize));
        position.copied().unwrap_or(user).into()
    }

    /// The turn at position `n` of the sequence of a user of a closed loop, or of all arrivals.
    fn turn_in_blocks(&mut self, user: Option<u32>, n: u64) -> Option<u64> {
        let tasks = match user {
            None => self.workload.tasks_of_run(),
            Some(user) => self.workload.tasks_of(user),
        };
        let first_block = user.map_or(0, Workload::first_block_of);
        if tasks.tasks() <= 1 {
            return self.takes.get(usize::from(tasks.first()))?.then_some(n);
        }
        let len = tasks.block_len();
        let block = first_block.wrapping_add(n / len);
        if !self.blocks.contains_key(&block) {
            if self.blocks.len() as u64 * len >= CACHED_MAX {
                self.blocks.clear();
            }
            let turns = self.turns(tasks, block);
            self.blocks.insert(block, turns);
        }
        let position = usize::try_from(n % len).ok()?;
        let before = (*self.blocks.get(&block)?.get(position)?)?;
        let each = tasks.weight_of(&self.takes);
        Some((n / len) * each + u64::from(before))
    }

    fn turns(&self, tasks: &TaskOrder, block: u64) -> Vec<Option<u32>> {
        let mut count = 0;
        let turn = |position| {
            let task = usize::from(tasks.task_at(block, position));
            self.takes[task].then(|| {
                count += 1;
                count - 1
            })
        };
        (0..tasks.block_len()).map(turn).collect()
    }
}

/// Number of rows of a feed that a run takes by its plan: one per arrival, or one per user.
#[must_use]
pub fn rows_taken(feed: &Feed, users: u32, of_task: impl Fn(usize) -> u64) -> u64 {
    let tasks = feed.tasks.iter().map(|&task| of_task(usize::from(task)));
    let of_users = if feed.prepares { users.into() } else { 0 };
    tasks.sum::<u64>().max(of_users)
}

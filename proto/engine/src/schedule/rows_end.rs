//! The end of a run by its feeds: the first arrival that would take a row after the last.
//!
//! Its number follows from plan and seed alone, so that the run ends there with any number of
//! agents and after any change of the rate. Must never depend on due times.

use loadpilot_events::plan::Plan;
use loadpilot_events::plan::script::Feed;

use crate::schedule::task_order::TaskOrder;

/// The first arrival for which a feed that ends the run has no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FirstWithoutRow {
    /// Position of the feed in the plan.
    pub(super) feed: usize,
    /// Number of the arrival.
    pub(super) arrival: u64,
}

impl FirstWithoutRow {
    /// The first arrival without a row in a plan; `None` where no feed ends the run.
    pub(super) fn of(plan: &Plan, order: &TaskOrder) -> Option<Self> {
        let feeds = plan.feeds().iter().enumerate();
        let ends = feeds.filter(|(_, feed)| feed.stops && plan.users.is_none());
        let ends = ends.filter_map(|(position, feed)| {
            let arrival = arrival_of_turn(feed, feed.rows, order)?;
            // Both halves of a pair take the same row.
            let arrival = if plan.paired { 2 * arrival } else { arrival };
            Some(Self {
                feed: position,
                arrival,
            })
        });
        ends.min_by_key(|end| end.arrival)
    }
}

/// The arrival before which `turn` arrivals take rows of the feed, and that takes one itself.
fn arrival_of_turn(feed: &Feed, turn: u64, order: &TaskOrder) -> Option<u64> {
    let tasks = 0..order.tasks();
    let takes = tasks.map(|task| feed.tasks.iter().any(|&taker| usize::from(taker) == task));
    let takes: Vec<bool> = takes.collect();
    let (each, len) = (order.weight_of(&takes), order.block_len());
    if each == len {
        return Some(turn);
    }
    let block = turn.checked_div(each)?;
    let before = usize::try_from(turn % each).ok()?;
    let mut takers =
        (0..len).filter(|&position| takes[usize::from(order.task_at(block, position))]);
    let position = takers.nth(before)?;
    Some(block * len + position)
}

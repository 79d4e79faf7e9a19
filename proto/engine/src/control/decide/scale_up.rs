//! How newcomers get shards of a run that goes on, and how agents that leave hand theirs over.
//!
//! The part of [`crate::control::decide`] that makes a fleet elastic: a run with fewer holders than
//! it wants takes in agents that came late, or that were idle until it lost one, and an agent that
//! leaves serves its shards until others take them. Must never move a shard while its old holder
//! may still be sending, nor more shards than an even map needs.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use loadpilot_events::id::{AgentId, Holder};
use loadpilot_events::log::assign::{Holding, Loss, LossReason};
use loadpilot_events::log::ctl::{Decision, ShardsReassigned};
use loadpilot_events::units::Timestamp;

use crate::control::decide::Run;
use crate::control::decide::timeouts::{fetch_us, readiness_us};
use crate::control::run_state::Resignation;

/// The map with `newcomers` and without `leavers`: even, to within one shard, and by as few moves
/// as possible. A leaver gives all its shards, each other holder only its surplus, spread over its
/// shards; a newcomer that would get nothing is left out. Unchanged when no holder is left to take
/// them.
#[must_use]
pub fn join(
    holdings: &[Holding],
    newcomers: &BTreeSet<Holder>,
    leavers: &BTreeSet<Holder>,
) -> Vec<Holding> {
    let leaves = |holding: &Holding| leavers.contains(&holding.holder);
    let (left, mut map): (Vec<Holding>, Vec<Holding>) = holdings.iter().cloned().partition(leaves);
    let known: BTreeSet<&Holder> = holdings.iter().map(|holding| &holding.holder).collect();
    let new = newcomers.iter().filter(|holder| !known.contains(holder));
    map.extend(new.map(|holder| Holding {
        holder: holder.clone(),
        shards: Vec::new(),
    }));
    if map.is_empty() {
        return left;
    }
    // The holders with the most shards keep the most, which takes the fewest moves.
    map.sort_by_key(|holding| Reverse(holding.shards.len()));
    let total: usize = holdings.iter().map(|holding| holding.shards.len()).sum();
    let (each, more) = (total / map.len(), total % map.len());
    let aim = |index: usize| each + usize::from(index < more);
    let mut freed: Vec<u32> = left.into_iter().flat_map(|left| left.shards).collect();
    for (index, holding) in map.iter_mut().enumerate() {
        freed.extend(take_surplus(&mut holding.shards, aim(index)));
    }
    freed.sort_unstable();
    // One shard at a time to the holder that lacks most, so that neighbours in time go to different
    // holders.
    let shortage = |(index, holding): (usize, &Holding)| {
        let shortages = aim(index).saturating_sub(holding.shards.len());
        (shortages, Reverse(index))
    };
    let mut shortages: BinaryHeap<_> = map.iter().enumerate().map(shortage).collect();
    for shard in freed {
        if let Some(mut most) = shortages.peek_mut() {
            map[most.1.0].shards.push(shard);
            most.0 = most.0.saturating_sub(1);
        }
    }
    map.retain(|holding| !holding.shards.is_empty());
    map.iter_mut()
        .for_each(|holding| holding.shards.sort_unstable());
    map.sort_by(|one, other| one.holder.cmp(&other.holder));
    map
}

/// Removes and returns the shards beyond `keep`, at even distances.
fn take_surplus(shards: &mut Vec<u32>, keep: usize) -> Vec<u32> {
    let (count, gives) = (shards.len(), shards.len().saturating_sub(keep));
    let places: BTreeSet<usize> = (0..gives).map(|nth| nth * count / gives).collect();
    let freed = places.iter().map(|&index| shards[index]).collect();
    let mut index = 0..;
    shards.retain(|_| !places.contains(&index.next().unwrap_or_default()));
    freed
}

impl Run<'_> {
    /// Moves the shards of agents that leave to the others, and assigns shards to newcomers while
    /// the run has fewer holders than it wants. One move is planned at a time, so that agents that
    /// come or leave together cost one map.
    pub(crate) fn planned_move(&self) -> Option<Decision> {
        let leavers = self.leavers();
        let stay = self.state.holdings.len() - leavers.len();
        let room = self.wanted_holders().saturating_sub(stay);
        if leavers.is_empty() && room == 0 || self.takeover_is_ahead() {
            return None;
        }
        let newcomers: BTreeSet<Holder> = match room {
            0 => BTreeSet::new(),
            room => self.idle_agents().into_iter().take(room).collect(),
        };
        let has_takers = !newcomers.is_empty() || stay > 0 && !leavers.is_empty();
        if !has_takers {
            return None;
        }
        let lead_us = self.move_lead_us(!newcomers.is_empty());
        let takeover_tick = self.map_from(self.now.plus_us(lead_us))?;
        let generation = self.state.generation + 1;
        Some(Decision::ShardsReassigned(ShardsReassigned {
            generation,
            holdings: join(&self.state.holdings, &newcomers, &leavers),
            takeover_tick,
            losses: Vec::new(),
        }))
    }

    /// Holders whose agents leave. They serve their shards until others take them over.
    pub(crate) fn leavers(&self) -> BTreeSet<Holder> {
        let state = self.state;
        let holders = state.holdings.iter().map(|holding| &holding.holder);
        let leaves = |holder: &&Holder| state.resigned.get(*holder) == Some(&Resignation::Leaving);
        holders.filter(leaves).cloned().collect()
    }

    /// Number of holders that the run wants and has shards for.
    fn wanted_holders(&self) -> usize {
        self.created.agents.want.min(self.created.shards) as usize
    }

    /// Agents that could take shards, hold none, and have capacity left. An agent that failed once,
    /// or was not ready in time, gets none again, and an agent that holds shards as another process
    /// is not counted twice.
    pub(crate) fn idle_agents(&self) -> BTreeSet<Holder> {
        let could_not = |(_, loss): &(&Holder, &Loss)| {
            matches!(loss.reason, LossReason::Failed | LossReason::NotReady)
        };
        let unable = self.state.lost.iter().filter(could_not);
        let held = self.state.holdings.iter().map(|holding| &holding.holder);
        let barred = unable.map(|(holder, _)| holder).chain(held);
        let barred: BTreeSet<&AgentId> = barred.map(|holder| &holder.agent).collect();
        let mut idle = self.available();
        idle.retain(|holder| {
            !barred.contains(&holder.agent) && !self.observed.at_capacity.contains(holder)
        });
        idle
    }

    /// When the current map takes effect.
    pub(crate) fn takeover_at(&self) -> Timestamp {
        self.begin_of(self.state.takeover_tick)
    }

    /// Deadline for a holder that took shards over to get ready; after it the shards go to others.
    /// No later map moves it.
    pub(crate) fn ready_deadline(&self, holder: &Holder) -> Timestamp {
        let held_from = self.state.held_from.get(holder).copied();
        self.begin_of(held_from.unwrap_or(self.state.takeover_tick))
            .plus_us(readiness_us(&self.created.plan, self.policy.ready_us))
    }

    fn begin_of(&self, tick: u32) -> Timestamp {
        let begins_us = u64::from(tick) * self.created.plan.tick_us;
        self.start_at().plus_us(begins_us)
    }

    fn takeover_is_ahead(&self) -> bool {
        self.now < self.takeover_at()
    }

    /// Time from a planned move to its first tick. By then an old holder that lost its connection
    /// has fenced itself, and newcomers have what they need.
    fn move_lead_us(&self, has_newcomers: bool) -> u64 {
        let fetch_us = match has_newcomers {
            true => fetch_us(&self.created.plan),
            false => 0,
        };
        self.policy.fence_us + self.policy.takeover_us + fetch_us
    }
}

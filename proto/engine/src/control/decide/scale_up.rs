//! Who comes to a run that goes on, and what the others give up for it.
//!
//! The part of [`crate::control::decide`] that makes a fleet elastic: a run that has fewer holders
//! than it wants takes in agents that came late, or that stood by until it lost one. Must never
//! move a shard while its old holder may still be sending, nor more shards than evenness needs.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use loadpilot_events::id::{AgentId, Holder};
use loadpilot_events::log::assign::{Holding, Loss, LossReason};
use loadpilot_events::log::ctl::{Decision, ShardsReassigned};
use loadpilot_events::units::Timestamp;

use crate::control::decide::Run;
use crate::control::decide::timeouts::{fetch_us, readiness_us};

/// The map after `newcomers` have come: even, give or take one shard, and by as few moves as that
/// takes. Each old holder gives only what it has too many of, spread over what it has; nobody who
/// would get nothing is named.
#[must_use]
pub fn join(holdings: &[Holding], newcomers: &BTreeSet<Holder>) -> Vec<Holding> {
    let mut map: Vec<Holding> = holdings.to_vec();
    let known: BTreeSet<&Holder> = holdings.iter().map(|holding| &holding.holder).collect();
    let new = newcomers.iter().filter(|holder| !known.contains(holder));
    map.extend(new.map(|holder| Holding {
        holder: holder.clone(),
        shards: Vec::new(),
    }));
    // Whoever has most keeps most: that is what costs the fewest moves.
    map.sort_by_key(|holding| Reverse(holding.shards.len()));
    let total: usize = map.iter().map(|holding| holding.shards.len()).sum();
    let (each, more) = (total / map.len().max(1), total % map.len().max(1));
    let aim = |place: usize| each + usize::from(place < more);
    let mut given: Vec<u32> = Vec::new();
    for (place, holding) in map.iter_mut().enumerate() {
        given.extend(give(&mut holding.shards, aim(place)));
    }
    given.sort_unstable();
    // One by one to whoever lacks most, so that neighbours in time go to different holders.
    let lacks = |(place, holding): (usize, &Holding)| {
        let missing_capabilities = aim(place).saturating_sub(holding.shards.len());
        (missing_capabilities, Reverse(place))
    };
    let mut missing_capabilities: BinaryHeap<_> = map.iter().enumerate().map(lacks).collect();
    for shard in given {
        if let Some(mut most) = missing_capabilities.peek_mut() {
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

/// Takes out what is beyond `keep`, at even distances.
fn give(shards: &mut Vec<u32>, keep: usize) -> Vec<u32> {
    let (count, gives) = (shards.len(), shards.len().saturating_sub(keep));
    let places: BTreeSet<usize> = (0..gives).map(|nth| nth * count / gives).collect();
    let given = places.iter().map(|&place| shards[place]).collect();
    let mut place = 0..;
    shards.retain(|_| !places.contains(&place.next().unwrap_or_default()));
    given
}

impl Run<'_> {
    /// Takes newcomers in while the run has fewer holders than it wants. One move is planned at a
    /// time, so that those who come together get ready together.
    pub(crate) fn scale_up(&self) -> Option<Decision> {
        let room = self.vacancies();
        if room == 0 || self.takeover_is_ahead() {
            return None;
        }
        let newcomers: BTreeSet<Holder> = self.idle_agents().into_iter().take(room).collect();
        let takeover_tick = self.map_from(self.now.plus_us(self.join_lead_us()))?;
        if newcomers.is_empty() {
            return None;
        }
        let generation = self.state.generation + 1;
        Some(Decision::ShardsReassigned(ShardsReassigned {
            generation,
            holdings: join(&self.state.holdings, &newcomers),
            takeover_tick,
            losses: Vec::new(),
        }))
    }

    /// How many more holders the run wants and could give a shard to.
    pub(crate) fn vacancies(&self) -> usize {
        let holders = self.state.holdings.len();
        let wanted = self.created.agents.want.min(self.created.shards) as usize;
        wanted.saturating_sub(holders)
    }

    /// Those that could take shards, hold none, and have something left to give. An agent that
    /// could not do it once is not asked again, and one that holds shards as another process is not
    /// there twice.
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

    /// When the current map comes into force.
    pub(crate) fn takeover_at(&self) -> Timestamp {
        let begins_us = u64::from(self.state.takeover_tick) * self.created.plan.tick_us;
        self.start_at().plus_us(begins_us)
    }

    /// Until when a holder that took shards over may get ready; then they go to others.
    pub(crate) fn ready_deadline(&self) -> Timestamp {
        self.takeover_at()
            .plus_us(readiness_us(&self.created.plan, self.policy.ready_us))
    }

    fn takeover_is_ahead(&self) -> bool {
        self.now < self.takeover_at()
    }

    /// From a planned move to its first tick: a giver that was cut off without knowing it has
    /// fenced itself by then, and the newcomer has what it needs.
    fn join_lead_us(&self) -> u64 {
        self.policy.fence_us + self.policy.takeover_us + fetch_us(&self.created.plan)
    }
}

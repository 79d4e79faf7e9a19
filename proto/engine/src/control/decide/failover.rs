//! Which holders are lost, which agents take their shards over, and from which tick on.
//!
//! The part of [`crate::control::decide`] that hands shards over while a run is being prepared or
//! goes on. Must never hand over a tick in which the old holder may still be sending.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

use loadpilot_events::Capability;
use loadpilot_events::id::{AgentId, Holder, OwnerId};
use loadpilot_events::log::assign::{Loss, LossReason};
use loadpilot_events::log::ctl::{CapacityReduced, Decision, ShardsReassigned};
use loadpilot_events::log::evt::FinishReason;
use loadpilot_events::units::Timestamp;

use crate::bugs::{Bug, bug};
use crate::control::assign::take_over;
use crate::control::decide::{LastSeen, Run};
use crate::control::run_state::Resignation;

impl Run<'_> {
    pub(crate) fn last_seen_at(&self, holder: &Holder) -> Timestamp {
        let seen = self
            .observed
            .agents
            .get(holder)
            .map_or(Timestamp(0), |seen| seen.at);
        if bug(Bug::LostBeforeListened) {
            return seen;
        }
        seen.max(self.observed.since)
    }

    /// When an owner was last seen. An owner without a heartbeat counts from the creation of its
    /// run: its first heartbeat may come after the request.
    pub(crate) fn owner_seen_at(&self, owner: &OwnerId) -> Timestamp {
        let seen = self.observed.owners.get(owner).copied();
        let created_us = self.created.gather_by.0;
        let created = Timestamp(created_us.saturating_sub(self.created.agents.wait_us));
        seen.unwrap_or(created).max(self.observed.since)
    }

    pub(crate) fn is_silent(&self, holder: &Holder) -> bool {
        let lost_us = match bug(Bug::LostBeforeFenced) {
            true => self.policy.fence_us / 2,
            false => self.policy.lost_us,
        };
        self.clock >= self.last_seen_at(holder).plus_us(lost_us)
    }

    /// The newest process of each agent, if it is alive. An older process gets no more shards: it
    /// stops as soon as it learns of the newer one.
    fn live_agents(&self) -> impl Iterator<Item = (&Holder, &LastSeen)> {
        let mut newest: BTreeMap<_, (&Holder, &LastSeen)> = BTreeMap::new();
        for (holder, seen) in &self.observed.agents {
            newest.insert(&holder.agent, (holder, seen));
        }
        // A coordinator that has just begun to listen declares no process lost, and none alive.
        let is_alive = |seen: &LastSeen| self.clock < seen.at.plus_us(self.policy.lost_us);
        let every = self
            .observed
            .agents
            .iter()
            .filter(|_| bug(Bug::TwoSlotsPerAgent));
        let chosen = newest.into_values().chain(every);
        chosen.filter(move |(_, seen)| is_alive(seen))
    }

    /// Live agents that have what the run needs and may get shards.
    pub(crate) fn available(&self) -> BTreeSet<Holder> {
        let needed = self.created.needed();
        let usable = |(holder, seen): &(&Holder, &LastSeen)| {
            needed.is_subset(&seen.has)
                && (!self.state.lost.contains_key(holder) || bug(Bug::LostGetShards))
                && !self.state.resigned.contains_key(holder)
                && !self.state.finished.contains_key(holder)
        };
        let usable = self.live_agents().filter(usable);
        usable.map(|(holder, _)| holder.clone()).collect()
    }

    /// The capabilities that the run needs and not all live agents have, as the end of a sentence.
    pub(crate) fn missing_capabilities(&self) -> String {
        let agents: Vec<&LastSeen> = self.live_agents().map(|(_, seen)| seen).collect();
        if agents.is_empty() {
            return ", and none is there".to_owned();
        }
        let describe = |need: &Capability| {
            let have = agents.iter().filter(|seen| seen.has.contains(need));
            let (have, all) = (have.count(), agents.len());
            (have < all).then(|| format!("; needs {need}: {have} of {all} agents have it"))
        };
        self.created.needed().iter().filter_map(describe).collect()
    }

    /// Holders that lose their shards now, each with the reason.
    pub(crate) fn losses(&self) -> Vec<Loss> {
        let available = self.available();
        let reason = |holder: &Holder| -> Option<LossReason> {
            match self.state.resigned.get(holder) {
                Some(Resignation::Failed) => return Some(LossReason::Failed),
                Some(Resignation::Isolated) => return Some(LossReason::Isolated),
                // Before the start nothing is due. After it, a planned move takes its shards.
                Some(Resignation::Leaving) if self.state.start.is_none() => {
                    return Some(LossReason::Left);
                }
                Some(Resignation::Leaving) | None => {}
            }
            let finish = self
                .state
                .finished
                .get(holder)
                .map(|finished| finished.reason);
            if finish.is_some_and(|reason| reason != FinishReason::Completed) {
                return Some(LossReason::Left);
            }
            // Holders sort by agent, then by boot: a later boot of the agent is the next holder.
            let later = available.range((Excluded(holder), Unbounded)).next();
            if later.is_some_and(|other| other.agent == holder.agent) {
                return Some(LossReason::Replaced);
            }
            if self.is_silent(holder) {
                return Some(LossReason::Silent);
            }
            self.is_unready(holder).then_some(LossReason::NotReady)
        };
        let holders = self.state.holdings.iter().map(|holding| &holding.holder);
        holders
            .filter_map(|holder| {
                reason(holder).map(|reason| Loss {
                    holder: holder.clone(),
                    reason,
                })
            })
            .collect()
    }

    /// Hands the shards of `losses`, and those without a holder, to the remaining agents.
    pub(crate) fn fail_over(&self, losses: Vec<Loss>) -> Option<Decision> {
        let gone: BTreeSet<Holder> = losses.iter().map(|loss| loss.holder.clone()).collect();
        let current: BTreeSet<&Holder> = self.state.holdings.iter().map(|h| &h.holder).collect();
        let available = self.available();
        let newcomers: BTreeSet<Holder> = available
            .into_iter()
            .filter(|holder| !current.contains(holder))
            .collect();
        let heirs = newcomers.iter().rev();
        let heirs: BTreeMap<&AgentId, &Holder> = heirs.map(|new| (&new.agent, new)).collect();
        let heir = |lost: &Holder| heirs.get(&lost.agent).copied().cloned();
        let successors: BTreeMap<Holder, Holder> = gone
            .iter()
            .filter_map(|lost| heir(lost).map(|successor| (lost.clone(), successor)))
            .collect();
        let leavers = self.leavers();
        let mut staying = current.iter().filter(|holder| !leavers.contains(**holder));
        let all_gone = staying.all(|holder| gone.contains(*holder));
        // Survivors are ready, newcomers are not. Newcomers take over at once only if no holder
        // stays; else they get shards by a planned move.
        let wanted = self.created.agents.want as usize;
        let idle = match all_gone {
            true => self.idle_agents().into_iter().take(wanted).collect(),
            false => BTreeSet::new(),
        };
        let takeover_tick = self.takeover_tick(&losses);
        if !self.is_offered(takeover_tick) {
            // Nothing is left to take over; the losses show when the run is sealed.
            return None;
        }
        let shards = self.created.shards;
        let held = &self.state.holdings;
        let holdings = take_over(shards, held, &gone, &successors, &idle, &leavers);
        if holdings.is_empty() {
            let reduced = CapacityReduced { losses };
            return (!gone.is_empty()).then_some(Decision::CapacityReduced(reduced));
        }
        let generation = self.state.generation + 1;
        let next = ShardsReassigned {
            generation,
            holdings,
            takeover_tick,
            losses,
        };
        Some(Decision::ShardsReassigned(next))
    }

    /// The first tick that begins when no lost holder can still be sending and every successor
    /// knows of the map; never before that of the current map.
    fn takeover_tick(&self, losses: &[Loss]) -> u32 {
        if bug(Bug::TakeoverNow) {
            let begun_us = self.now.since_us(self.start_at());
            return u32::try_from(begun_us / self.created.plan.tick_us).unwrap_or(u32::MAX);
        }
        let quiet_from = |loss: &Loss| match loss.reason {
            LossReason::Replaced if self.predecessor_is_dead(&loss.holder) => self.now,
            LossReason::Replaced => self.now.plus_us(self.policy.behind_us),
            LossReason::Silent => self
                .last_seen_at(&loss.holder)
                .plus_us(self.policy.fence_us),
            // It may become ready at this moment and lose its connection.
            LossReason::NotReady => self.now.plus_us(self.policy.fence_us),
            LossReason::Left | LossReason::Failed | LossReason::Isolated => self.now,
        };
        let quiet = losses
            .iter()
            .map(quiet_from)
            .max()
            .unwrap_or(self.now)
            .max(self.now);
        let tick = self.tick_from(quiet.plus_us(self.policy.takeover_us));
        // The current map may begin later, because one of its losses had to be waited for. That
        // wait still holds, and a tick has a single map only if maps begin in the order of their
        // numbers.
        tick.max(self.state.takeover_tick)
    }

    /// The first tick for a new map that every agent knows at `at`: not before that of the current
    /// map; `None` when the run is over by then.
    pub(crate) fn map_from(&self, at: Timestamp) -> Option<u32> {
        let tick = self.tick_from(at).max(self.state.takeover_tick);
        self.is_offered(tick).then_some(tick)
    }

    /// Whether a tick lies in the run.
    fn is_offered(&self, tick: u32) -> bool {
        u64::from(tick) * self.created.plan.tick_us < self.length_us()
    }

    /// The first tick that begins at `at` or later.
    fn tick_from(&self, at: Timestamp) -> u32 {
        let tick = at.since_us(self.start_at());
        u32::try_from(tick.div_ceil(self.created.plan.tick_us)).unwrap_or(u32::MAX)
    }

    /// Whether it took shards over in a started run and did not get ready in time.
    fn is_unready(&self, holder: &Holder) -> bool {
        let started = self.state.start.is_some();
        let is_ready = self.state.ready.contains_key(holder);
        started && !is_ready && self.now >= self.ready_deadline(holder)
    }

    fn predecessor_is_dead(&self, holder: &Holder) -> bool {
        let mut later_processes = self.later_processes(holder);
        later_processes.any(|(_, seen)| seen.predecessor_dead)
    }

    /// Later processes of the same agent that were seen.
    pub(crate) fn later_processes<'h>(
        &'h self,
        holder: &'h Holder,
    ) -> impl Iterator<Item = (&'h Holder, &'h LastSeen)> {
        let later = self.observed.agents.range((Excluded(holder), Unbounded));
        later.take_while(|(other, _)| other.agent == holder.agent)
    }
}

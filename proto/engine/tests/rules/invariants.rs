//! The invariants of one run's control log, each checked from the decisions alone.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_engine::decide::Policy;
use loadpilot_events::assign::{Holding, Loss};
use loadpilot_events::ctl::{Decision, RunCreated, RunSealed};
use loadpilot_events::id::Holder;
use loadpilot_events::units::Timestamp;

/// A decision as stored.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    /// Its sequence in LP_CTL.
    pub(crate) seq: u64,
    /// When it was decided, by its writer's clock.
    pub(crate) at: Timestamp,
    /// What was decided.
    pub(crate) decision: Decision,
}

/// What the decisions before the one in hand add up to.
#[derive(Default)]
struct Past {
    last_seq: u64,
    /// The latest time of a decision: later ones are never decided for an earlier now.
    now: Timestamp,
    created: Option<RunCreated>,
    generation: u32,
    takeover_tick: u32,
    held_now: BTreeSet<Holder>,
    ever_held: BTreeSet<Holder>,
    /// Whose each shard is.
    owners: BTreeMap<u32, Holder>,
    lost: BTreeSet<Holder>,
    start_at: Option<Timestamp>,
    stopped: bool,
    cancelled: bool,
    over: bool,
}

/// Holds a control log to its invariants.
///
/// # Panics
/// At the first one that is broken.
pub(crate) fn check(policy: &Policy, log: &[Stored]) {
    let mut past = Past::default();
    for stored in log {
        assert!(stored.seq > past.last_seq, "sequences rise");
        assert!(!past.over, "nothing follows the end: {:?}", stored.decision);
        past.now = past.now.max(stored.at);
        past.take(policy, &stored.decision);
        past.last_seq = stored.seq;
    }
}

impl Past {
    fn take(&mut self, policy: &Policy, decision: &Decision) {
        match decision {
            Decision::RunCreated(created) => {
                assert!(self.last_seq == 0, "RunCreated is first");
                self.created = Some((**created).clone());
            }
            Decision::RunRefused(refused) => {
                assert_eq!(self.generation, 0, "a run that was assigned is not refused");
                assert!(!refused.problems.is_empty(), "a refusal says why");
                self.over = true;
            }
            Decision::ShardsAssigned(assigned) => {
                self.next_generation(assigned.generation, &assigned.holdings);
                assert_eq!(
                    assigned.generation, 1,
                    "the first assignment is generation 1"
                );
                assert_eq!(
                    held(&assigned.holdings),
                    self.shards(),
                    "all shards have a holder"
                );
            }
            Decision::ShardsReassigned(next) => {
                assert!(self.generation > 0, "there is an assignment to change");
                self.lose(&next.losses);
                let from_living = self.gives(&next.holdings);
                self.next_generation(next.generation, &next.holdings);
                self.takes_over(policy, next.takeover_tick, from_living);
                assert_eq!(
                    held(&next.holdings),
                    self.shards(),
                    "all shards have a holder"
                );
            }
            Decision::CapacityReduced(reduced) => {
                assert!(!reduced.losses.is_empty(), "somebody was lost");
                self.lose(&reduced.losses);
            }
            Decision::StartScheduled(start) => {
                assert!(self.generation > 0 && self.start_at.is_none() && !self.cancelled);
                let lead_us = self.created.as_ref().map_or(0, |created| created.lead_us);
                assert!(
                    start.start_at >= self.now.plus_us(lead_us),
                    "the lead is kept"
                );
                self.start_at = Some(start.start_at);
            }
            Decision::StartCancelled(_) => {
                assert!(self.start_at.is_none() && !self.cancelled && self.created.is_some());
                self.cancelled = true;
            }
            Decision::StopScheduled(stop) => {
                assert!(
                    self.start_at.is_some() && !self.stopped,
                    "one stop, after the start"
                );
                assert!(stop.stop_at >= self.now, "a stop does not change the past");
                self.stopped = true;
            }
            Decision::RunSealed(seal) => self.sealed(seal),
        }
    }

    fn shards(&self) -> usize {
        self.created
            .as_ref()
            .expect("a run is created first")
            .shards as usize
    }

    fn next_generation(&mut self, generation: u32, holdings: &[Holding]) {
        assert_eq!(generation, self.generation + 1, "generations are 1, 2, 3 …");
        assert!(
            !self.stopped && !self.cancelled,
            "shards move in a run that goes on"
        );
        let shards = self.shards();
        let mut seen = BTreeSet::new();
        self.held_now.clear();
        self.owners.clear();
        for holding in holdings {
            assert!(!holding.shards.is_empty() && holding.shards.is_sorted());
            assert!(
                !self.lost.contains(&holding.holder),
                "a lost holder gets nothing"
            );
            assert!(
                self.held_now.insert(holding.holder.clone()),
                "one line per holder"
            );
            for &shard in &holding.shards {
                assert!(
                    (shard as usize) < shards && seen.insert(shard),
                    "shard {shard}"
                );
                self.owners.insert(shard, holding.holder.clone());
            }
        }
        self.ever_held.extend(self.held_now.iter().cloned());
        self.generation = generation;
    }

    fn lose(&mut self, losses: &[Loss]) {
        for loss in losses {
            let held = self.held_now.remove(&loss.holder);
            assert!(held, "{} lost what it did not hold", loss.holder);
            assert!(
                self.lost.insert(loss.holder.clone()),
                "{} lost twice",
                loss.holder
            );
        }
    }

    /// Whether shards go from somebody who was not lost to somebody else.
    fn gives(&self, holdings: &[Holding]) -> bool {
        holdings.iter().any(|holding| {
            let before = holding.shards.iter().map(|shard| self.owners.get(shard));
            let mut others = before.flatten().filter(|owner| **owner != holding.holder);
            others.any(|owner| !self.lost.contains(owner))
        })
    }

    /// Whoever takes over knows of it before, whoever gives has fenced itself if it does not know,
    /// and a tick has one map only.
    fn takes_over(&mut self, policy: &Policy, tick: u32, from_living: bool) {
        assert!(
            tick >= self.takeover_tick,
            "maps begin in the order of their numbers"
        );
        self.takeover_tick = tick;
        let Some(start_at) = self.start_at else {
            assert_eq!(tick, 0, "before the start the whole run changes hands");
            return;
        };
        let plan = &self.created.as_ref().expect("created").plan;
        let begins = start_at.plus_us(u64::from(tick) * plan.tick_us);
        assert!(
            begins >= self.now.plus_us(policy.takeover_us),
            "room for the takeover"
        );
        assert!(
            !from_living || begins >= self.now.plus_us(policy.fence_us + policy.takeover_us),
            "a giver that is cut off may still be sending"
        );
        assert!(u64::from(tick) * plan.tick_us < plan.profile.duration_us());
    }

    fn sealed(&mut self, seal: &RunSealed) {
        assert!(self.created.is_some(), "only a run is sealed");
        assert_eq!(
            seal.ctl_seq, self.last_seq,
            "the seal names the decision before it"
        );
        let finals: BTreeSet<Holder> = seal.finals.iter().map(|f| f.holder.clone()).collect();
        let missing: BTreeSet<Holder> = seal.missing.iter().cloned().collect();
        assert_eq!(
            finals.len() + missing.len(),
            seal.finals.len() + seal.missing.len()
        );
        assert!(
            finals.is_disjoint(&missing),
            "last words are there or missing"
        );
        let named: BTreeSet<Holder> = finals.union(&missing).cloned().collect();
        assert_eq!(
            named, self.ever_held,
            "the seal names everybody who ever held shards"
        );
        self.over = true;
    }
}

fn held(holdings: &[Holding]) -> usize {
    holdings.iter().map(|holding| holding.shards.len()).sum()
}

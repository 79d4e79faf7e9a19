//! The invariants of one run's control log: those of every log, which the product itself verifies,
//! and those that depend on the policy of a fleet.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_engine::control::created_run::RequestedPlan;
use loadpilot_engine::control::decide::Policy;
use loadpilot_engine::verify::{Decided, decisions};
use loadpilot_events::id::Holder;
use loadpilot_events::log::assign::Holding;
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::units::Timestamp;

/// A decision as stored.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    /// Its sequence in LP_CTL.
    pub(crate) seq: u64,
    /// When it was decided, by its writer's clock.
    pub(crate) at: Timestamp,
    /// The decision.
    pub(crate) decision: Decision,
}

/// Checks the invariants of a control log.
///
/// # Panics
///
/// When one is broken.
pub(crate) fn check(policy: &Policy, (seq, request): (u64, &RunRequested), log: &[Stored]) {
    let plan = &request.plan;
    let decided = log.iter().map(|stored| Decided {
        subject: "ctl",
        seq: stored.seq,
        at: stored.at,
        decision: &stored.decision,
    });
    let found = decisions(Some(RequestedPlan { seq, plan }), decided);
    let lines = found.lines();
    assert!(lines.is_empty(), "decisions break a rule: {lines:?}");
    takeovers_have_room(policy, plan.tick_us, log);
}

/// When a takeover begins, the heir knows of it, and the old holder knows of it or has fenced
/// itself.
fn takeovers_have_room(policy: &Policy, tick_us: u64, log: &[Stored]) {
    let (mut now, mut start_at) = (Timestamp(0), None);
    let mut owners = BTreeMap::new();
    let mut lost = BTreeSet::new();
    for stored in log {
        now = now.max(stored.at);
        let (tick, room_us) = match &stored.decision {
            Decision::StartScheduled(start) => {
                start_at = Some(start.start_at);
                continue;
            }
            Decision::ShardsAssigned(assigned) => {
                owners = owners_of(&assigned.holdings);
                continue;
            }
            Decision::CapacityReduced(reduced) => {
                lost.extend(reduced.losses.iter().map(|loss| loss.holder.clone()));
                continue;
            }
            Decision::ShardsReassigned(next) => {
                lost.extend(next.losses.iter().map(|loss| loss.holder.clone()));
                let before = std::mem::replace(&mut owners, owners_of(&next.holdings));
                let gives = before.iter().any(|(shard, owner)| {
                    !lost.contains(owner) && owners.get(shard).is_some_and(|now| now != owner)
                });
                let fence_us = if gives { policy.fence_us } else { 0 };
                (next.takeover_tick, fence_us + policy.takeover_us)
            }
            Decision::RateChanged(changed) => (changed.from_tick, policy.takeover_us),
            _ => continue,
        };
        let begins =
            start_at.map(|start_at: Timestamp| start_at.plus_us(u64::from(tick) * tick_us));
        assert!(
            begins.is_none_or(|begins| begins >= now.plus_us(room_us)),
            "no room for the takeover"
        );
    }
}

/// The holder of each shard.
fn owners_of(holdings: &[Holding]) -> BTreeMap<u32, Holder> {
    let owned = |holding: &Holding| {
        let holder = holding.holder.clone();
        let shards = holding.shards.clone();
        shards.into_iter().map(move |shard| (shard, holder.clone()))
    };
    holdings.iter().flat_map(owned).collect()
}

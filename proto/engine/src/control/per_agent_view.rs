//! The part of a decision that one agent needs.
//!
//! A map names every holder, and a seal the final totals of each. A whole one would be a message of
//! a hundred kilobytes to each of a thousand agents, and an agent acts on its own part alone. Must
//! never leave out what [`crate::control::agent_view::AgentView`] reads.

use std::borrow::Cow;

use loadpilot_events::id::AgentId;
use loadpilot_events::log::assign::{Holding, Loss};
use loadpilot_events::log::ctl::{
    CapacityReduced, Decision, RunSealed, ShardsAssigned, ShardsReassigned,
};
use loadpilot_events::log::steer::RateChanged;

/// The decision with the holdings, losses and final totals of `agent` only, of any of its
/// processes.
#[must_use]
pub fn for_agent<'a>(decision: &'a Decision, agent: &AgentId) -> Cow<'a, Decision> {
    let held = |map: &[Holding]| -> Vec<Holding> {
        let its = map.iter().filter(|holding| holding.holder.agent == *agent);
        its.cloned().collect()
    };
    let lost = |losses: &[Loss]| -> Vec<Loss> {
        let its = losses.iter().filter(|loss| loss.holder.agent == *agent);
        its.cloned().collect()
    };
    Cow::Owned(match decision {
        Decision::ShardsAssigned(assigned) => Decision::ShardsAssigned(ShardsAssigned {
            generation: assigned.generation,
            holdings: held(&assigned.holdings),
            ready_by: assigned.ready_by,
        }),
        Decision::ShardsReassigned(next) => Decision::ShardsReassigned(ShardsReassigned {
            generation: next.generation,
            holdings: held(&next.holdings),
            takeover_tick: next.takeover_tick,
            losses: lost(&next.losses),
        }),
        Decision::CapacityReduced(reduced) => Decision::CapacityReduced(CapacityReduced {
            losses: lost(&reduced.losses),
        }),
        Decision::RateChanged(changed) => Decision::RateChanged(RateChanged {
            request: changed.request,
            by: changed.by.clone(),
            generation: changed.generation,
            holdings: held(&changed.holdings),
            from_tick: changed.from_tick,
            was: changed.was,
            rate: changed.rate,
        }),
        Decision::RunSealed(seal) => Decision::RunSealed(RunSealed {
            ending: seal.ending,
            ctl_seq: seal.ctl_seq,
            evt_seq: seal.evt_seq,
            data_seq: seal.data_seq,
            finals: Vec::new(),
            missing: Vec::new(),
            unnamed: None,
        }),
        Decision::RunCreated(_)
        | Decision::RunQueued(_)
        | Decision::RunRefused(_)
        | Decision::StartScheduled(_)
        | Decision::StartCancelled(_)
        | Decision::Paused(_)
        | Decision::Resumed(_)
        | Decision::SteeringRefused(_)
        | Decision::StopScheduled(_) => return Cow::Borrowed(decision),
    })
}

//! Warns about agents that are assigned more load than they offered. It is a warning, never a
//! refusal: an offer is an operator's estimate, and the certificate judges the result.

use loadpilot_events::log::assign::Holding;

use crate::control::assign::share;
use crate::control::run_state::RunState;

/// One line for each holder whose share of the peak rate is above its last offer. Empty in a closed
/// loop, which has no rate to compare.
#[must_use]
pub fn overcommit_warnings(state: &RunState, holdings: &[Holding]) -> Vec<String> {
    let Some(created) = state
        .created
        .as_deref()
        .filter(|run| run.plan.users.is_none())
    else {
        return Vec::new();
    };
    let peak = created.plan.profile.peak();
    let line = |holding: &Holding| {
        let offer = state.offers.get(&holding.holder)?;
        let assigned = share(peak, holding.shards.len(), created.shards);
        let agent = &holding.holder.agent;
        let (assigned_rps, offered_rps) = (assigned.as_rps(), offer.rate.as_rps());
        (assigned > offer.rate).then(|| {
            format!(
                "warning: {agent} is asked for up to {assigned_rps} arrivals per second and \
                 offered {offered_rps}; more agents share them, --capacity says that it can do more"
            )
        })
    };
    holdings.iter().filter_map(line).collect()
}

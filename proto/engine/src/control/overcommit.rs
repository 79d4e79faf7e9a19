//! Agents that are asked for more than they said they can do. A warning, never a refusal: what an
//! agent offers is its operator's estimate, and the certificate judges what came of it.

use loadpilot_events::log::assign::Holding;

use crate::control::assign::share;
use crate::control::run_state::RunState;

/// A line for each holder whose share of the peak is above its last offer. Users of a closed loop
/// start when they can: there is no rate to compare.
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
        let asked = share(peak, holding.shards.len(), created.shards);
        let agent = &holding.holder.agent;
        let (asked_rps, offered_rps) = (asked.as_rps(), offer.rate.as_rps());
        (asked > offer.rate).then(|| {
            format!(
                "warning: {agent} is asked for up to {asked_rps} arrivals per second and offered \
                 {offered_rps}; more agents share them, --capacity says that it can do more"
            )
        })
    };
    holdings.iter().filter_map(line).collect()
}

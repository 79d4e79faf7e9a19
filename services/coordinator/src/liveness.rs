//! Times of the last heartbeats of agent processes and owners, which are not in the log. The caller
//! takes identities from the subjects of heartbeats, never from a payload.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_engine::control::decide::{LastSeen, Observations};
use loadpilot_events::wire::heartbeat::AgentBeat;
use loadpilot_events::{AgentId, Holder, OwnerId, TenantId, Timestamp};

/// Time without a heartbeat in µs after which a process or owner is forgotten; by then its loss has
/// long been decided.
const FORGET_AFTER_US: u64 = 600_000_000;

/// Maximum number of processes, and of owners of a tenant; heartbeats of further ones are ignored.
const LIVE_MAX: usize = 65_536;

/// Records a heartbeat of a process of `agent`; returns whether it may change a decision. A
/// heartbeat in time of a known process only postpones deadlines.
pub(crate) fn note_agent(
    observations: &mut Observations,
    agent: AgentId,
    beat: &AgentBeat,
    lost_us: u64,
    now: Timestamp,
) -> bool {
    let holder = Holder {
        agent,
        boot_id: beat.boot_id.clone(),
    };
    let seen = LastSeen {
        at: now,
        predecessor_dead: beat.predecessor_dead,
        recovering: beat.recovering.iter().cloned().collect(),
        has: beat.has.clone(),
    };
    let was_full = match beat.full {
        true => !observations.at_capacity.insert(holder.clone()),
        false => observations.at_capacity.remove(&holder),
    };
    if let Some(known) = observations.agents.get_mut(&holder) {
        let in_time = now < known.at.plus_us(lost_us);
        let same = known.predecessor_dead == seen.predecessor_dead
            && known.recovering == seen.recovering
            && known.has == seen.has
            && was_full == beat.full;
        *known = seen;
        return !(in_time && same);
    }
    observations
        .agents
        .retain(|_, seen| now < seen.at.plus_us(FORGET_AFTER_US));
    let agents = &observations.agents;
    observations
        .at_capacity
        .retain(|known| *known == holder || agents.contains_key(known));
    if observations.agents.len() >= LIVE_MAX {
        tracing::warn!(%holder, "heartbeat ignored: too many agents");
        observations.at_capacity.remove(&holder);
        return false;
    }
    observations.agents.insert(holder, seen);
    true
}

/// Number of agents whose last heartbeat came less than `lost_us` before `now`.
pub(crate) fn agents_alive(observations: &Observations, lost_us: u64, now: Timestamp) -> u32 {
    let processes = observations.agents.iter();
    let alive = processes.filter(|(_, seen)| now < seen.at.plus_us(lost_us));
    let agents: BTreeSet<&AgentId> = alive.map(|(holder, _)| &holder.agent).collect();
    u32::try_from(agents.len()).unwrap_or(u32::MAX)
}

/// Records a heartbeat of `owner` among the owners of its tenant.
pub(crate) fn note_owner(
    owners: &mut BTreeMap<OwnerId, Timestamp>,
    owner: OwnerId,
    now: Timestamp,
) {
    if let Some(at) = owners.get_mut(&owner) {
        *at = now;
        return;
    }
    owners.retain(|_, at| now < at.plus_us(FORGET_AFTER_US));
    if owners.len() < LIVE_MAX {
        owners.insert(owner, now);
    }
}

/// Starts to listen again: silence before `now` proves nothing. After a clock was set back, no
/// recorded heartbeat lies in the future.
pub(crate) fn begin(
    observations: &mut Observations,
    owners: &mut BTreeMap<TenantId, BTreeMap<OwnerId, Timestamp>>,
    now: Timestamp,
) {
    observations.since = now;
    for seen in observations.agents.values_mut() {
        seen.at = seen.at.min(now);
    }
    for at in owners.values_mut().flat_map(BTreeMap::values_mut) {
        *at = (*at).min(now);
    }
}

//! When each process of an agent and each owner was last heard; this is not in the log. Identities
//! come from the subjects of heartbeats, read by the caller, never from a payload.

use loadpilot_engine::control::decide::{Heard, Hearing};
use loadpilot_events::wire::heartbeat::AgentBeat;
use loadpilot_events::{AgentId, Holder, OwnerId, Timestamp};

/// Time without a heartbeat in µs after which a process or owner is forgotten; its loss is decided
/// long before.
const FORGET_AFTER_US: u64 = 600_000_000;

/// Maximum number of processes, and of owners; heartbeats of further ones are ignored.
const HEARD_MAX: usize = 65_536;

/// Records a heartbeat of a process of `agent`; returns whether it may change a decision. A known
/// process that is heard in time only postpones deadlines.
pub(crate) fn note_agent(
    hearing: &mut Hearing,
    agent: AgentId,
    beat: &AgentBeat,
    lost_us: u64,
    now: Timestamp,
) -> bool {
    let holder = Holder {
        agent,
        boot_id: beat.boot_id.clone(),
    };
    let heard = Heard {
        at: now,
        predecessor_dead: beat.predecessor_dead,
        recovering: beat.recovering.iter().cloned().collect(),
        has: beat.has.clone(),
    };
    let was_full = match beat.full {
        true => !hearing.full.insert(holder.clone()),
        false => hearing.full.remove(&holder),
    };
    if let Some(known) = hearing.agents.get_mut(&holder) {
        let in_time = now < known.at.plus_us(lost_us);
        let same = known.predecessor_dead == heard.predecessor_dead
            && known.recovering == heard.recovering
            && known.has == heard.has
            && was_full == beat.full;
        *known = heard;
        return !(in_time && same);
    }
    hearing
        .agents
        .retain(|_, heard| now < heard.at.plus_us(FORGET_AFTER_US));
    let agents = &hearing.agents;
    hearing
        .full
        .retain(|known| *known == holder || agents.contains_key(known));
    if hearing.agents.len() >= HEARD_MAX {
        tracing::warn!(%holder, "heartbeat ignored: too many agents");
        hearing.full.remove(&holder);
        return false;
    }
    hearing.agents.insert(holder, heard);
    true
}

/// Records a heartbeat of `owner`.
pub(crate) fn note_owner(hearing: &mut Hearing, owner: OwnerId, now: Timestamp) {
    if let Some(at) = hearing.owners.get_mut(&owner) {
        *at = now;
        return;
    }
    hearing
        .owners
        .retain(|_, at| now < at.plus_us(FORGET_AFTER_US));
    if hearing.owners.len() < HEARD_MAX {
        hearing.owners.insert(owner, now);
    }
}

/// Starts to listen anew: silence before `now` proves nothing, and after a clock was set back no
/// heartbeat is in the future.
pub(crate) fn begin(hearing: &mut Hearing, now: Timestamp) {
    hearing.since = now;
    for heard in hearing.agents.values_mut() {
        heard.at = heard.at.min(now);
    }
    for at in hearing.owners.values_mut() {
        *at = (*at).min(now);
    }
}

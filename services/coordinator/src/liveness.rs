//! Who was heard when, outside the log. It must never take an identity from a payload: the caller
//! reads it from the subject.

use loadpilot_engine::control::decide::{LastSeen, Observations};
use loadpilot_events::wire::heartbeat::AgentBeat;
use loadpilot_events::{AgentId, Holder, OwnerId, Timestamp};

/// A process or owner that was silent for this long (µs) is forgotten; decisions about its loss
/// were made long before.
const FORGET_AFTER_US: u64 = 600_000_000;

/// Most processes and most owners that are remembered; further ones are not heard.
const HEARD_MAX: usize = 65_536;

/// Notes that a process of `agent` lives. Returns whether that may change a decision: a known
/// process that is heard again in time only moves deadlines back.
pub(crate) fn note_agent(
    hearing: &mut Observations,
    agent: AgentId,
    beat: &AgentBeat,
    lost_us: u64,
    now: Timestamp,
) -> bool {
    let holder = Holder {
        agent,
        boot_id: beat.boot_id.clone(),
    };
    let heard = LastSeen {
        at: now,
        predecessor_dead: beat.predecessor_dead,
        recovering: beat.recovering.iter().cloned().collect(),
        has: beat.has.clone(),
    };
    let was_full = match beat.full {
        true => !hearing.at_capacity.insert(holder.clone()),
        false => hearing.at_capacity.remove(&holder),
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
        .at_capacity
        .retain(|known| *known == holder || agents.contains_key(known));
    if hearing.agents.len() >= HEARD_MAX {
        tracing::warn!(%holder, "not heard: too many agents");
        hearing.at_capacity.remove(&holder);
        return false;
    }
    hearing.agents.insert(holder, heard);
    true
}

/// Notes that `owner` lives.
pub(crate) fn note_owner(hearing: &mut Observations, owner: OwnerId, now: Timestamp) {
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

/// Begins to listen anew: silence before `now` proves nothing, and no sign of life lies in the
/// future of a clock that was set back.
pub(crate) fn begin(hearing: &mut Observations, now: Timestamp) {
    hearing.since = now;
    for heard in hearing.agents.values_mut() {
        heard.at = heard.at.min(now);
    }
    for at in hearing.owners.values_mut() {
        *at = (*at).min(now);
    }
}

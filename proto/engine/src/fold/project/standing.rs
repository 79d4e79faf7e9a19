//! Whether a row of a holder counts in its tick.

use loadpilot_events::id::Holder;
use loadpilot_events::log::assign::Generation;

use crate::bugs::{Bug, bug};
use crate::control::Control;

/// The standing of a row.
pub(super) enum Standing {
    Counts,
    Excess,
    Contradicts(String),
}

/// Whether a row of a holder under a generation counts in its due tick: it does not when other
/// holders had taken over by then.
pub(crate) fn counts(
    control: &Control,
    holder: &Holder,
    tick: u32,
    generation: Generation,
) -> bool {
    matches!(
        standing(control, holder, tick, generation),
        Standing::Counts
    )
}

/// Whether a holder may report about a tick under a generation at all, excess or not.
///
/// # Errors
/// Why not, in words.
pub(crate) fn may_speak(
    control: &Control,
    holder: &Holder,
    tick: u32,
    generation: Generation,
) -> Result<(), String> {
    match standing(control, holder, tick, generation) {
        Standing::Counts | Standing::Excess => Ok(()),
        Standing::Contradicts(reason) => Err(reason),
    }
}

pub(super) fn standing(
    control: &Control,
    holder: &Holder,
    tick: u32,
    generation: Generation,
) -> Standing {
    if !control.holds(holder, generation) {
        return Standing::Contradicts(format!(
            "{holder} held no shards in generation {generation}"
        ));
    }
    let in_force = control
        .in_force(tick)
        .map_or(0, |assignment| assignment.generation);
    match generation.cmp(&in_force) {
        std::cmp::Ordering::Equal => Standing::Counts,
        _ if bug(Bug::NoGenerationFence) => Standing::Counts,
        std::cmp::Ordering::Less => Standing::Excess,
        std::cmp::Ordering::Greater => Standing::Contradicts(format!(
            "generation {generation} named for tick {tick}, where {in_force} was in force"
        )),
    }
}

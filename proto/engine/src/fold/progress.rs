//! How far a run has come, as its log shows it. Must never read a clock.

use loadpilot_events::id::Holder;

use crate::control::Control;
use crate::fold::project::Projection;

/// Number of ticks by which a holder may be behind the newest one. A holder that is further behind
/// is silent: what it did not report counts as not started.
const TICKS_BEHIND_MAX: u32 = 3;

/// Number of ticks that a run has reached which is not over: at an instant those that were due, and
/// in its newest state those that every holder has reported on. `None` when the run is over or has
/// not started: then it is judged as a whole.
#[must_use]
pub fn ticks_reached(control: &Control, data: &Projection, tick_us: u64) -> Option<u32> {
    let state = &control.state;
    if state.start.is_none() || state.over || control.sealed.is_some() {
        return None;
    }
    if let Some(us) = control.as_of_us {
        return Some(u32::try_from(us / tick_us).unwrap_or(u32::MAX));
    }
    let holdings = control.assignments.last().map(|newest| &newest.holdings);
    let reported = |holder: &Holder| {
        let sums = data.holders.get(holder);
        let newest = sums.and_then(|sums| sums.reported.last_key_value());
        newest.map_or(0, |(&tick, _)| tick + 1)
    };
    let ticks = holdings.into_iter().flatten();
    let ticks: Vec<u32> = ticks.map(|held| reported(&held.holder)).collect();
    let newest = ticks.iter().copied().max().unwrap_or(0);
    let speaking = ticks.into_iter();
    let speaking = speaking.filter(|&tick| tick + TICKS_BEHIND_MAX >= newest);
    Some(speaking.min().unwrap_or(0))
}

//! How far a run has come, as its log shows it. Must never read a clock.

use loadpilot_events::id::Holder;

use crate::control::Control;
use crate::fold::project::Projection;

/// Number of ticks by which a holder may be behind the instant, or behind the newest holder. A
/// holder that is further behind is silent: what it did not report counts as not started.
const TICKS_BEHIND_MAX: u32 = 3;

/// Number of ticks that a run has reached which is not over: those that the deltas of every holder
/// cover to their end. `None` when the run is over or has not started: then it is judged as a
/// whole.
#[must_use]
pub fn ticks_reached(control: &Control, data: &Projection, tick_us: u64) -> Option<u32> {
    let state = &control.state;
    if state.start.is_none() || state.over || control.sealed.is_some() {
        return None;
    }
    let whole_ticks = |us: u64| u32::try_from(us / tick_us).unwrap_or(u32::MAX);
    let covered = |holder: &Holder| {
        let sums = data.holders.get(holder);
        sums.map_or(0, |sums| whole_ticks(sums.covered_us))
    };
    let holdings = control.assignments.last().map(|newest| &newest.holdings);
    let ticks = holdings.into_iter().flatten();
    let ticks: Vec<u32> = ticks.map(|held| covered(&held.holder)).collect();
    let due = match control.as_of_us {
        Some(us) => whole_ticks(us),
        None => ticks.iter().copied().max().unwrap_or(0),
    };
    let speaking = ticks.into_iter();
    let speaking = speaking.filter(|&tick| tick.saturating_add(TICKS_BEHIND_MAX) >= due);
    Some(speaking.min().map_or(due, |ticks| ticks.min(due)))
}

//! How far a run has come, as its log shows it. Must never read a clock.

use std::collections::BTreeMap;

use loadpilot_events::id::Holder;

use crate::control::Control;
use crate::fold::delta_record::DeltaRecord;
use crate::fold::project::Projection;

/// Number of ticks by which a holder may be behind the instant, or behind the newest holder. A
/// holder that is further behind is silent: what it did not report counts as not started.
const TICKS_BEHIND_MAX: u32 = 3;

/// Number of ticks that a run has reached while it is not over: those that the deltas of every
/// holder cover to their end. `None` when the run is over or has not started: then it is judged as
/// a whole.
#[must_use]
pub fn ticks_reached(control: &Control, data: &Projection, tick_us: u64) -> Option<u32> {
    let state = &control.state;
    if state.start.is_none() || state.over || control.sealed.is_some() {
        return None;
    }
    Some(ticks_of_holders(control, data, tick_us, |_, covered_us| {
        covered_us
    }))
}

/// Due time of the oldest arrival that each process has in flight or waiting, by its newest delta.
#[derive(Debug, Clone, Default)]
pub struct OpenArrivals {
    /// End of the newest delta and the due time, in µs after the start.
    oldest: BTreeMap<Holder, (u64, u64)>,
}

impl OpenArrivals {
    /// Adds the oldest open arrival of a delta. An unreadable delta is left out.
    pub fn add(&mut self, record: &DeltaRecord) {
        let Some((agent, delta)) = record.delta() else {
            return;
        };
        let holder = Holder {
            agent: agent.clone(),
            boot_id: delta.boot_id.clone(),
        };
        let due_us = delta.to_us.saturating_sub(delta.gauges.oldest_us);
        let known = self.oldest.entry(holder).or_default();
        *known = (*known).max((delta.to_us, due_us));
    }
}

/// Number of ticks of a run that is not over whose arrivals have all ended, as far as the newest
/// delta of every holder says. `None` when the run is over or has not started.
///
/// It is a forecast: a process that was silent, or the tail of a killed one, may still add to such
/// a tick.
#[must_use]
pub fn ticks_settled(
    control: &Control,
    data: &Projection,
    open: &OpenArrivals,
    tick_us: u64,
) -> Option<u32> {
    let reached = ticks_reached(control, data, tick_us)?;
    let settled = ticks_of_holders(control, data, tick_us, |holder, covered_us| {
        let oldest = open.oldest.get(holder);
        oldest.map_or(covered_us, |(_, due_us)| covered_us.min(*due_us))
    });
    Some(reached.min(settled))
}

/// The least number of whole ticks in the times of the holders that are not silent; `time_of` gets
/// a holder and the end of its newest delta, all in µs.
fn ticks_of_holders(
    control: &Control,
    data: &Projection,
    tick_us: u64,
    time_of: impl Fn(&Holder, u64) -> u64,
) -> u32 {
    let whole_ticks = |us: u64| u32::try_from(us / tick_us).unwrap_or(u32::MAX);
    let holdings = control.assignments.last().map(|newest| &newest.holdings);
    let ticks = holdings.into_iter().flatten().map(|held| {
        let sums = data.holders.get(&held.holder);
        let covered_us = sums.map_or(0, |sums| sums.covered_us);
        let time_us = time_of(&held.holder, covered_us);
        (whole_ticks(covered_us), whole_ticks(time_us))
    });
    let ticks: Vec<(u32, u32)> = ticks.collect();
    let due = match control.as_of_us {
        Some(us) => whole_ticks(us),
        None => ticks.iter().map(|(covered, _)| *covered).max().unwrap_or(0),
    };
    let speaking = ticks.into_iter();
    let speaking = speaking.filter(|(covered, _)| covered.saturating_add(TICKS_BEHIND_MAX) >= due);
    speaking
        .map(|(_, ticks)| ticks)
        .min()
        .map_or(due, |ticks| ticks.min(due))
}

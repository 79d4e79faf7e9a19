//! Accounting of a closed loop: nothing is planned, so that an unreported part shows as time for
//! which users are unaccounted for.
//!
//! Each process numbers its deltas, and each delta names its window: a missing number is an unknown
//! window of that process. Must never guess how much happened in it.

use std::ops::Range;

use loadpilot_events::answers::report::LostInterval;
use loadpilot_events::id::Holder;
use loadpilot_events::log::delta::Totals;

use crate::control::Control;
use crate::fold::project::{HolderSums, Projection};
use crate::schedule::share::Share;
use crate::schedule::user_types::pairs::share_of;
use crate::schedule::workload::Workload;
use crate::tally::ratio::percent;

/// The unreported part of a closed loop.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Unreported {
    /// Intervals by holder, then by time.
    pub(crate) lost: Vec<LostInterval>,
    /// Time of active users in these intervals, in percent of the time of all active users: a user
    /// counts for each tick in which it is active. 0 without intervals, and when none is active in
    /// them; the intervals are named all the same.
    pub(crate) time_pct: f64,
}

/// A time range that a process did not report.
#[derive(Debug)]
struct Gap {
    /// Range in µs after the start.
    us: Range<u64>,
    /// Arrivals in its totals beyond those in its deltas.
    arrivals: u64,
    /// Whether a numbered delta is missing; else its final totals are.
    is_delta: bool,
}

/// The unreported part of a closed loop that offered load for `ticks` ticks.
pub(crate) fn unreported(
    control: &Control,
    data: &Projection,
    workload: &Workload,
    ticks: u32,
) -> Unreported {
    let mut found = Unreported::default();
    if control.sealed.is_none() {
        // Missing deltas may still come.
        return found;
    }
    let mut lost_ticks: u64 = 0;
    let finals = control.finals();
    for holder in &control.state.ever_held {
        let held = holdings(control, holder, ticks);
        for gap in gaps(data.holders.get(holder), finals.get(holder)) {
            let mut arrivals = gap.arrivals;
            for (range, share) in ticks_of(&gap, &held, workload) {
                let active = range.clone().map(|tick| workload.active_in_tick(tick));
                lost_ticks += active
                    .map(|users| share.count_below(users.into()))
                    .sum::<u64>();
                found.lost.push(LostInterval {
                    holder: holder.clone(),
                    from_tick: range.start,
                    to_tick: range.end - 1,
                    arrivals: std::mem::take(&mut arrivals),
                });
            }
        }
    }
    if !found.lost.is_empty() {
        let active = (0..ticks).map(|tick| u64::from(workload.active_in_tick(tick)));
        found.time_pct = percent(lost_ticks, active.sum());
    }
    found
}

/// The ticks of a gap in which its process held shards, and its share.
fn ticks_of<'a>(
    gap: &Gap,
    held: &'a [(Range<u32>, Share)],
    workload: &Workload,
) -> Vec<(Range<u32>, &'a Share)> {
    let from = workload.tick_of(gap.us.start);
    let to = workload
        .tick_of(gap.us.end.saturating_sub(1))
        .saturating_add(1);
    let inside = held.iter().map(|(range, share)| {
        let both = range.start.max(from)..range.end.min(to);
        (both, share)
    });
    let mut ticks: Vec<_> = inside.filter(|(both, _)| !both.is_empty()).collect();
    if ticks.is_empty() && gap.is_delta {
        // The process finished arrivals after its last tick: the missing delta is shown in that
        // tick.
        let last = held
            .last()
            .map(|(range, share)| (range.end - 1..range.end, share));
        ticks.extend(last);
    }
    ticks
}

/// The ticks in which `holder` held shards, oldest first and none empty, and its share.
fn holdings(control: &Control, holder: &Holder, ticks: u32) -> Vec<(Range<u32>, Share)> {
    let created = control.state.created.as_ref();
    let shards = created.map_or(1, |created| created.shards);
    let paired = created.is_some_and(|created| created.plan.paired);
    let mut held = Vec::new();
    for (index, assignment) in control.assignments.iter().enumerate() {
        let later = control.assignments[index + 1..].iter();
        let until = later.map(|next| next.from_tick).min().unwrap_or(ticks);
        let range = assignment.from_tick..until.min(ticks);
        let holding = assignment.of(holder);
        if let Some(holding) = holding.filter(|_| !range.is_empty()) {
            let owned = holding.shards.iter().copied();
            let owned = owned.filter(|&shard| shard < shards).collect();
            held.push((range, share_of(paired, shards, owned)));
        }
    }
    held
}

/// The gaps between the deltas of a process, and after the last of them.
fn gaps(sums: Option<&HolderSums>, final_totals: Option<&(u64, &Totals)>) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let (mut seq, mut at_us, mut total) = (0, 0, 0);
    for (&next, window) in sums.into_iter().flat_map(|sums| &sums.windows) {
        if next > seq + 1 {
            let before = window.total.saturating_sub(window.arrivals);
            gaps.push(Gap {
                // The parts of a split window have the same beginning and end.
                us: at_us.min(window.from_us)..at_us.max(window.from_us),
                arrivals: before.saturating_sub(total),
                is_delta: true,
            });
        }
        (seq, at_us, total) = (next, window.to_us, window.total);
    }
    let claimed = final_totals.map_or(0, |(_, totals)| totals.started + totals.dropped_total());
    if final_totals.is_none_or(|&(final_seq, _)| final_seq > seq) {
        gaps.push(Gap {
            us: at_us..u64::MAX,
            arrivals: claimed.saturating_sub(total),
            is_delta: final_totals.is_some(),
        });
    }
    gaps
}

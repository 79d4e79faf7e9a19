//! Cumulative figures of a run for systems of metrics: counters and classic histograms.
//!
//! Counts are those of the report over the whole run, warm-up included. Must never compute a
//! percentile: the reader of a histogram does.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_events::log::hist::Hist;
use loadpilot_events::log::outcome::{DropReason, Outcome};
use loadpilot_events::plan::Plan;

use crate::control::Control;
use crate::fold::project::Projection;
use crate::tally::aggregates::add_counts;
use crate::tally::call_ids::CallId;

/// Upper bounds of the buckets of a histogram, in µs; one more bucket has what is above.
pub const BOUNDS_US: [u64; 17] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 75_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000,
];
/// Maximum number of calls, and of tasks, with a name of their own.
pub const NAMES_MAX: usize = 100;
/// Name of all other calls or tasks together.
pub const OTHER: &str = "other";

/// The calls that have a name of their own: the first ones that were seen, so that no counter of a
/// name moves to another one.
#[derive(Debug, Clone, Default)]
pub struct NamedCalls(BTreeSet<CallId>);

impl NamedCalls {
    /// Whether the call has a name of its own; a new one gets it while there is room.
    fn has(&mut self, call: &CallId) -> bool {
        if self.0.contains(call) {
            return true;
        }
        let has_room = self.0.len() < NAMES_MAX;
        if has_room {
            self.0.insert(call.clone());
        }
        has_room
    }
}

/// Figures of a run since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cumulative {
    /// By task.
    pub tasks: BTreeMap<String, TaskTotals>,
    /// By task and call.
    pub calls: BTreeMap<(String, String), CallTotals>,
}

/// Arrivals of one task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskTotals {
    /// Started.
    pub started: u64,
    /// Never started, by reason.
    pub dropped: BTreeMap<DropReason, u64>,
    /// Started ones that raised an error or had a call that was not ok.
    pub errors: u64,
}

/// One call of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallTotals {
    /// Number of calls by outcome.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Response times of finished calls: corrected.
    pub response: ClassicHistogram,
    /// Service times of finished calls: uncorrected.
    pub service: ClassicHistogram,
}

/// A histogram with the bounds of [`BOUNDS_US`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClassicHistogram {
    /// Number of values in each bucket, not cumulative; the last one has no upper bound.
    pub counts: [u64; BOUNDS_US.len() + 1],
    /// Sum of the values in µs, each to three significant digits as it is stored.
    pub sum_us: u64,
}

impl ClassicHistogram {
    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn add(&mut self, hist: &Hist) {
        for bucket in hist.iter_recorded() {
            let (value, count) = (
                bucket.value_iterated_to(),
                bucket.count_since_last_iteration(),
            );
            let least_us = hist.lowest_equivalent(value);
            let place = BOUNDS_US.partition_point(|bound_us| *bound_us < least_us);
            self.counts[place] += count;
            let sum_us = hist.median_equivalent(value).saturating_mul(count);
            self.sum_us = self.sum_us.saturating_add(sum_us);
        }
    }
}

/// The figures of a run since its start; `None` before it is created.
#[must_use]
pub fn cumulative(
    control: &Control,
    data: &Projection,
    named: &mut NamedCalls,
) -> Option<Cumulative> {
    let plan = &control.state.created.as_ref()?.plan;
    let planned: Vec<(usize, &str)> = plan
        .calls()
        .map(|(task, step)| (task, step.name.as_str()))
        .collect();
    let mut totals = Cumulative::default();
    for place in 0..plan.tasks.len() {
        totals.tasks.entry(task_name(plan, place)).or_default();
    }
    for (_, task, sums) in data.arrivals.range(..) {
        let name = task_name(plan, usize::from(task));
        let task = totals.tasks.entry(name).or_default();
        task.started += sums.started;
        add_counts(&mut task.dropped, &sums.dropped);
        task.errors += sums.task_errors;
    }
    for ((_, call, outcome), sums) in &data.calls {
        let (task, name) = match call {
            CallId::Planned(number) => match planned.get(usize::from(*number)) {
                Some((task, name)) => (*task, *name),
                None => (usize::MAX, OTHER),
            },
            CallId::Named { task, name } => (usize::from(*task), &**name),
        };
        let name = if named.has(call) { name } else { OTHER };
        let key = (task_name(plan, task), name.to_owned());
        let totals = totals.calls.entry(key).or_default();
        *totals.outcomes.entry(*outcome).or_default() += sums.count;
        if outcome.is_finished() {
            totals.response.add(&sums.response);
            totals.service.add(&sums.service);
        }
    }
    Some(totals)
}

fn task_name(plan: &Plan, place: usize) -> String {
    let task = plan.tasks.get(place).filter(|_| place < NAMES_MAX);
    task.map_or_else(|| OTHER.to_owned(), |task| task.name.clone())
}

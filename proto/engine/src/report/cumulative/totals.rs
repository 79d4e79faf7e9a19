//! Counters and histograms since the start of a run.

use std::collections::BTreeMap;

use loadpilot_events::log::delta::Phase;
use loadpilot_events::log::outcome::{DropReason, Outcome};
use loadpilot_events::plan::Plan;
use loadpilot_events::units::Timestamp;

use super::buckets::Buckets;
use super::names::{Exported, PlannedCalls, task_name};
use super::run_fold::Folded;
use crate::fold::accounting::WHOLE;
use crate::schedule::workload::Workload;
use crate::tally::aggregates::{ArrivalSums, add_counts};

/// Counters and histograms since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cumulative {
    /// By task.
    pub tasks: BTreeMap<String, TaskTotals>,
    /// By task and call.
    pub calls: BTreeMap<(String, String), CallTotals>,
    /// From due until the pacer reached the arrival, of all calls.
    pub schedule_lag: Buckets,
}

/// Arrivals of one task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskTotals {
    /// Planned and due by now, by the plan; of a closed loop as reported.
    pub planned: u64,
    /// Started.
    pub started: u64,
    /// Never started, by reason.
    pub dropped: BTreeMap<DropReason, u64>,
    /// Started ones that raised an error or had a call that was not ok.
    pub failed: u64,
}

/// One call of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallTotals {
    /// By outcome.
    pub outcomes: BTreeMap<Outcome, OutcomeTotals>,
    /// Connections opened for it.
    pub opened: u64,
    /// Calls on a connection that was open.
    pub reused: u64,
    /// TLS handshakes that ended.
    pub handshakes: u64,
    /// Bytes written, headers included.
    pub sent_bytes: u64,
    /// Bytes read, headers included where the HTTP engine sees them.
    pub received_bytes: u64,
}

/// Calls with one outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutcomeTotals {
    /// Number of calls.
    pub count: u64,
    /// Response times of finished calls: corrected.
    pub response: Buckets,
    /// Service times of finished calls: uncorrected.
    pub service: Buckets,
}

/// Counters and histograms since the start; `None` before the run is created.
#[must_use]
pub fn cumulative(run: Folded<'_>, exported: &mut Exported, now: Timestamp) -> Option<Cumulative> {
    let plan = &run.control.state.created.as_ref()?.plan;
    let calls = PlannedCalls::of(plan);
    let mut totals = Cumulative {
        tasks: arrivals(run, plan, exported, now),
        ..Cumulative::default()
    };
    for ((_, call, outcome), sums) in &run.data.calls {
        let totals = totals.calls.entry(calls.name(call, exported)).or_default();
        totals.sent_bytes = totals.sent_bytes.saturating_add(sums.sent_bytes);
        totals.received_bytes = totals.received_bytes.saturating_add(sums.received_bytes);
        let of_outcome = totals.outcomes.entry(*outcome).or_default();
        of_outcome.count += sums.count;
        if outcome.is_finished() {
            of_outcome.response.add(&sums.response);
            of_outcome.service.add(&sums.service);
        }
    }
    for ((_, call), sums) in &run.data.anatomy {
        let of_call = totals.calls.entry(calls.name(call, exported)).or_default();
        of_call.opened += sums.opened;
        of_call.reused += sums.reused;
        of_call.handshakes += sums.phases.get(&Phase::Tls).map_or(0, |tls| tls.len());
        if let Some(lag) = sums.phases.get(&Phase::ScheduleLag) {
            totals.schedule_lag.add(lag);
        }
    }
    Some(totals)
}

/// Planned arrivals of a run that goes on that are due by now, by task; `None` for other runs, and
/// for a closed loop, which plans none.
fn due(run: Folded<'_>, plan: &Plan, now: Timestamp) -> Option<Vec<u64>> {
    let state = &run.control.state;
    let created = state.created.as_ref()?;
    let start = state.start.as_ref()?;
    if state.over || plan.users.is_some() {
        return None;
    }
    let workload = Workload::new(plan, created.seed).steered(&state.steering.rates);
    let elapsed_us = now.since_us(start.start_at).min(workload.duration_us());
    Some(workload.count_per_task(0..workload.first_at_or_after(elapsed_us)))
}

/// Arrivals by task.
fn arrivals(
    run: Folded<'_>,
    plan: &Plan,
    exported: &mut Exported,
    now: Timestamp,
) -> BTreeMap<String, TaskTotals> {
    let due = due(run, plan, now);
    let mut tasks: BTreeMap<String, TaskTotals> = BTreeMap::new();
    let reported = run.data.arrivals.by_task(WHOLE);
    let nothing = ArrivalSums::default();
    for index in 0..plan.tasks.len() {
        let number = u16::try_from(index).unwrap_or(u16::MAX);
        let sums = reported.get(&number).unwrap_or(&nothing);
        let totals = tasks.entry(task_name(plan, index)).or_default();
        totals.started += sums.started;
        totals.failed += sums.task_errors;
        let mut dropped = sums.dropped.clone();
        if let Some(counts) = run.report.tasks.get(index).map(|task| &task.arrivals) {
            let due = due.as_ref().and_then(|due| due.get(index));
            totals.planned += due.copied().unwrap_or(counts.planned);
            // Drops that no agent reported are included; the report covers only the ticks that are
            // reached.
            for (reason, count) in &counts.dropped {
                let known = dropped.entry(*reason).or_default();
                *known = (*known).max(*count);
            }
        }
        add_counts(&mut totals.dropped, &dropped);
    }
    for (name, totals) in &mut tasks {
        let known = exported.planned.entry(name.clone()).or_default();
        if !run.control.state.over {
            totals.planned = totals.planned.max(*known);
        }
        *known = totals.planned;
    }
    tasks
}

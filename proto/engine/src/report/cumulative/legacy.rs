//! The figures that earlier versions exported, in their units. For dashboards that use them; new
//! ones read the histograms.

use std::collections::BTreeMap;

use loadpilot_events::answers::live::{LatencyMs, LoadPhase};
use loadpilot_events::log::hist::{self, Hist};
use loadpilot_events::rules::Rules;
use loadpilot_events::units::Timestamp;

use super::gauges::{active, planned_per_sec};
use super::names::{PlannedCalls, task_name};
use super::run_fold::Folded;
use crate::fold::accounting::WHOLE;
use crate::report::live::{latency_ms, phase};
use crate::schedule::workload::Workload;
use crate::tally::aggregates::merge;
use crate::tally::packed_histogram::{HistogramSum, Precision};

/// Figures of a run by the names of earlier versions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LegacyFigures {
    /// Finished calls per second in the newest windows.
    pub current_rps: f64,
    /// Planned rate now.
    pub target_rps: f64,
    /// Number of processes that reported recently.
    pub active_workers: u64,
    /// Response times of the calls that finished in the newest windows.
    pub latency: LatencyMs,
    /// Number of calls that ended.
    pub requests: u64,
    /// Number of errors, as in a report.
    pub errors: u64,
    /// Time since the start in µs; until the end of a run that is over.
    pub elapsed_us: u64,
    /// Direction of the offered rate.
    pub phase: Option<LoadPhase>,
    /// By task.
    pub tasks: BTreeMap<String, LegacyTask>,
}

/// Figures of one task since the start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LegacyTask {
    /// Number of calls that ended.
    pub requests: u64,
    /// Number of errors, as in a report.
    pub errors: u64,
    /// Response times of its calls.
    pub latency: LatencyMs,
}

/// Sums of one task.
struct TaskSums {
    requests: u64,
    errors: u64,
    responses: Hist,
}

impl Default for TaskSums {
    fn default() -> Self {
        Self {
            requests: 0,
            errors: 0,
            responses: hist::latency(),
        }
    }
}

/// The figures at `now`; `None` before the run is created.
pub(super) fn legacy(run: Folded<'_>, now: Timestamp) -> Option<LegacyFigures> {
    let state = &run.control.state;
    let created = state.created.as_ref()?;
    let workload = Workload::new(&created.plan, created.seed).steered(&state.steering.rates);
    let start_at = state.start.as_ref().map(|start| start.start_at);
    let started = start_at.is_some_and(|start| now >= start);
    let elapsed_us = start_at.map_or(0, |start| now.since_us(start));
    let mut figures = LegacyFigures {
        elapsed_us,
        phase: Some(phase(run.control, &workload, started, elapsed_us)),
        ..LegacyFigures::default()
    };
    if started && !state.over {
        let mut responses = HistogramSum::new(Precision::Latency);
        for (_, window) in active(run, elapsed_us) {
            figures.current_rps += window.finished_per_sec();
            figures.active_workers += 1;
            responses.add(window.responses.iter());
        }
        figures.target_rps = planned_per_sec(run.control, elapsed_us);
        figures.latency = latency_ms(&responses.hist());
    }
    for (name, sums) in tasks(run) {
        figures.requests += sums.requests;
        figures.errors += sums.errors;
        let task = LegacyTask {
            requests: sums.requests,
            errors: sums.errors,
            latency: latency_ms(&sums.responses),
        };
        figures.tasks.insert(name, task);
    }
    Some(figures)
}

fn tasks(run: Folded<'_>) -> BTreeMap<String, TaskSums> {
    let mut tasks: BTreeMap<String, TaskSums> = BTreeMap::new();
    let Some(created) = &run.control.state.created else {
        return tasks;
    };
    let plan = &created.plan;
    for index in 0..plan.tasks.len() {
        tasks.entry(task_name(plan, index)).or_default();
    }
    let calls = PlannedCalls::of(plan);
    for ((_, call, outcome), sums) in &run.data.calls {
        let task = tasks.entry(calls.task(call)).or_default();
        task.requests += sums.count;
        task.errors += if outcome.is_error() { sums.count } else { 0 };
        if outcome.is_finished() {
            merge(&mut task.responses, &sums.response);
        }
    }
    if run.control.rules() >= Rules::V2 {
        for (task, sums) in run.data.arrivals.by_task(WHOLE) {
            let name = task_name(plan, usize::from(task));
            tasks.entry(name).or_default().errors += sums.raises.more_errors();
        }
    }
    tasks
}

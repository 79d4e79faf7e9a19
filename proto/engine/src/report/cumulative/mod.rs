//! Cumulative figures of a run for systems of metrics: counters and histograms since its start, and
//! its state at an instant.
//!
//! Counts are those of the report over the whole run, warm-up included.
//!
//! - [`buckets`]: classic and native buckets of a histogram
//! - [`gauges`]: the run at an instant
//! - [`legacy`]: the figures that earlier versions exported

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_events::answers::report::Report;
use loadpilot_events::log::delta::Phase;
use loadpilot_events::log::outcome::{DropReason, Outcome};
use loadpilot_events::plan::Plan;
use loadpilot_events::units::Timestamp;

use crate::control::Control;
use crate::fold::accounting::WHOLE;
use crate::fold::newest_windows::NewestWindows;
use crate::fold::project::Projection;
use crate::tally::aggregates::{ArrivalSums, add_counts};
use crate::tally::call_ids::CallId;

pub mod buckets;
pub mod gauges;
pub mod legacy;

use buckets::Buckets;
use gauges::Gauges;
use legacy::LegacyFigures;

/// Maximum number of calls, of tasks, and of agents, with a name of their own.
pub const NAMES_MAX: usize = 100;
/// Name of all other calls, tasks or agents together.
pub const OTHER: &str = "__other__";

/// What an exporter keeps of a run from one message to the next, so that no counter falls.
#[derive(Debug, Clone, Default)]
pub struct Exported {
    /// The calls that have a name of their own: the first ones that were seen, so that no counter
    /// of a name moves to another one.
    named: BTreeSet<CallId>,
    /// Planned arrivals by task: while a run goes on, an agent that joins may set the ticks back
    /// that all agents have reached.
    planned: BTreeMap<String, u64>,
}

impl Exported {
    /// Whether the call has a name of its own; a new one gets it while there is room.
    fn has(&mut self, call: &CallId) -> bool {
        if self.named.contains(call) {
            return true;
        }
        let has_room = self.named.len() < NAMES_MAX;
        if has_room {
            self.named.insert(call.clone());
        }
        has_room
    }
}

/// A run as far as it was read.
#[derive(Debug, Clone, Copy)]
pub struct Folded<'a> {
    /// The control side.
    pub control: &'a Control,
    /// The data side.
    pub data: &'a Projection,
    /// The newest window of each process.
    pub newest: &'a NewestWindows,
    /// The report of both sides; its series are not used.
    pub report: &'a Report,
}

/// All that a system of metrics gets of a run.
#[derive(Debug, Clone)]
pub struct RunFigures {
    /// Counters and histograms.
    pub totals: Cumulative,
    /// The run at the instant.
    pub gauges: Gauges,
    /// Figures by the names of earlier versions.
    pub legacy: LegacyFigures,
}

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
    /// Planned and due, by the plan; of a closed loop as reported.
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

/// All figures of a run at `now`; `None` before it is created.
#[must_use]
pub fn run_figures(run: Folded<'_>, exported: &mut Exported, now: Timestamp) -> Option<RunFigures> {
    Some(RunFigures {
        totals: cumulative(run, exported)?,
        gauges: gauges::gauges(run, now)?,
        legacy: legacy::legacy(run, now)?,
    })
}

/// Counters and histograms since the start; `None` before the run is created.
#[must_use]
pub fn cumulative(run: Folded<'_>, exported: &mut Exported) -> Option<Cumulative> {
    let plan = &run.control.state.created.as_ref()?.plan;
    let calls = PlannedCalls::of(plan);
    let mut totals = Cumulative {
        tasks: arrivals(run, plan, exported),
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

/// Arrivals by task.
fn arrivals(run: Folded<'_>, plan: &Plan, exported: &mut Exported) -> BTreeMap<String, TaskTotals> {
    let mut tasks: BTreeMap<String, TaskTotals> = BTreeMap::new();
    let reported = run.data.arrivals.by_task(WHOLE);
    let nothing = ArrivalSums::default();
    for place in 0..plan.tasks.len() {
        let number = u16::try_from(place).unwrap_or(u16::MAX);
        let sums = reported.get(&number).unwrap_or(&nothing);
        let totals = tasks.entry(task_name(plan, place)).or_default();
        totals.started += sums.started;
        totals.failed += sums.task_errors;
        let mut dropped = sums.dropped.clone();
        if let Some(counts) = run.report.tasks.get(place).map(|task| &task.arrivals) {
            totals.planned += counts.planned;
            // Those that no agent reported, too; the report has only the ticks that are reached.
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

/// The calls of a plan by their numbers: task and name.
struct PlannedCalls<'a> {
    plan: &'a Plan,
    calls: Vec<(usize, &'a str)>,
}

impl<'a> PlannedCalls<'a> {
    fn of(plan: &'a Plan) -> Self {
        let calls = plan.calls();
        let calls = calls.map(|(task, step)| (task, step.name.as_str()));
        Self {
            plan,
            calls: calls.collect(),
        }
    }

    /// Names of a call's task and of the call.
    fn name(&self, call: &CallId, exported: &mut Exported) -> (String, String) {
        let name = match call {
            CallId::Planned(number) => {
                let planned = self.calls.get(usize::from(*number));
                planned.map_or(OTHER, |(_, name)| name)
            }
            CallId::Named { name, .. } => name,
        };
        let name = if exported.has(call) { name } else { OTHER };
        (self.task(call), name.to_owned())
    }

    /// Name of a call's task.
    fn task(&self, call: &CallId) -> String {
        let place = match call {
            CallId::Planned(number) => {
                let planned = self.calls.get(usize::from(*number));
                planned.map_or(usize::MAX, |(task, _)| *task)
            }
            CallId::Named { task, .. } => usize::from(*task),
        };
        task_name(self.plan, place)
    }
}

/// Name of a task by its position in the plan.
fn task_name(plan: &Plan, place: usize) -> String {
    let task = plan.tasks.get(place).filter(|_| place < NAMES_MAX);
    task.map_or_else(|| OTHER.to_owned(), |task| task.name.clone())
}

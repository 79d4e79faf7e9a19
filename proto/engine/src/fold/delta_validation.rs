//! Validation of deltas: figures that no agent can have counted are rejected before they spoil a
//! sum.
//!
//! A delta is stored bytes, which may be damaged or forged. Every delta that passes can be added up
//! without an overflow. Must never judge whether a figure is true: accounting does.

use loadpilot_events::limits::{NAME_BYTES_MAX, RAISED_BYTES_MAX, TRACE_BYTES_MAX};
use loadpilot_events::log::delta::{DeltaReported, LastCall};
use loadpilot_events::log::hist::FilledBuckets;
use loadpilot_events::log::metrics::{Added, MetricRow, is_metric_name};
use loadpilot_events::plan::Plan;
use loadpilot_events::rules::Rules;

use crate::control::Control;
use crate::tally::call_ids::CallNames;

/// Maximum sequence number and total: the greatest integers that a double counts exactly.
const TOTAL_MAX: u64 = 1 << 53;

/// Maximum count of one row; a tick of 60 s at the highest rate has 2³⁰.
const ROW_COUNT_MAX: u64 = 1 << 36;

/// Maximum length of the name of a call made in Python.
const NAME_BYTES: u64 = NAME_BYTES_MAX as u64;
/// Maximum length of the text of an error raised there.
const RAISED_BYTES: u64 = RAISED_BYTES_MAX as u64;
/// Maximum length of a traceback.
const TRACE_BYTES: u64 = TRACE_BYTES_MAX as u64;

/// Rejects a delta with a number that no run can have.
///
/// # Errors
/// The invalid number, in words.
pub(crate) fn believable(delta: &DeltaReported) -> Result<(), String> {
    if delta.seq == 0 {
        return Err("sequence number 0: they begin at 1".to_owned());
    }
    at_most("sequence number", [delta.seq], TOTAL_MAX)?;
    at_most("time", [delta.from_us, delta.to_us], TOTAL_MAX)?;
    let gauges = [delta.gauges.in_flight, delta.gauges.waiting];
    at_most("count of arrivals", gauges, ROW_COUNT_MAX)?;
    let network = [delta.gauges.retransmits, delta.gauges.listen_overflows];
    at_most("count of the network", network, ROW_COUNT_MAX)?;
    let totals = &delta.totals;
    at_most("total", [totals.started], TOTAL_MAX)?;
    at_most("total", totals.dropped.values().copied(), TOTAL_MAX)?;
    at_most("total", totals.calls.values().copied(), TOTAL_MAX)?;
    for row in &delta.arrivals {
        let checks = [row.checks_passed, row.checks_failed];
        let counts = [row.started, row.task_errors].into_iter().chain(checks);
        let raises = LastCall::ALL.map(|last| row.raises.of(last));
        let sessions = [row.sessions.started, row.sessions.ended];
        let counts = counts.chain(raises).chain(sessions);
        let counts = counts.chain(row.dropped.values().copied());
        at_most("count of arrivals", counts, ROW_COUNT_MAX)?;
    }
    for row in &delta.calls {
        at_most("count of calls", [row.count], ROW_COUNT_MAX)?;
        at_most(
            "count of answers",
            row.status.values().copied(),
            ROW_COUNT_MAX,
        )?;
        at_most(
            "count of causes",
            row.causes.values().copied(),
            row.count.min(ROW_COUNT_MAX),
        )?;
        let bytes = [row.sent_bytes, row.received_bytes];
        at_most("sum of bytes", bytes, TOTAL_MAX)?;
    }
    for row in &delta.anatomy {
        let connections = [row.connections_opened, row.connections_reused, row.resent];
        at_most("count of connections", connections, ROW_COUNT_MAX)?;
        let redirects = [row.redirects, row.redirects_not_followed];
        at_most("count of redirects", redirects, ROW_COUNT_MAX)?;
    }
    delta.metrics.iter().try_for_each(believable_metric)?;
    Ok(())
}

fn believable_metric(row: &MetricRow) -> Result<(), String> {
    if !is_metric_name(&row.name) {
        return Err(format!("{:?} is no name of a metric", row.name));
    }
    match &row.added {
        Added::Counter { whole, millionths } => {
            at_most("sum of a counter", [*whole], TOTAL_MAX)?;
            at_most("millionths of a counter", [(*millionths).into()], 999_999)
        }
        Added::Trend { values } => {
            let counts = values.iter().map(|value| value.2);
            at_most("count of a trend", counts.clone(), ROW_COUNT_MAX)?;
            some("values of a trend", counts.min())
        }
        &Added::Rate { count, trues } => {
            at_most("count of a rate", [count], ROW_COUNT_MAX)?;
            some("values of a rate", Some(count))?;
            at_most("trues of a rate", [trues], count)
        }
    }
}

/// Rejects a delta that is not [`believable`], or with a number that this run cannot have: an
/// unknown tick, task or call.
///
/// # Errors
/// The invalid number, in words.
pub(crate) fn plausible(control: &Control, delta: &DeltaReported) -> Result<(), String> {
    let Some(created) = control.state.created.as_deref() else {
        return Err("the run was not created".to_owned());
    };
    believable(delta)?;
    let limits = Limits::of(&created.plan);
    for row in &delta.arrivals {
        at_most("due tick", [row.tick.into()], limits.tick)?;
        at_most("task", [row.task.into()], limits.task)?;
    }
    let names = CallNames::of(delta);
    for row in &delta.calls {
        at_most("due tick", [row.tick.into()], limits.tick)?;
        limits.call(&names, row.call)?;
    }
    for row in &delta.anatomy {
        at_most("due tick", [row.tick.into()], limits.tick)?;
        limits.call(&names, row.call)?;
    }
    for row in &delta.metrics {
        at_most("due tick", [row.tick.into()], limits.tick)?;
        at_most("task", [row.task.into()], limits.task)?;
    }
    for named in &delta.names {
        at_most("task", [named.task.into()], limits.task)?;
        at_most(
            "bytes of a call's name",
            [named.name.len() as u64],
            NAME_BYTES,
        )?;
        if u64::from(named.call) < limits.calls {
            return Err(format!("call {} is named, the plan has it", named.call));
        }
        let task = created.plan.tasks.get(usize::from(named.task));
        let has_steps = task.is_some_and(|task| !task.steps.is_empty());
        if has_steps && control.rules() >= Rules::V2 {
            return Err(format!(
                "call {} is named, and its task has steps",
                named.call
            ));
        }
    }
    for row in &delta.raised {
        at_most("task", [row.task.into()], limits.task)?;
        at_most("count of errors raised", [row.count], ROW_COUNT_MAX)?;
        at_most("bytes of an error", [row.text.len() as u64], RAISED_BYTES)?;
        let trace = row.trace.as_ref().map_or(0, String::len);
        at_most("bytes of a traceback", [trace as u64], TRACE_BYTES)?;
    }
    Ok(())
}

/// Rejects a histogram with more values than a row can have.
///
/// # Errors
/// The number of values, in words.
pub(crate) fn counted(filled: &FilledBuckets) -> Result<(), String> {
    at_most("count of a histogram", [filled.len()], ROW_COUNT_MAX)
}

/// The last tick and task of a plan, and the number of its calls.
struct Limits {
    tick: u64,
    task: u64,
    calls: u64,
}

impl Limits {
    fn of(plan: &Plan) -> Self {
        let last = |count: usize| (count as u64).saturating_sub(1);
        let ticks = plan.profile.duration_us().div_ceil(plan.tick_us.max(1));
        Self {
            tick: ticks.saturating_sub(1),
            task: last(plan.tasks.len()),
            calls: plan.calls().count() as u64,
        }
    }

    /// A call must be in the plan, or have a name.
    fn call(&self, names: &CallNames, call: u16) -> Result<(), String> {
        match u64::from(call) < self.calls || names.has(call) {
            true => Ok(()),
            false => Err(format!("call {call}, {} are in the plan", self.calls)),
        }
    }
}

/// Rejects a row without a count: an agent writes none.
fn some(what: &str, least: Option<u64>) -> Result<(), String> {
    match least {
        None | Some(0) => Err(format!("no {what}, and yet a row")),
        Some(_) => Ok(()),
    }
}

fn at_most(what: &str, values: impl IntoIterator<Item = u64>, limit: u64) -> Result<(), String> {
    match values.into_iter().find(|&value| value > limit) {
        Some(value) => Err(format!("{what} {value}, at most {limit} can be")),
        None => Ok(()),
    }
}

//! Failed calls and errors in a part of a run, call by call.
//!
//! Must never guess when an error was raised: the log only says how often.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_events::answers::failures::{
    CallErrors, Errors, FailureExample, RAISED_SHOWN_MAX, TaskErrors,
};
use loadpilot_events::answers::slice::Slice;
use loadpilot_events::log::delta::TaskRaises;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::refusal::Refusal;

use crate::fold::index::{Entry, Key};
use crate::fold::project::Projection;
use crate::report::figures::tasks::raised;
use crate::report::slice::{CallPlaces, Indexed, Query, Selection};
use crate::tally::call_ids::CallId;

/// How the calls of a slice ended.
///
/// # Errors
/// All problems of the slice.
pub fn errors(run: Indexed<'_>, slice: &Slice) -> Result<Errors, Refusal> {
    let query = Query::of(run, slice)?;
    let selection = Selection::new(run, &query);
    let created = run.control.state.created.as_deref();
    let places = CallPlaces::of(created.map(|created| &created.plan));
    let mut calls: BTreeMap<(u16, &CallId), CallErrors> = BTreeMap::new();
    let known = run.index.calls();
    let planned: Vec<CallId> = places.planned().collect();
    let all: BTreeSet<&CallId> = planned.iter().chain(known).collect();
    for call in all {
        let (task, name) = places.of_call(call);
        calls.insert((task, call), nothing(name));
    }
    let mut raises: BTreeMap<u16, TaskRaises> = BTreeMap::new();
    run.index.walk(query.ticks.clone(), |entry| {
        if let Key::Raises { task, last, .. } = entry.key
            && selection.wants(&entry.key)
        {
            raises.entry(task).or_default().count(last, entry.count);
        }
        if let Key::Calls { call, outcome, .. } = entry.key
            && selection.wants(&entry.key)
            && let Some(call) = known.get(call as usize)
            && let Some(sums) = calls.get_mut(&(places.of_call(call).0, call))
        {
            add(sums, outcome, &entry);
        }
    });
    let names = created.map_or(&[][..], |created| &created.plan.tasks);
    let is_selected = |task: u16| {
        query
            .tasks
            .as_ref()
            .is_none_or(|tasks| tasks.contains(&task))
    };
    let tasks = names
        .iter()
        .zip(0_u16..)
        .filter(|(_, number)| is_selected(*number));
    let tasks = tasks.map(|(task, number)| {
        let of_task = calls.iter().filter(|((of, _), _)| *of == number);
        let named = of_task.filter(|(_, sums)| is_step(&query, &sums.call));
        let calls = named.map(|(_, sums)| sums.clone()).collect();
        let raises = raises.get(&number).copied().unwrap_or_default();
        task_errors((run.data, number), &task.name, calls, raises)
    });
    let examples = run.data.failures.iter().filter_map(|seen| {
        let (task, call) = places.of_call(&seen.call);
        let name = names.get(usize::from(task))?.name.clone();
        let is_wanted = is_selected(task) && is_step(&query, call);
        is_wanted.then(|| FailureExample {
            task: name,
            call: call.to_owned(),
            exchange: seen.exchange.clone(),
        })
    });
    Ok(Errors {
        run: run.control.run.clone(),
        tasks: tasks.collect(),
        examples: examples.collect(),
    })
}

fn is_step(query: &Query, name: &str) -> bool {
    query
        .steps
        .as_ref()
        .is_none_or(|steps| steps.contains(name))
}

fn nothing(name: &str) -> CallErrors {
    CallErrors {
        call: name.to_owned(),
        finished: 0,
        errors: 0,
        outcomes: BTreeMap::new(),
        causes: BTreeMap::new(),
        status: BTreeMap::new(),
    }
}

fn add(sums: &mut CallErrors, outcome: Outcome, entry: &Entry<'_>) {
    sums.finished += if outcome.is_finished() {
        entry.count
    } else {
        0
    };
    sums.errors += if outcome.is_error() { entry.count } else { 0 };
    *sums.outcomes.entry(outcome).or_default() += entry.count;
    for (cause, count) in entry.causes() {
        let causes = sums.causes.entry(outcome).or_default();
        *causes.entry(cause).or_default() += count;
    }
    for (code, count) in entry.status() {
        let status = sums.status.entry(outcome).or_default();
        *status.entry(code).or_default() += count;
    }
}

fn task_errors(
    (data, number): (&Projection, u16),
    name: &str,
    calls: Vec<CallErrors>,
    raises: TaskRaises,
) -> TaskErrors {
    let mut raised = raised(data, number);
    let more = raised.len().saturating_sub(RAISED_SHOWN_MAX) as u64;
    raised.truncate(RAISED_SHOWN_MAX);
    TaskErrors {
        task: name.to_owned(),
        finished: calls.iter().map(|call| call.finished).sum::<u64>() + raises.without_call,
        errors: calls.iter().map(|call| call.errors).sum::<u64>() + raises.more_errors(),
        task_raises: (!raises.is_none()).then_some(raises),
        calls,
        raised,
        raised_more: more,
    }
}

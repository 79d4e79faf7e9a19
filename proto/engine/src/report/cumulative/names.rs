//! Names of tasks and calls in exported metrics, whose number is limited.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_events::plan::Plan;

use crate::tally::call_ids::CallId;

/// Maximum number of calls, of tasks, and of agents, with a name of their own.
pub const NAMES_MAX: usize = 100;
/// Name of all other calls, tasks or agents together.
pub const OTHER: &str = "__other__";

/// State of an exporter for one run, kept from one message to the next so that no counter falls.
#[derive(Debug, Clone, Default)]
pub struct Exported {
    /// The calls that have a name of their own: the first ones that were seen, so that no counter
    /// of a name moves to another one.
    named: BTreeSet<CallId>,
    /// Planned arrivals by task: a clock that is set back must not lower them.
    pub(super) planned: BTreeMap<String, u64>,
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

/// The calls of a plan by their numbers: task and name.
pub(super) struct PlannedCalls<'a> {
    plan: &'a Plan,
    calls: Vec<(usize, &'a str)>,
}

impl<'a> PlannedCalls<'a> {
    pub(super) fn of(plan: &'a Plan) -> Self {
        let calls = plan.calls();
        let calls = calls.map(|(task, step)| (task, step.name.as_str()));
        Self {
            plan,
            calls: calls.collect(),
        }
    }

    /// Names of a call's task and of the call.
    pub(super) fn name(&self, call: &CallId, exported: &mut Exported) -> (String, String) {
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
    pub(super) fn task(&self, call: &CallId) -> String {
        let index = match call {
            CallId::Planned(number) => {
                let planned = self.calls.get(usize::from(*number));
                planned.map_or(usize::MAX, |(task, _)| *task)
            }
            CallId::Named { task, .. } => usize::from(*task),
        };
        task_name(self.plan, index)
    }
}

/// Name of a task by its position in the plan.
pub(super) fn task_name(plan: &Plan, index: usize) -> String {
    let task = plan.tasks.get(index).filter(|_| index < NAMES_MAX);
    task.map_or_else(|| OTHER.to_owned(), |task| task.name.clone())
}

//! The entries of an index that a query is about.

use std::ops::Range;

use loadpilot_events::plan::Plan;
use loadpilot_events::rules::Rules;

use super::indexed::{Indexed, Offered};
use super::query::Query;
use crate::fold::index::Key;
use crate::tally::call_ids::CallId;

/// Selected calls, tasks and agents, by their numbers in an index.
#[derive(Debug)]
pub(crate) struct Selection {
    calls: Option<Vec<bool>>,
    tasks: Option<Vec<bool>>,
    agents: Option<Vec<bool>>,
    query: Query,
    /// Whether errors of tasks count: by the rules of the run, and for whole tasks only.
    raises: bool,
}

impl Selection {
    pub(crate) fn new(run: Indexed<'_>, query: &Query) -> Self {
        let created = run.control.state.created.as_deref();
        let places = CallPlaces::of(created.map(|created| &created.plan));
        let is_wanted = |call: &CallId| {
            let (task, name) = places.of_call(call);
            let of_task = query
                .tasks
                .as_ref()
                .is_none_or(|tasks| tasks.contains(&task));
            let of_name = query
                .steps
                .as_ref()
                .is_none_or(|names| names.contains(name));
            of_task && of_name
        };
        let all = query.tasks.is_none() && query.steps.is_none();
        let calls = run.index.calls();
        let agents = query.agents.as_ref().map(|wanted| {
            let agents = run.index.agents().iter();
            agents.map(|agent| wanted.contains(agent)).collect()
        });
        // Only arrivals of tasks that have such calls.
        let tasks = (!all).then(|| {
            let count = created.map_or(0, |created| created.plan.tasks.len());
            let mut tasks = vec![query.steps.is_none(); count];
            for call in places.planned().chain(calls.iter().cloned()) {
                let task = usize::from(places.of_call(&call).0);
                if is_wanted(&call) && task < count {
                    tasks[task] = true;
                }
            }
            for (number, task) in tasks.iter_mut().enumerate() {
                let number = u16::try_from(number).unwrap_or(u16::MAX);
                *task &= query
                    .tasks
                    .as_ref()
                    .is_none_or(|tasks| tasks.contains(&number));
            }
            tasks
        });
        Self {
            calls: (!all).then(|| calls.iter().map(is_wanted).collect()),
            tasks,
            agents,
            query: query.clone(),
            raises: run.control.rules() >= Rules::V2
                && query.steps.is_none()
                && query.outcomes.is_none(),
        }
    }

    /// Whether an entry is selected.
    pub(crate) fn wants(&self, key: &Key) -> bool {
        let is = |wanted: &Option<Vec<bool>>, index: usize| {
            let wanted = wanted.as_ref();
            wanted.is_none_or(|wanted| wanted.get(index).copied().unwrap_or(false))
        };
        match *key {
            Key::Arrivals { task, agent } => {
                is(&self.tasks, task.into()) && is(&self.agents, agent.into())
            }
            Key::Calls {
                call,
                agent,
                outcome,
            } => {
                let outcomes = self.query.outcomes.as_ref();
                is(&self.calls, call as usize)
                    && is(&self.agents, agent.into())
                    && outcomes.is_none_or(|outcomes| outcomes.contains(&outcome))
            }
            Key::Raises { task, agent, .. } => {
                self.raises && is(&self.tasks, task.into()) && is(&self.agents, agent.into())
            }
            Key::Phase { call, agent, .. } => {
                is(&self.calls, call as usize) && is(&self.agents, agent.into())
            }
        }
    }

    /// Whether the own metrics of a task are selected. They are recorded by task only.
    pub(crate) fn wants_metrics_of(&self, task: u16) -> bool {
        let query = &self.query;
        let is_wanted = |tasks: &Vec<bool>| tasks.get(usize::from(task)).copied().unwrap_or(false);
        query.agents.is_none()
            && query.outcomes.is_none()
            && query.steps.is_none()
            && self.tasks.as_ref().is_none_or(is_wanted)
    }

    /// Number of arrivals planned for these ticks. `None` when the query selects by something that
    /// is not in the plan; `Some(None)` in a closed loop, where planned is what was reported.
    pub(crate) fn planned(
        &self,
        query: &Query,
        offered: &Offered<'_>,
        ticks: Range<u32>,
    ) -> Option<Option<u64>> {
        if query.agents.is_some() || query.outcomes.is_some() || query.steps.is_some() {
            return None;
        }
        let workload = &offered.workload;
        if workload.users().is_some() {
            return Some(None);
        }
        let tick_us = query.tick_us;
        let first = |tick: u32| workload.first_at_or_after(u64::from(tick) * tick_us);
        let arrivals = first(ticks.start)..first(ticks.end);
        let Some(tasks) = &self.tasks else {
            return Some(Some(arrivals.end - arrivals.start));
        };
        let counts = workload.count_per_task(arrivals);
        let wanted = counts.iter().zip(tasks).filter(|(_, wanted)| **wanted);
        Some(Some(wanted.map(|(count, _)| count).sum()))
    }
}

/// Task and name of each call of a plan.
#[derive(Debug)]
pub(crate) struct CallPlaces {
    calls: Vec<(u16, String)>,
}

impl CallPlaces {
    pub(crate) fn of(plan: Option<&Plan>) -> Self {
        let calls = plan.into_iter().flat_map(Plan::calls);
        let place = |task: usize| u16::try_from(task).unwrap_or(u16::MAX);
        Self {
            calls: calls
                .map(|(task, step)| (place(task), step.name.clone()))
                .collect(),
        }
    }

    /// The calls of the plan.
    pub(crate) fn planned(&self) -> impl Iterator<Item = CallId> {
        let places = 0..u16::try_from(self.calls.len()).unwrap_or(u16::MAX);
        places.map(CallId::Planned)
    }

    /// The task of a call, and its name.
    pub(crate) fn of_call<'a>(&'a self, call: &'a CallId) -> (u16, &'a str) {
        match call {
            CallId::Named { task, name } => (*task, name),
            CallId::Planned(number) => {
                let known = self.calls.get(usize::from(*number));
                known.map_or((u16::MAX, ""), |(task, name)| (*task, name))
            }
        }
    }
}

//! Figures of each task and of its calls.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use loadpilot_events::answers::report::{
    ArrivalCounts, CallReport, Checks, FeedFacts, MetricsReport, Raised, TaskReport,
};
use loadpilot_events::log::outcome::DropReason;
use loadpilot_events::plan::Task;
use loadpilot_events::plan::script::Feed;

use crate::fold::arrival_counts::Accounts;
use crate::fold::project::{Projection, Window};
use crate::report::close::Closing;
use crate::report::figures::drops::dropped_for;
use crate::report::figures::generator_health::anatomy;
use crate::report::figures::percentiles::{ladder, ladders};
use crate::report::figures::streams::streams;
use crate::schedule::feed::rows_taken;
use crate::schedule::user_types::users_of_feed;
use crate::tally::call_ids::CallId;
use crate::tally::metrics::MetricSums;

/// An index in a plan as the number that rows contain.
fn number(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}

impl Closing<'_> {
    /// The feeds of a scenario, and the number of rows taken of each by the plan.
    pub(crate) fn feeds(&self, accounts: &Accounts) -> Vec<FeedFacts> {
        let of_task = |task: usize| {
            let counts = accounts.tasks.get(task);
            // Arrivals due after a stop took no rows.
            let taken = |counts: &ArrivalCounts| {
                let stopped = dropped_for(counts, DropReason::Stopped);
                counts.planned.saturating_sub(stopped)
            };
            counts.map_or(0, taken)
        };
        let facts = |feed: &Feed| FeedFacts {
            name: feed.name.clone(),
            rows: feed.rows,
            taken: rows_taken(feed, users_of_feed(self.plan, feed), of_task),
            cycles: feed.cycles,
            unique: feed.unique,
            stops: feed.stops,
        };
        self.plan.feeds().iter().map(facts).collect()
    }

    pub(crate) fn tasks(&self, accounts: &Accounts) -> Vec<TaskReport> {
        let mut first_call = 0;
        let mut tasks = Vec::with_capacity(self.plan.tasks.len());
        for (index, (task, arrivals)) in self.plan.tasks.iter().zip(&accounts.tasks).enumerate() {
            let task_number = number(index);
            let steps = first_call..first_call + task.steps.len();
            first_call = steps.end;
            let arrivals = ArrivalCounts {
                sessions: None,
                ..arrivals.clone()
            };
            tasks.push(self.task((task_number, task), arrivals, steps));
        }
        tasks
    }

    fn task(
        &self,
        (task_number, task): (u16, &Task),
        arrivals: ArrivalCounts,
        steps: Range<usize>,
    ) -> TaskReport {
        let tasks = task_number..task_number + 1;
        let is_own = self.calls_of(&tasks);
        let all = self.sum(|call, _| is_own(call));
        let failed = self.sum(|call, outcome| is_own(call) && outcome.is_error());
        let raises = self.raises(&tasks);
        let planned = task.steps.iter().zip(steps.clone());
        let planned = planned.map(|(step, n)| (step.name.as_str(), CallId::Planned(number(n))));
        let named = self.named(task_number);
        let named = named.iter().map(|(name, call)| (&**name, call.clone()));
        TaskReport {
            name: task.name.clone(),
            weight: task.weight,
            arrivals,
            errors: failed.count + raises.more_errors(),
            finished: all.count + raises.without_call,
            task_raises: (!raises.is_none()).then_some(raises),
            unconnected: self.unconnected(&is_own),
            response: ladder(&all.response),
            service: ladder(&all.service),
            streams: streams(&anatomy(self.data, &is_own)),
            checks: self.checks(&tasks),
            metrics: self.metrics(&tasks),
            raised: raised(self.data, task_number),
            calls: planned
                .chain(named)
                .map(|(name, call)| self.call(name, &call))
                .collect(),
        }
    }

    /// Whether a call is one of some consecutive tasks.
    pub(crate) fn calls_of(&self, tasks: &Range<u16>) -> impl Fn(&CallId) -> bool {
        let steps = |tasks: &[Task]| tasks.iter().map(|task| task.steps.len()).sum::<usize>();
        let (first, end) = (usize::from(tasks.start), usize::from(tasks.end));
        let before = steps(&self.plan.tasks[..first]);
        let steps = before..before + steps(&self.plan.tasks[first..end]);
        let tasks = tasks.clone();
        move |call| match call {
            CallId::Planned(number) => steps.contains(&usize::from(*number)),
            CallId::Named { task, .. } => tasks.contains(task),
        }
    }

    /// The calls that a task made in Python, by name.
    fn named(&self, task: u16) -> BTreeMap<Arc<str>, CallId> {
        let calls = self.data.calls.keys().map(|(_, call, _)| call);
        let named = calls.filter_map(|call| match call {
            CallId::Named { task: of, name } if *of == task => Some((name.clone(), call.clone())),
            _ => None,
        });
        named.collect()
    }

    /// The checks of some tasks; `None` when no check was called.
    pub(crate) fn checks(&self, of: &Range<u16>) -> Option<Checks> {
        let mut checks = Checks::default();
        for sums in self.measured_sums_of(of) {
            checks.passed += sums.checks.passed;
            checks.failed += sums.checks.failed;
        }
        (checks != Checks::default()).then_some(checks)
    }

    /// The own metrics of some tasks.
    pub(crate) fn metrics(&self, of: &Range<u16>) -> Option<MetricsReport> {
        let mut sums = MetricSums::default();
        for ((window, task), more) in &self.data.metrics {
            if *window == Window::Measured && of.contains(task) {
                sums.add(more);
            }
        }
        sums.report(self.measured_us())
    }

    fn call(&self, name: &str, wanted: &CallId) -> CallReport {
        let sums = self.sum(|call, _| call == wanted);
        let anatomy = self.data.anatomy.get(&(Window::Measured, wanted.clone()));
        CallReport {
            name: name.to_owned(),
            counts: self.call_counts(|call| call == wanted),
            response: ladder(&sums.response),
            service: ladder(&sums.service),
            status: sums.status,
            anatomy: anatomy.map(ladders).unwrap_or_default(),
        }
    }
}

/// Errors that a task raised in Python, the most frequent first.
pub(crate) fn raised(data: &Projection, task: u16) -> Vec<Raised> {
    let of_task = data.raised.iter().filter(|((of, ..), _)| *of == task);
    let mut raised: Vec<Raised> = of_task
        .map(|(key, &count)| Raised {
            by: key.1,
            text: key.2.clone(),
            count,
            trace: data.traces.get(key).cloned(),
        })
        .collect();
    raised.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.text.cmp(&b.text)));
    raised
}

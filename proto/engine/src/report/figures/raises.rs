//! Figures that the second version of the rules counts: tasks that raised an error, and arrivals
//! that were not started.
//!
//! Must never change a figure of a run that is judged by the first version.

use std::ops::{Range, RangeBounds};

use loadpilot_events::log::delta::TaskRaises;
use loadpilot_events::log::outcome::{DropReason, Outcome};
use loadpilot_events::plan::script::RaisedBy;
use loadpilot_events::rules::Rules;

use crate::fold::arrival_counts::Accounts;
use crate::fold::project::Window;
use crate::report::close::Closing;
use crate::tally::aggregates::ArrivalSums;
use crate::tally::call_ids::CallId;
use crate::tally::ratio::percent;

impl Closing<'_> {
    /// Arrivals of the measured time whose task raised, of some tasks; none by the first version of
    /// the rules.
    pub(crate) fn raises(&self, of: &Range<u16>) -> TaskRaises {
        let mut recorded = TaskRaises::default();
        if self.rules == Rules::V1 {
            return recorded;
        }
        for sums in self.measured_sums_of(of) {
            recorded.add(sums.raises);
        }
        if self.control.rules() >= Rules::V2 {
            return recorded;
        }
        let tasks = 0..u16::try_from(self.plan.tasks.len()).unwrap_or(u16::MAX);
        let mut sum = TaskRaises::default();
        for one in tasks.filter(|one| of.contains(one)) {
            sum.add(self.proven_raises(one));
        }
        sum
    }

    /// The arrivals of the measured time of each of some tasks.
    pub(crate) fn measured_sums_of(&self, of: &Range<u16>) -> impl Iterator<Item = &ArrivalSums> {
        let sums = self.measured_sums.range(of.clone());
        sums.map(|(_, sums)| sums)
    }

    /// Arrivals of some due ticks whose task raised, as agents counted them.
    pub(crate) fn raises_in(&self, ticks: impl RangeBounds<u32>) -> TaskRaises {
        let mut sum = TaskRaises::default();
        if self.rules == Rules::V1 {
            return sum;
        }
        for (.., more) in self.data.arrivals.range(ticks) {
            sum.add(more.raises);
        }
        sum
    }

    /// Minimum number of arrivals that raised without a failed call, in a log whose agents counted
    /// only task errors and error texts: a task error without a failed call, as long as a text is
    /// left for it.
    fn proven_raises(&self, task: u16) -> TaskRaises {
        let counted = self.measured_sums.get(&task);
        let task_errors = counted.map_or(0, |sums| sums.task_errors);
        let mut sum = counted.map_or(TaskRaises::default(), |sums| sums.raises);
        let first_call: usize = self.plan.tasks[..usize::from(task)]
            .iter()
            .map(|task| task.steps.len())
            .sum();
        let steps = self.plan.tasks[usize::from(task)].steps.len();
        let is_own = |call: &CallId| match call {
            CallId::Planned(number) => {
                (first_call..first_call + steps).contains(&usize::from(*number))
            }
            CallId::Named { task: of, .. } => *of == task,
        };
        let (mut ok, mut others) = (0, 0);
        for ((window, call, outcome), calls) in &self.data.calls {
            if *window == Window::Measured && is_own(call) {
                match outcome {
                    Outcome::Ok => ok += calls.count,
                    _ => others += calls.count,
                }
            }
        }
        let texts = self.data.raised.iter();
        let texts = texts.filter(|((of, by, _), _)| *of == task && *by == RaisedBy::Task);
        let raised_with_text: u64 = texts.map(|(_, count)| count).sum();
        let unexplained = task_errors.saturating_sub(others);
        let more = unexplained
            .min(raised_with_text)
            .saturating_sub(sum.more_errors());
        let after_ok = more.min(ok);
        sum.after_ok += after_ok;
        sum.without_call += more - after_ok;
        sum
    }

    /// Shortfall of started against planned arrivals of the measured time, in percent. The second
    /// version of the rules leaves out what users called off: paused arrivals, those that waited at
    /// the stop, and the tick of the stop.
    pub(crate) fn shortfall_pct(&self, accounts: &Accounts, planned: u64, started: u64) -> f64 {
        let scheduled = self.rules >= Rules::V2 && self.plan.users.is_none();
        if !scheduled {
            return percent(planned.saturating_sub(started), planned);
        }
        let stop = self.control.stopped_at_us();
        let end = stop.map_or(u32::MAX, |us| self.workload.tick_of(us));
        let ticks = self.measured.start..self.measured.end.min(end);
        let (mut wanted, mut started) = (0, 0);
        for (&tick, account) in accounts
            .ticks
            .iter()
            .filter(|(tick, _)| ticks.contains(tick))
        {
            let rows = self.data.arrivals.range(tick..=tick);
            let called_off = rows.map(|(.., sums)| {
                let dropped = |reason| sums.dropped.get(&reason).copied().unwrap_or(0);
                dropped(DropReason::Paused) + dropped(DropReason::Stopped)
            });
            wanted += account.planned.saturating_sub(called_off.sum());
            started += account.started;
        }
        percent(wanted.saturating_sub(started), wanted)
    }
}

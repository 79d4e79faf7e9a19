//! Figures of each user type of a mix: those of its tasks together.

use std::ops::Range;

use loadpilot_events::answers::report::{ArrivalCounts, UserTypeReport};
use loadpilot_events::log::delta::SessionCounts;
use loadpilot_events::plan::user_types::UserType;

use crate::fold::arrival_counts::Accounts;
use crate::report::close::Closing;
use crate::report::figures::generator_health::anatomy;
use crate::report::figures::percentiles::ladder;
use crate::report::figures::streams::streams;
use crate::schedule::user_types::users_of_types;

impl Closing<'_> {
    pub(crate) fn types(&self, accounts: &Accounts) -> Vec<UserTypeReport> {
        let users = users_of_types(self.plan);
        let types = self.plan.tasks_of_types().zip(users);
        types
            .map(|((one, tasks), users)| self.user_type(accounts, one, &tasks, users))
            .collect()
    }

    fn user_type(
        &self,
        accounts: &Accounts,
        one: &UserType,
        tasks: &Range<u16>,
        users: u32,
    ) -> UserTypeReport {
        let is_own = self.calls_of(tasks);
        let all = self.sum(|call, _| is_own(call));
        let failed = self.sum(|call, outcome| is_own(call) && outcome.is_error());
        let raises = self.raises(tasks);
        let places = usize::from(tasks.start)..usize::from(tasks.end);
        let of_tasks = accounts.tasks.get(places.clone()).into_iter().flatten();
        let of_type = ArrivalCounts {
            sessions: one.session.map(|_| SessionCounts::default()),
            ..ArrivalCounts::default()
        };
        let named = self.plan.tasks.get(places).into_iter().flatten();
        UserTypeReport {
            name: one.name.clone(),
            share: one.share,
            users: self.plan.users.map(|_| users),
            rest: one.rest,
            session: one.session,
            tasks: named.map(|task| task.name.clone()).collect(),
            arrivals: of_tasks.fold(of_type, with),
            errors: failed.count + raises.more_errors(),
            finished: all.count + raises.without_call,
            unconnected: self.unconnected(&is_own),
            task_raises: (!raises.is_none()).then_some(raises),
            response: ladder(&all.response),
            service: ladder(&all.service),
            streams: streams(&anatomy(self.data, &is_own)),
            checks: self.checks(tasks),
            metrics: self.metrics(tasks),
        }
    }
}

/// The sum of counts of different tasks.
fn with(mut sum: ArrivalCounts, more: &ArrivalCounts) -> ArrivalCounts {
    sum.planned += more.planned;
    sum.started += more.started;
    for (&reason, count) in &more.dropped {
        *sum.dropped.entry(reason).or_default() += count;
    }
    sum.lost += more.lost;
    sum.waiting += more.waiting;
    sum.task_errors += more.task_errors;
    if let (Some(sum), Some(more)) = (&mut sum.sessions, more.sessions) {
        sum.add(more);
    }
    sum
}

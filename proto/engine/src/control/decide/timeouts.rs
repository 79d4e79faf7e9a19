//! How long holders of a run may take: to get ready for it, and to bring to an end what they
//! started. Pure arithmetic over the plan; must never be shorter than what the plan allows a call.

use loadpilot_events::id::Holder;
use loadpilot_events::plan::Plan;
use loadpilot_events::units::Timestamp;

use crate::control::decide::Run;

/// What each byte of the bodies beside a plan adds to the time for getting ready, in µs: a store
/// that hands out less than 1 MB/s to an agent is too slow for them.
pub const OBJECT_BYTE_US: u64 = 1;
/// So much longer may it take when users of a scenario in Python are prepared, in µs.
const USERS_US: u64 = 60_000_000;
/// And so much longer for each of them: they are prepared several at a time.
const USER_US: u64 = 100_000;
/// A run that an earlier stack left waits so long, in µs, for the agents of this one to say whether
/// they found anything of it.
const HEIRS_US: u64 = 3_000_000;

/// So many time-outs of a call an arrival of a task in Python may take; its agent ends it then.
pub const SCRIPT_TIMEOUTS: u64 = 10;

/// The longest that an arrival can take from its due time to its end, in µs.
pub(crate) fn longest_arrival_us(plan: &Plan) -> u64 {
    let steps = |task: &loadpilot_events::plan::Task| -> u64 {
        task.steps
            .iter()
            .map(|step| step.timeout_us.unwrap_or(plan.timeout_us))
            .sum()
    };
    let calls_us = match plan.scenario_users() {
        // Nobody knows how many calls a task makes that looks at answers.
        // One more, for the call that is in flight when its time is up.
        Some(_) => (SCRIPT_TIMEOUTS + 1) * plan.timeout_us,
        None => plan.tasks.iter().map(steps).max().unwrap_or(0),
    };
    plan.max_wait_us + calls_us
}

impl Run<'_> {
    /// How long fetching the bodies of the plan may take, in µs.
    pub(crate) fn fetch_us(&self) -> u64 {
        self.created.plan.objects_bytes() * OBJECT_BYTE_US
    }

    /// How long a holder may take to get ready, in µs.
    pub(crate) fn readiness_us(&self) -> u64 {
        let users = self.created.plan.scenario_users().map(u64::from);
        let users_us = users.map_or(0, |users| USERS_US + users * USER_US);
        self.policy.ready_us + self.fetch_us() + users_us
    }

    /// When the wait for what killed agents left is over: for those that nobody has asked about
    /// yet, and for all.
    pub(crate) fn tails_by(&self) -> [Timestamp; 2] {
        let since = self.hearing.since;
        [
            since.plus_us(HEIRS_US),
            since.plus_us(self.policy.finish_us),
        ]
    }

    /// Whether something may still come of what killed agents left of a run that is left over.
    pub(crate) fn awaits_tails(&self) -> bool {
        let [heirs_by, all_by] = self.tails_by();
        let state = self.state;
        let is_owed = |holder: &&Holder| {
            !state.finished.contains_key(holder) && !state.tails.contains_key(holder)
        };
        let may_come = |holder: &Holder| {
            self.is_recovered(holder) || self.clock < heirs_by && !self.was_replaced(holder)
        };
        let mut owed = state.ever_held.iter().filter(is_owed);
        state.start.is_some() && self.clock < all_by && owed.any(may_come)
    }
}

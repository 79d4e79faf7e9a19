//! Time limits for the holders of a run: to get ready, and to end what they started. Pure
//! arithmetic over the plan; a limit must never be shorter than what the plan allows a call.

use loadpilot_events::plan::{Plan, Step, Task};

/// Time, in µs, that each byte of the bodies beside a plan adds to the time for getting ready: this
/// requires 1 MB/s to each agent, and from the disk that holds a file of rows.
pub const OBJECT_BYTE_US: u64 = 1;
/// Additional time, in µs, when users of a scenario in Python are prepared.
const USERS_US: u64 = 60_000_000;
/// Additional time, in µs, for each of these users: several are prepared at a time.
const USER_US: u64 = 100_000;
/// Maximum duration of an arrival of a task in Python, as a number of time-outs of a call. The
/// agent ends it then.
pub const SCRIPT_TIMEOUTS: u64 = 10;

/// The maximum time, in µs, from the due time of an arrival to its end.
pub(crate) fn longest_arrival_us(plan: &Plan) -> u64 {
    let steps = |task: &Task| -> u64 {
        let of_step = |step: &Step| step.timeout_us.unwrap_or(plan.timeout_us);
        let timeouts = task.steps.iter().map(of_step);
        match plan.requests {
            // An arrival performs one of them.
            Some(_) => timeouts.max().unwrap_or(0),
            None => timeouts.sum(),
        }
    };
    let calls_us = match plan.scenario_users() {
        // The number of calls of such a task is unknown. One more time-out, for the call in flight
        // when the limit is reached.
        Some(_) => (SCRIPT_TIMEOUTS + 1) * plan.timeout_us,
        None => plan.tasks.iter().map(steps).max().unwrap_or(0),
    };
    plan.max_wait_us + calls_us
}

/// Time for fetching the bodies of the plan, in µs, and for checking files of rows that are not
/// fetched.
pub(crate) fn fetch_us(plan: &Plan) -> u64 {
    let files = plan.row_files().filter(|file| !file.is_stored());
    let unfetched = files.fold(0_u64, |sum, file| sum.saturating_add(file.content.bytes));
    let fetched = plan.objects_bytes();
    fetched
        .saturating_add(unfetched)
        .saturating_mul(OBJECT_BYTE_US)
}

/// Time for a holder to get ready, in µs; `ready_us` is the time without bodies and users.
pub(crate) fn readiness_us(plan: &Plan, ready_us: u64) -> u64 {
    let users = plan.scenario_users().map(u64::from);
    let users_us = users.map_or(0, |users| USERS_US + users * USER_US);
    ready_us + fetch_us(plan) + users_us
}

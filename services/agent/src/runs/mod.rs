//! One run on this agent, from its assignment to its last event. One task, the [`worker`], owns the
//! run: it receives the commands as a state and shares its counts with no other task.
//!
//! - [`run_commands`], `assignment`: commands to a worker, and its run
//! - `prepare`, `preflight`, [`secrets`], [`bodies`], `row_files`, [`clock`]: from the assignment
//!   to ready
//! - `firing`, `cores`: from the start to the last delta
//! - `reports`, [`outbox`]: deltas, from counts to the acknowledgement
//! - [`event_publisher`], `envelope`: this agent's events
//! - `recovery`: reports the counts of killed processes

mod assignment;
pub mod bodies;
pub mod clock;
mod cores;
pub(crate) mod envelope;
pub mod event_publisher;
mod firing;
pub mod outbox;
mod preflight;
mod prepare;
pub(crate) mod recovery;
mod reports;
mod row_files;
pub mod run_commands;
pub mod secrets;
mod worker;

use std::time::Duration;

use loadpilot_events::Plan;

pub use assignment::Assignment;
pub use reports::phase_us;
pub use worker::work;

/// Timeout for users to clean up.
const RETIRE_TIMEOUT: Duration = Duration::from_secs(12);

/// Maximum time from the stop of a run to its end here.
#[must_use]
pub fn longest_end(plan: &Plan) -> Duration {
    let retire = plan
        .scenario_users()
        .map_or(Duration::ZERO, |_| RETIRE_TIMEOUT);
    longest_timeout(plan) + retire
}

/// Longest timeout of a call of `plan`.
#[must_use]
pub fn longest_timeout(plan: &Plan) -> Duration {
    let timeouts = plan.calls().filter_map(|(_, step)| step.timeout_us);
    Duration::from_micros(timeouts.fold(plan.timeout_us, u64::max))
}

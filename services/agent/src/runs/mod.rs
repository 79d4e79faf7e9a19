//! One run on this agent, from its assignment to the last words: [`prepare`], then [`worker`].
//!
//! Each run has one task that owns everything about it; it hears orders as a state and never
//! shares what it counts.

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
pub mod run_commands;
pub mod secrets;
mod worker;

use std::time::Duration;

use loadpilot_events::Plan;

pub use reports::phase_us;
pub use worker::{Assignment, work};

/// Users are given so long to clean up, and a little more.
const RETIRE_TIMEOUT: Duration = Duration::from_secs(12);

/// So long may it take until a run has ended here that was stopped.
#[must_use]
pub fn longest_end(plan: &Plan) -> Duration {
    let farewell = plan
        .scenario_users()
        .map_or(Duration::ZERO, |_| RETIRE_TIMEOUT);
    longest_timeout(plan) + farewell
}

/// So long may one call of `plan` be in flight.
#[must_use]
pub fn longest_timeout(plan: &Plan) -> Duration {
    let own = plan.calls().filter_map(|(_, step)| step.timeout_us);
    Duration::from_micros(own.fold(plan.timeout_us, u64::max))
}

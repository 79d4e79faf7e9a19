//! One run on this agent, from its assignment to the last words: [`prepare`], then [`worker`].
//!
//! Each run has one task that owns everything about it; it hears orders as a state and never
//! shares what it counts.

mod cores;
mod firing;
mod preflight;
mod prepare;
mod reports;
mod worker;

use std::time::Duration;

use loadpilot_events::Plan;

pub use worker::{Assignment, work};

/// So long may one call of `plan` be in flight.
#[must_use]
pub fn longest_timeout(plan: &Plan) -> Duration {
    let own = plan.calls().filter_map(|(_, step)| step.timeout_us);
    Duration::from_micros(own.fold(plan.timeout_us, u64::max))
}

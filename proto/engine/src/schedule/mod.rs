//! Which arrivals a run has, when each is due and what it draws: pure functions of plan and seed.
//!
//! [`pace`] turns the rate into due times, [`share`] selects the arrivals of one agent,
//! [`workload`] joins both; [`feed`] and [`random`] give an arrival its data.

pub mod feed;
pub mod hash;
pub mod pace;
pub mod random;
pub mod rate_change;
pub mod share;
pub mod workload;

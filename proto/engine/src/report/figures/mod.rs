//! The figures of a report, part by part.
//!
//! - [`percentiles`]: the only place that reads a percentile
//! - `latency`, `streams`: how long calls took, and where the time went
//! - [`load_curve`]: latency by level of the load, and the knee
//! - `tasks`, `user_types`: figures of each task and of each user type, by `task_range`
//! - `raises`: figures of the errors that tasks raised
//! - `drops`: dropped arrivals by reason
//! - `held_rate`: the rate that a run held
//! - `rows_end`: the end of a run by a feed
//! - `generator_health`, `holders`: figures of the generator and of its processes

pub mod load_curve;
pub mod percentiles;

mod latency;
pub(crate) mod streams;

mod raises;
pub(crate) mod task_range;
pub(crate) mod tasks;
mod user_types;

pub(crate) mod drops;
pub(crate) mod held_rate;
pub(crate) mod rows_end;

pub(crate) mod generator_health;
pub(crate) mod holders;

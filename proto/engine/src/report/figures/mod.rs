//! The figures of a report, part by part.
//!
//! - [`percentiles`]: the only place that reads a percentile
//! - `latency`, `streams`: how long calls took, and where the time went
//! - [`load_curve`]: latency by level of the load, and the knee
//! - `tasks`, `raises`: figures of each task and of the errors that it raised
//! - `drops`: dropped arrivals by reason
//! - `rows_end`: the end of a run by a feed
//! - `generator_health`, `holders`: figures of the generator and of its processes

pub mod load_curve;
pub mod percentiles;

mod latency;
pub(crate) mod streams;

mod raises;
pub(crate) mod tasks;

pub(crate) mod drops;
pub(crate) mod rows_end;

pub(crate) mod generator_health;
pub(crate) mod holders;

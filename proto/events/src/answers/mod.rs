//! Answers computed from a log: the report, the live view and answers to questions about a run.
//!
//! - [`report`]: the closed report of a run
//! - [`arrival_counts`]: arrivals by their result
//! - [`certificate`]: whether the figures can be trusted
//! - [`latency`]: percentiles, corrected and uncorrected
//! - [`load_curve`]: latency by level of the load, and the knee
//! - [`streams`]: streamed responses
//! - [`user_types`]: results of the user types of a mix
//! - [`generator_health`]: load of the generator itself
//! - [`gaps`]: lost, excess and late data
//! - [`timeline`]: decisions and facts as text
//! - [`live`]: the live view
//! - [`slice`]: a part of a run, its series and heat map
//! - [`failures`]: errors of a part of a run
//! - [`agent_stats`]: agents of a run over time
//! - [`what_if`]: the verdict by other thresholds
//! - [`compare`]: a run beside earlier ones
//! - [`annotations`]: notes about a run

pub mod agent_stats;
pub mod annotations;
pub mod arrival_counts;
pub mod certificate;
pub mod compare;
pub mod failures;
pub mod gaps;
pub mod generator_health;
pub mod latency;
pub mod live;
pub mod load_curve;
pub mod report;
pub mod slice;
pub mod streams;
pub mod timeline;
pub mod user_types;
pub mod what_if;

//! What is computed from a log: the report, the live view and the answers to questions about a run.

pub mod agent_stats;
pub mod certificate;
pub mod failures;
pub mod gaps;
pub mod generator_health;
pub mod latency;
pub mod live;
pub mod report;
pub mod slice;
pub mod streams;
pub mod timeline;
pub mod what_if;

//! What the log stores: requests, decisions, agents' events and deltas, each in an envelope.
//!
//! The stored forms are a contract (`proto/schema`, `proto/golden`): a change is a new version.

pub mod assign;
pub mod cause;
pub mod ctl;
pub mod delta;
pub mod envelope;
pub mod evt;
pub mod exchange;
pub mod hist;
pub mod metrics;
pub mod outcome;
pub mod req;
pub mod samples;
pub mod shards;
pub mod start;
pub mod steer;
pub mod teardown;

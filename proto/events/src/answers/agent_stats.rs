//! Who generated the load of a run, and how each fared over time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::report::HolderFacts;
use crate::id::{AgentId, RunId};

/// The agents of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attendance {
    /// Of which run.
    pub run: RunId,
    /// The grain of the lists below in µs.
    pub bucket_us: u64,
    /// Where each bucket begins, in µs after the start.
    pub from_us: Vec<u64>,
    /// By name.
    pub agents: Vec<AgentOverTime>,
}

/// One agent. Each list has one value a bucket, null where it reported nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentOverTime {
    /// Its name.
    pub agent: AgentId,
    /// How many cores it offered last.
    pub cores: Option<u32>,
    /// The version of its program, as it said last.
    pub version: Option<String>,
    /// Its processes that held shards.
    pub holders: Vec<HolderFacts>,
    /// Arrivals started, by due time.
    pub started: Vec<u64>,
    /// Calls finished, by due time.
    pub finished: Vec<u64>,
    /// The most CPU time that a process of it used, in thousandths of one core.
    pub cpu_millicores: Vec<Option<u64>>,
    /// The most that a firing thread used, in thousandths of its core.
    pub busiest_core_permille: Vec<Option<u64>>,
    /// The longest that a firing thread was late for its own timer, in µs.
    pub stall_us: Vec<Option<u64>>,
    /// The most arrivals in flight at the end of a tick.
    pub in_flight: Vec<Option<u64>>,
    /// 99th percentile of the schedule lag in µs, by due time.
    pub lag_p99_us: Vec<Option<u64>>,
}

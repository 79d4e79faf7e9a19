//! Agents that generated the load of a run, and their load over time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::report::HolderFacts;
use crate::id::{AgentId, RunId};

/// Agents of a run over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attendance {
    /// Id of the run.
    pub run: RunId,
    /// Length of a bucket in µs.
    pub bucket_us: u64,
    /// Begin of each bucket, in µs after the start.
    pub from_us: Vec<u64>,
    /// Agents, by name.
    pub agents: Vec<AgentOverTime>,
}

/// One agent over time. Each list has one value per bucket, null where the agent reported nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentOverTime {
    /// Name of the agent.
    pub agent: AgentId,
    /// Number of cores that it last offered.
    pub cores: Option<u32>,
    /// Version of its build, as last reported.
    pub version: Option<String>,
    /// Its processes that held shards.
    pub holders: Vec<HolderFacts>,
    /// Number of arrivals started, by due time.
    pub started: Vec<u64>,
    /// Number of calls finished, by due time.
    pub finished: Vec<u64>,
    /// Maximum CPU use of one of its processes, in thousandths of one core.
    pub cpu_millicores: Vec<Option<u64>>,
    /// Maximum CPU use of a firing thread, in thousandths of its core.
    pub busiest_core_permille: Vec<Option<u64>>,
    /// Longest delay of a firing thread behind its own timer, in µs.
    pub stall_us: Vec<Option<u64>>,
    /// Maximum number of arrivals in flight at the end of a tick.
    pub in_flight: Vec<Option<u64>>,
    /// 99th percentile of the schedule lag in µs, by due time.
    pub lag_p99_us: Vec<Option<u64>>,
}

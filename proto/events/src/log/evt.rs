//! Facts that one agent states about itself in one run. Subject `….evt.<agent>`.
//!
//! The last token of the subject names the agent; the payload only adds the process.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::BootId;
use crate::log::assign::Generation;
use crate::log::delta::Totals;
use crate::log::start::ClockEstimate;
use crate::units::{Rate, Timestamp};

/// One fact and the process that states it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// Process of the agent.
    pub boot_id: BootId,
    /// What the process states.
    pub what: What,
}

/// What an agent may state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub enum What {
    /// The agent can take part: a reservation that expires.
    CapacityOffered(CapacityOffered),
    /// The agent has everything that its shards require.
    ShardsReady(ShardsReady),
    /// The agent reached the start.
    ShardsStarted(ShardsStarted),
    /// The agent will send nothing more for this run, neither requests nor deltas.
    ShardsFinished(ShardsFinished),
    /// The agent cannot perform its shards.
    ShardsFailed(ShardsFailed),
    /// The operator ends the agent, which serves its shards until others take them over.
    AgentLeaving,
    /// The agent fenced itself because it had lost control.
    IsolationStop(IsolationStop),
    /// The process was killed, and a later process of its agent has reported its tail. The only
    /// fact that one process states about another.
    TailReported(TailReported),
}

/// The agent can take part: a reservation that expires.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityOffered {
    /// Free capacity of the agent.
    pub rate: Rate,
    /// Number of firing threads.
    pub cores: u32,
    /// End of the offer.
    pub expires: Timestamp,
    /// Version of the agent's build.
    pub version: String,
}

/// The agent has everything that its shards require.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardsReady {
    /// Number of the assignment.
    pub generation: Generation,
    /// Offset of its clock from the coordinator's.
    pub clock: ClockEstimate,
    /// Maximum number of arrivals that it will have in flight.
    pub max_in_flight: u32,
}

/// The agent reached the start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardsStarted {
    /// Number of the assignment.
    pub generation: Generation,
}

/// Why a holder finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The profile is over.
    Completed,
    /// The run was stopped.
    Stopped,
    /// Other holders took over its shards.
    Superseded,
    /// The operator ended the agent.
    Left,
    /// The agent had lost control.
    Isolated,
}

/// The agent will send nothing more for this run, neither requests nor deltas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardsFinished {
    /// Why the holder finished.
    pub reason: FinishReason,
    /// Sequence number of its last delta; 0 when it sent none.
    pub final_seq: u64,
    /// Everything that it counted in the run.
    pub totals: Totals,
    /// For how many users `on_stop` failed, with the first error, as text for people. Absent: for
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_stop_failed: Option<String>,
}

/// Why a holder cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// The preparation failed: secrets, requests or threads.
    NotPrepared,
    /// The Python scenario cannot be loaded, or the preparation of its users failed.
    Scenario,
    /// Its firing threads failed.
    Broken,
    /// The log stores no more deltas: the run must end, on every agent.
    LogFull,
    /// The log refuses a delta for another reason.
    LogRefuses,
}

/// The agent cannot perform its shards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardsFailed {
    /// Number of the assignment.
    pub generation: Generation,
    /// Kind of the failure.
    pub cause: FailureCause,
    /// Why, as text for people.
    pub reason: String,
}

/// The agent fenced itself because it had lost control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IsolationStop {
    /// When, by the agent's own clock.
    pub fenced_at: Timestamp,
    /// Stream sequence of the last control event that it had seen.
    pub ctl_seq: u64,
    /// Why, as text for people.
    pub reason: String,
}

/// The tail of a killed process, reported by a later process of its agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TailReported {
    /// Sequence number of its last delta; 0 when it sent none.
    pub final_seq: u64,
    /// Everything that it counted in the run.
    pub totals: Totals,
    /// Number of its calls that were in flight when it was killed; part of `totals`.
    pub indeterminate: u64,
    /// What could not be read. Absent: its deltas contain everything that it counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<TailLost>,
}

/// Interval in which a killed process may have counted more than was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TailLost {
    /// Begin, in µs after the start: the end of its last complete delta.
    pub from_us: u64,
    /// Last sign of life of the process, in µs after the start.
    pub to_us: u64,
    /// Why, as text for people.
    pub reason: String,
}

//! Facts that one agent states about itself in one run. Subject `….evt.<agent>`.
//!
//! Who states them is the subject's last token; a payload only adds which process of it.

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
    /// Which process of the agent.
    pub boot_id: BootId,
    /// What it states.
    pub what: What,
}

/// What an agent may state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub enum What {
    /// It could take part: a reservation that expires.
    CapacityOffered(CapacityOffered),
    /// It has everything it needs for its shards.
    ShardsReady(ShardsReady),
    /// It reached the start.
    ShardsStarted(ShardsStarted),
    /// It will send nothing more for this run, neither requests nor deltas.
    ShardsFinished(ShardsFinished),
    /// It cannot do its shards.
    ShardsFailed(ShardsFailed),
    /// Its operator ends it; it drains.
    AgentLeaving,
    /// It stopped by itself because it had lost control.
    IsolationStop(IsolationStop),
    /// It was killed, and a later process of its agent has reported what it left. The only fact
    /// that one process states for another.
    TailReported(TailReported),
}

/// It could take part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityOffered {
    /// What it still has to give.
    pub rate: Rate,
    /// Threads that fire requests.
    pub cores: u32,
    /// The offer is void after this instant.
    pub expires: Timestamp,
    /// The product's version.
    pub version: String,
}

/// It has everything it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardsReady {
    /// For which assignment.
    pub generation: Generation,
    /// How far its clock is from the coordinator's.
    pub clock: ClockEstimate,
    /// Most arrivals it will have in flight.
    pub max_in_flight: u32,
}

/// It reached the start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardsStarted {
    /// For which assignment.
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
    /// Its shards went to others.
    Superseded,
    /// Its operator ended it.
    Left,
    /// It had lost control.
    Isolated,
}

/// It will send nothing more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardsFinished {
    /// Why.
    pub reason: FinishReason,
    /// Its last delta's sequence number.
    pub final_seq: u64,
    /// What it counted in all.
    pub totals: Totals,
}

/// Why a holder cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// It could not get ready: secrets, requests or threads.
    NotPrepared,
    /// The scenario cannot be loaded in Python, or its users could not be prepared.
    Scenario,
    /// Its firing threads broke down.
    Broken,
    /// The log takes no more deltas: the run must end, whoever fires.
    LogFull,
    /// The log refuses a delta for another reason.
    LogRefuses,
}

/// It cannot do its shards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardsFailed {
    /// For which assignment.
    pub generation: Generation,
    /// Why.
    pub cause: FailureCause,
    /// Why, for people to read.
    pub reason: String,
}

/// It stopped by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IsolationStop {
    /// When, by its own clock.
    pub fenced_at: Timestamp,
    /// The last control event it had seen, as a stream sequence.
    pub ctl_seq: u64,
    /// Why, for people to read.
    pub reason: String,
}

/// A later process has reported what this one left when it was killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TailReported {
    /// Its last delta's sequence number.
    pub final_seq: u64,
    /// What it counted in all.
    pub totals: Totals,
    /// Calls that were in flight when it was killed, among them.
    pub indeterminate: u64,
    /// What could not be read; absent: everything that it counted is in its deltas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<TailLost>,
}

/// A stretch of time of which a killed process may have counted more than was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TailLost {
    /// Where it begins, in µs after the start: the end of its last delta that is whole.
    pub from_us: u64,
    /// Its last sign of life, in µs after the start.
    pub to_us: u64,
    /// Why, for people to read.
    pub reason: String,
}

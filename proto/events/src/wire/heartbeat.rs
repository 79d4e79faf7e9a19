//! Heartbeats and their replies. Core NATS only, never stored.
//!
//! The reply is the one path by which a late or returning agent gets the control events that it
//! lacks: agents have no consumer of their own.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{BootId, RunId, TenantId};
use crate::log::cause::Cause;
use crate::log::ctl::Decision;
use crate::log::envelope::Envelope;
use crate::plan::capability::Capability;
use crate::units::Timestamp;

/// Sign of life, on `….hb.<agent or owner>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Heartbeat {
    /// Heartbeat of an agent.
    Agent(AgentBeat),
    /// Heartbeat of the owner of a run.
    Owner {
        /// Run of the owner.
        run: RunId,
    },
}

/// Heartbeat of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentBeat {
    /// Process of the agent.
    pub boot_id: BootId,
    /// Whether the agent's earlier process is known to be dead.
    pub predecessor_dead: bool,
    /// Runs that it knows, and how far it has seen each.
    pub seen: Vec<Seen>,
    /// Capabilities of the agent.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub has: BTreeSet<Capability>,
    /// Killed processes of this agent with deltas that it still has to publish.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovering: Vec<BootId>,
    /// Whether the agent accepts no further run: its whole capacity is in use, or it leaves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
    /// Runs on this agent without a call that has reached a server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreached: Vec<Unreached>,
    /// Description of the agent, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
}

/// Run without a call from one agent that has reached a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unreached {
    /// Id of the run.
    pub run: RunId,
    /// Time up to which this holds, in µs after the start.
    pub until_us: u64,
    /// Begin of the due tick of the first of these calls, in µs after the start. Absent: no call
    /// has finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_us: Option<u64>,
    /// Number of finished calls, all of which failed to connect.
    pub calls: u64,
    /// Number of these calls by cause, where the cause is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub causes: BTreeMap<Cause, u64>,
}

/// Description of an agent, for people: no decision depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct About {
    /// Name of its machine.
    pub host: String,
    /// Version of its build.
    pub version: String,
    /// Number of firing threads per run.
    pub cores: u32,
    /// Instant of this description, by the agent's own clock.
    pub at: Timestamp,
    /// CPU time used since its start, in µs; the difference of two heartbeats is the load between
    /// them.
    pub cpu_us: u64,
}

/// How far an agent has seen one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seen {
    /// Id of the run.
    pub run: RunId,
    /// Stream sequence of the last control event that it has applied.
    pub ctl_seq: u64,
}

/// Reply to an agent's heartbeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeartbeatReply {
    /// Sample of the coordinator's clock.
    pub clock: ClockSample,
    /// Control events that the agent lacks, oldest first.
    pub news: Vec<News>,
    /// Whether there are more than fit in this reply.
    pub more: bool,
}

/// Sample of the coordinator's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockSample {
    /// When the request arrived.
    pub received_at: Timestamp,
    /// When the reply was sent.
    pub replied_at: Timestamp,
    /// Maximum difference of these instants from the log's time, in µs; 0 from coordinators that do
    /// not know it.
    #[serde(default)]
    pub bound_us: u64,
}

/// One control event of one run, as stored, a `RunCreated` with its plan; on `….live.<run>` and in
/// heartbeat replies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct News {
    /// Id of the run.
    pub run: RunId,
    /// Tenant of the run, on a fleet that several tenants share. Absent: the tenant of the subject
    /// on which it comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// Stream sequence of the event.
    pub seq: u64,
    /// Stream sequence of the run's control event before it; 0 for the first. An agent that has not
    /// seen that event waits for the next heartbeat reply.
    pub previous_seq: u64,
    /// The control event.
    pub event: Envelope<Decision>,
}

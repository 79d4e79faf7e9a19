//! Heartbeats and what their replies bring. Core NATS only, never stored.
//!
//! The reply is the one path by which a late or returning agent gets the control events it lacks:
//! agents have no consumer of their own.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{BootId, RunId};
use crate::log::cause::Cause;
use crate::log::ctl::Decision;
use crate::log::envelope::Envelope;
use crate::plan::capability::Capability;
use crate::units::Timestamp;

/// A sign of life, on `….hb.<agent or owner>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Heartbeat {
    /// An agent lives.
    Agent(AgentBeat),
    /// The owner of a run lives.
    Owner {
        /// Which run it owns.
        run: RunId,
    },
}

/// An agent lives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentBeat {
    /// Which process of it.
    pub boot_id: BootId,
    /// Whether whoever started it knows that its earlier process is dead.
    pub predecessor_dead: bool,
    /// The runs it knows of and how far it has seen each.
    pub seen: Vec<Seen>,
    /// What it can do that others cannot.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub has: BTreeSet<Capability>,
    /// Killed processes of this agent of whose deltas it still has some to publish.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovering: Vec<BootId>,
    /// Whether it takes nothing more on: all that it can fire is promised to runs, or it leaves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
    /// Runs that it fires, and none of whose calls has reached a server from here yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreached: Vec<Unreached>,
    /// What it says of itself, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
}

/// A run none of whose calls has reached a server from one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unreached {
    /// Which run.
    pub run: RunId,
    /// Up to when this holds, in µs after the start.
    pub until_us: u64,
    /// The begin of the tick in which the first of these calls was due, in µs after the start;
    /// absent: no call has finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_us: Option<u64>,
    /// Finished calls, all of which failed to connect.
    pub calls: u64,
    /// Why, where that is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub causes: BTreeMap<Cause, u64>,
}

/// What an agent says of itself, for people: nothing is decided by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct About {
    /// The name of its machine.
    pub host: String,
    /// The version of its build.
    pub version: String,
    /// Threads that fire, per run.
    pub cores: u32,
    /// When this was said, by its own clock.
    pub at: Timestamp,
    /// CPU time that it has used in all, in µs: of two beats, the load between them.
    pub cpu_us: u64,
}

/// How far an agent has seen one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seen {
    /// Which run.
    pub run: RunId,
    /// The last control event it has applied, as a stream sequence.
    pub ctl_seq: u64,
}

/// The reply to an agent's heartbeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeartbeatReply {
    /// A sample of the coordinator's clock.
    pub clock: ClockSample,
    /// What the agent lacks, oldest first.
    pub news: Vec<News>,
    /// Whether there is more than fitted.
    pub more: bool,
}

/// A sample of the coordinator's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockSample {
    /// When the request arrived.
    pub received_at: Timestamp,
    /// When the reply left.
    pub replied_at: Timestamp,
    /// The log's time is within this many µs of what is said; 0 from those who do not know.
    #[serde(default)]
    pub bound_us: u64,
}

/// One control event of one run, as stored; on `….live.<run>` and in heartbeat replies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct News {
    /// Which run.
    pub run: RunId,
    /// Its stream sequence.
    pub seq: u64,
    /// The sequence of the control event of this run before it; 0 for the first. An agent that has
    /// not seen that one waits for the next heartbeat reply.
    pub previous_seq: u64,
    /// What was decided.
    pub event: Envelope<Decision>,
}

//! Decisions of coordinators about one run, in total order. Subject `….ctl`.
//!
//! `decide` writes its input from clocks and heartbeats into the event, so that a fold of the log
//! needs neither.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::defaults::is_default;
use crate::id::{Holder, OwnerId, TenantId};
use crate::log::admission::RunQueued;
use crate::log::assign::{AgentsWanted, Generation, Holding, Loss};
use crate::log::cause::Cause;
use crate::log::delta::Totals;
use crate::log::steer::{Paused, RateChanged, Resumed, SteeringRefused};
use crate::plan::Plan;
use crate::plan::capability::Capability;
use crate::refusal::Problem;
use crate::rules::Rules;
use crate::units::{Rate, Timestamp};

/// Decision about one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub enum Decision {
    /// The run waits until the shared fleet admits it.
    RunQueued(RunQueued),
    /// The run exists: its request was valid.
    RunCreated(Box<RunCreated>),
    /// The request was invalid, or no agent could serve it. Nothing was started.
    RunRefused(RunRefused),
    /// Shards have holders: generation 1.
    ShardsAssigned(ShardsAssigned),
    /// All holders are ready, and the start instant is fixed.
    StartScheduled(StartScheduled),
    /// The run will not start.
    StartCancelled(StartCancelled),
    /// Shards change holders at a tick: the next generation.
    ShardsReassigned(ShardsReassigned),
    /// Holders were lost and no agent can take over their shards for now.
    CapacityReduced(CapacityReduced),
    /// The rate changes at a tick: the next generation.
    RateChanged(RateChanged),
    /// Arrivals are dropped until the run is resumed.
    Paused(Paused),
    /// Arrivals start again.
    Resumed(Resumed),
    /// A request to steer changed nothing.
    SteeringRefused(SteeringRefused),
    /// No arrival starts from this instant on.
    StopScheduled(StopScheduled),
    /// The run is over: the report folds the log up to here.
    RunSealed(RunSealed),
}

impl Decision {
    /// Name of each kind in the log, in the order of the variants.
    pub const TYPES: [&'static str; 14] = [
        "RunQueued",
        "RunCreated",
        "RunRefused",
        "ShardsAssigned",
        "StartScheduled",
        "StartCancelled",
        "ShardsReassigned",
        "CapacityReduced",
        "RateChanged",
        "Paused",
        "Resumed",
        "SteeringRefused",
        "StopScheduled",
        "RunSealed",
    ];
}

/// The run exists: its request was valid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunCreated {
    /// Plan of the run, in news to agents and in logs of format versions 1 and 2. Absent: the plan
    /// is that of `request`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Stream sequence in LP_CTL of the request whose plan is that of the run. Absent: the plan is
    /// here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
    /// SHA-256 of the plan's canonical JSON, in lower-case hex.
    pub plan_hash: String,
    /// Random seed; with the plan it fixes every arrival.
    pub seed: u64,
    /// Number of agents, and the wait for them.
    pub agents: AgentsWanted,
    /// Attached command line. Absent: the run is detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerId>,
    /// Time between the decision to start and the start, in µs.
    pub lead_us: u64,
    /// Number of shards, fixed for the whole run.
    pub shards: u32,
    /// End of the wait for agents.
    pub gather_by: Timestamp,
    /// Capabilities that each agent must have, beside those that the plan requires.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Capability>,
    /// Targets that the tenant of the run may have, on a fleet that several tenants share: names,
    /// addresses and networks. Absent: all that the agents allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<String>>,
    /// Proof that each agent looks for before it starts: the tenant owns the targets. Absent: none
    /// is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<OwnershipProof>,
    /// Version of the rules by which the run is judged. Absent: rules 1.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rules: Rules,
}

/// Proof that each agent looks for before it starts: the owner of each host allows the tenant to
/// load it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnershipProof {
    /// Tenant of the run.
    pub tenant: TenantId,
    /// Why the run needs the proof.
    pub excess: Excess,
    /// Token that each host must publish. Tokens are no secrets.
    pub tokens: BTreeMap<String, String>,
}

/// Load above what a tenant may offer without a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Excess {
    /// The rate of an open loop.
    Rate {
        /// Requested rate.
        requested: Rate,
        /// Maximum rate without a proof (`unproven_rate`).
        limit: Rate,
    },
    /// The number of users of a closed loop.
    Users {
        /// Requested number of users.
        requested: u32,
        /// Maximum number of users without a proof (`unproven_users`).
        limit: u32,
    },
}

impl Excess {
    /// The excess as text for people.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Rate { requested, limit } => format!(
                "{}/s is above unproven_rate, {}/s",
                requested.as_rps(),
                limit.as_rps()
            ),
            Self::Users { requested, limit } => {
                format!("{requested} users are more than unproven_users, {limit}")
            }
        }
    }
}

/// The request was invalid, or no agent could serve it. Nothing was started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRefused {
    /// Why the run was refused; at least one problem.
    pub problems: Vec<Problem>,
}

/// Shards have holders: generation 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardsAssigned {
    /// Number of the assignment; always 1.
    pub generation: Generation,
    /// Shards of each holder; together every shard exactly once.
    #[serde(deserialize_with = "crate::log::assign::deserialize_map")]
    pub holdings: Vec<Holding>,
    /// Deadline for readiness; holders that are not ready by then lose their shards.
    pub ready_by: Timestamp,
}

/// All holders are ready, and the start instant is fixed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartScheduled {
    /// Start of the run, on the coordinators' clock. Due times count from here.
    pub start_at: Timestamp,
}

/// The run will not start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartCancelled {
    /// Why, as text for people.
    pub reason: String,
}

/// Shards change holders at a tick: the next generation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardsReassigned {
    /// Number of the assignment; one more than before.
    pub generation: Generation,
    /// The whole map from `takeover_tick` on; each shard at most once.
    #[serde(deserialize_with = "crate::log::assign::deserialize_map")]
    pub holdings: Vec<Holding>,
    /// First due tick of the new map; earlier ticks stay with the old one.
    pub takeover_tick: u32,
    /// Holders that lost shards, and why.
    pub losses: Vec<Loss>,
}

/// Holders were lost and no agent can take over their shards for now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityReduced {
    /// Holders that lost shards, and why.
    pub losses: Vec<Loss>,
}

/// Why a run stops before its planned end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StopReason {
    /// A user or a coordinator requested it.
    Requested {
        /// Author of the request, as text for people.
        by: String,
    },
    /// The attached command line was silent for longer than the owner timeout.
    OwnerGone,
    /// Every agent was lost and none returned in time.
    NobodyLeft,
    /// The log stores no more deltas, so further load could not be reported.
    LogFull,
}

impl StopReason {
    /// The reason as text for people.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Requested { by } => format!("asked for by {by}"),
            Self::OwnerGone => "its owner is gone".to_owned(),
            Self::NobodyLeft => "no agent is left".to_owned(),
            Self::LogFull => "the log is full".to_owned(),
        }
    }
}

/// No arrival starts from this instant on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StopScheduled {
    /// The instant, on the coordinators' clock.
    pub stop_at: Timestamp,
    /// Why the run stops.
    pub reason: StopReason,
    /// Failed calls, where a coordinator stops the run because no server responds. Absent: another
    /// reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<Unanswered>,
}

impl StopScheduled {
    /// The reason as text for people; `target` is the target of the run.
    #[must_use]
    pub fn words(&self, target: &str) -> String {
        match &self.unanswered {
            Some(unanswered) => unanswered.words(target),
            None => self.reason.words(),
        }
    }
}

/// Calls of a run, all of which failed to connect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unanswered {
    /// Number of calls since the start of the run.
    pub calls: u64,
    /// Number of these calls by cause, where the cause is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub causes: BTreeMap<Cause, u64>,
}

impl Unanswered {
    /// The finding as text for people; `target` is the target of the run.
    #[must_use]
    pub fn words(&self, target: &str) -> String {
        let mut causes: Vec<(&Cause, &u64)> = self.causes.iter().collect();
        causes.sort_by_key(|&(_, &count)| std::cmp::Reverse(count));
        let why = match causes.as_slice() {
            [] => "no connection".to_owned(),
            [(cause, _)] => cause.words().to_owned(),
            several => {
                let each = several.iter();
                let each = each.map(|(cause, count)| format!("{} {count}", cause.words()));
                each.collect::<Vec<_>>().join(", ")
            }
        };
        let calls = self.calls;
        format!("nothing answers at {target}: {why}; all {calls} calls failed to connect")
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The run offered its whole profile.
    Completed,
    /// A user stopped the run.
    Stopped,
    /// The owner or all agents of the run were gone.
    Abandoned,
    /// The run was created and never started.
    Failed,
    /// A later local stack found the run unfinished.
    Aborted,
    /// The log had no room left.
    LogFull,
}

/// Final count of one holder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Final {
    /// Process that finished.
    pub holder: Holder,
    /// Sequence number of its last delta; 0 when it sent none.
    pub final_seq: u64,
    /// Everything that it counted in the run.
    pub totals: Totals,
}

/// The run is over: the report folds the log up to here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSealed {
    /// How the run ended.
    pub ending: Ending,
    /// Stream sequence in LP_CTL of the control event before this one.
    pub ctl_seq: u64,
    /// Stream sequence in LP_CTL of the last fact that counts.
    pub evt_seq: u64,
    /// Stream sequence in LP_DATA of the last delta that may count.
    pub data_seq: u64,
    /// Final count of each holder that finished.
    pub finals: Vec<Final>,
    /// Holders that never reported a final count.
    pub missing: Vec<Holder>,
    /// Number of holders, where there are more than [`crate::limits::SEAL_NAMES_MAX`]. Both lists
    /// are then empty, since the seal must fit in one message; the facts up to `evt_seq` contain
    /// the names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unnamed: Option<Unnamed>,
}

/// Number of holders that a seal counts without naming them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unnamed {
    /// Number of holders that reported a final count.
    pub finished: u32,
    /// Number of holders that never did.
    pub missing: u32,
}

impl RunSealed {
    /// Number of holders that never reported a final count.
    #[must_use]
    pub fn missing_count(&self) -> usize {
        self.unnamed
            .map_or(self.missing.len(), |unnamed| unnamed.missing as usize)
    }
}

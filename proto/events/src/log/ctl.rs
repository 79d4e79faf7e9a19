//! Decisions of coordinators about one run, in total order. Subject `….ctl`.
//!
//! Whatever `decide` took from a clock or a heartbeat is written into the event, so that folding
//! the log needs neither.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::defaults::is_default;
use crate::id::{Holder, OwnerId};
use crate::log::assign::{AgentsWanted, Generation, Holding, Loss};
use crate::log::cause::Cause;
use crate::log::delta::Totals;
use crate::log::steer::{Paused, RateChanged, Resumed, SteeringRefused};
use crate::plan::Plan;
use crate::plan::capability::Capability;
use crate::refusal::Problem;
use crate::rules::Rules;
use crate::units::Timestamp;

/// What may stand on a run's control subject.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub enum Decision {
    /// The request was sound: the run exists.
    RunCreated(Box<RunCreated>),
    /// The request was not sound, or nobody could serve it; nothing was started.
    RunRefused(RunRefused),
    /// Shards have holders: generation 1.
    ShardsAssigned(ShardsAssigned),
    /// All holders are ready: the run starts at this instant.
    StartScheduled(StartScheduled),
    /// The run will not start.
    StartCancelled(StartCancelled),
    /// Shards change hands at a tick: the next generation.
    ShardsReassigned(ShardsReassigned),
    /// Holders were lost and nobody can take over for now.
    CapacityReduced(CapacityReduced),
    /// From a tick on the rate is another one: the next generation.
    RateChanged(RateChanged),
    /// Arrivals are dropped until the run is resumed.
    Paused(Paused),
    /// Arrivals are started again.
    Resumed(Resumed),
    /// A request to steer changed nothing.
    SteeringRefused(SteeringRefused),
    /// No arrival is started from this instant on.
    StopScheduled(StopScheduled),
    /// The run is over: the report folds exactly up to here.
    RunSealed(RunSealed),
}

impl Decision {
    /// What each kind is called in the log.
    pub const TYPES: [&'static str; 13] = [
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

/// The run exists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunCreated {
    /// What to run.
    pub plan: Plan,
    /// SHA-256 of the plan's canonical JSON.
    pub plan_hash: String,
    /// Fixes, with the plan, every arrival.
    pub seed: u64,
    /// On how many agents.
    pub agents: AgentsWanted,
    /// The attached command line, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerId>,
    /// From the decision to start to the start, in µs.
    pub lead_us: u64,
    /// The number of shards, fixed for the whole run.
    pub shards: u32,
    /// When the wait for agents ends.
    pub gather_by: Timestamp,
    /// What its agents must be able to do, beside what follows from the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Capability>,
    /// By which rules the run is judged. Absent: the first ones.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rules: Rules,
}

impl RunCreated {
    /// All that the run needs of each of its agents: what follows from the plan, and what somebody
    /// asked for.
    #[must_use]
    pub fn needed(&self) -> BTreeSet<Capability> {
        let mut needed = self.plan.needs();
        needed.extend(self.needs.iter().cloned());
        needed
    }
}

/// Nothing was started, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRefused {
    /// At least one.
    pub problems: Vec<Problem>,
}

/// Shards have holders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardsAssigned {
    /// Always 1.
    pub generation: Generation,
    /// Together they hold every shard exactly once.
    #[serde(deserialize_with = "crate::log::assign::deserialize_map")]
    pub holdings: Vec<Holding>,
    /// Holders that are not ready by then lose their shards.
    pub ready_by: Timestamp,
}

/// The run starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartScheduled {
    /// Due times count from here, on the coordinators' clock.
    pub start_at: Timestamp,
}

/// The run will not start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartCancelled {
    /// Why, for people to read.
    pub reason: String,
}

/// Shards change hands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardsReassigned {
    /// One more than before.
    pub generation: Generation,
    /// The whole map from `takeover_tick` on; each shard at most once.
    #[serde(deserialize_with = "crate::log::assign::deserialize_map")]
    pub holdings: Vec<Holding>,
    /// The first tick that belongs to the new map; earlier ones stay with the old one.
    pub takeover_tick: u32,
    /// Who lost shards, and why.
    pub losses: Vec<Loss>,
}

/// Holders were lost and nobody can take over for now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityReduced {
    /// Who lost shards, and why.
    pub losses: Vec<Loss>,
}

/// Why a run stops before its planned end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StopReason {
    /// Somebody asked.
    Requested {
        /// Who, for people to read.
        by: String,
    },
    /// The attached command line was not heard for the owner time.
    OwnerGone,
    /// Every agent was lost and none came back in time.
    NobodyLeft,
    /// The log takes no more deltas: what is offered now could not be reported.
    LogFull,
}

impl StopReason {
    /// The same for people.
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

/// No arrival is started from this instant on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StopScheduled {
    /// The instant, on the coordinators' clock.
    pub stop_at: Timestamp,
    /// Why.
    pub reason: StopReason,
    /// What was found, where the run is stopped because nothing answered: then it is a coordinator
    /// that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<Unanswered>,
}

impl StopScheduled {
    /// Why, for people, of a run against `target`.
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
    /// How many, from the first call of the run on.
    pub calls: u64,
    /// Why, where that is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub causes: BTreeMap<Cause, u64>,
}

impl Unanswered {
    /// The same for people, of a run against `target`.
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
    /// It offered its whole profile.
    Completed,
    /// It was stopped by its user.
    Stopped,
    /// Its owner or all of its agents were gone.
    Abandoned,
    /// It never started, though it was created.
    Failed,
    /// A later local stack found it unfinished.
    Aborted,
    /// The log had no room left.
    LogFull,
}

/// The last words of one holder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Final {
    /// Who.
    pub holder: Holder,
    /// Its last delta's sequence number; 0 when it sent none.
    pub final_seq: u64,
    /// What it counted in all.
    pub totals: Totals,
}

/// The run is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSealed {
    /// How it ended.
    pub ending: Ending,
    /// The control event before this one, as a stream sequence of LP_CTL.
    pub ctl_seq: u64,
    /// The last fact that counts, as a stream sequence of LP_CTL.
    pub evt_seq: u64,
    /// The last delta that may count, as a stream sequence of LP_DATA.
    pub data_seq: u64,
    /// Who finished, with what.
    pub finals: Vec<Final>,
    /// Who held shards and never said its last words.
    pub missing: Vec<Holder>,
    /// How many those are, where they are more than [`crate::limits::SEAL_NAMES_MAX`]: then both
    /// lists are empty, since a message has to hold the seal; the facts up to `evt_seq` say who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unnamed: Option<Unnamed>,
}

/// How many holders a seal stands for without naming them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unnamed {
    /// They said their last words.
    pub finished: u32,
    /// They never did.
    pub missing: u32,
}

impl RunSealed {
    /// How many holders never said their last words.
    #[must_use]
    pub fn missing_count(&self) -> usize {
        self.unnamed
            .map_or(self.missing.len(), |unnamed| unnamed.missing as usize)
    }
}

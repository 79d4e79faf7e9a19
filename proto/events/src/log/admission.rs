//! Admission decisions of a shared fleet, in total order over all its tenants. Subject
//! `lp.<home tenant>.adm`.
//!
//! A coordinator appends a decision at the exact sequence of the decision before it, so that two
//! coordinators together never admit too many runs. A run is created only after it is admitted.
//!
//! The place of a run that waits is in the log of the run itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{RunId, TenantId};

/// Admission decision about one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub enum AdmissionDecision {
    /// The run may be created: it counts from now on.
    RunAdmitted(RunAdmitted),
    /// The run is the next one that gets agents.
    AgentsReserved(AgentsReserved),
    /// The run is over, or gone: it does not count any more.
    RunReleased(RunReleased),
}

/// The run may be created: it counts from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunAdmitted {
    /// Id of the run.
    pub run: RunId,
    /// Tenant of the run.
    pub tenant: TenantId,
    /// Number of agents that the run wants.
    pub agents: u32,
}

/// The run is the next one that gets agents: no run of the same or a lower priority is admitted
/// before it, so that small runs do not keep a large one waiting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentsReserved {
    /// Id of the run.
    pub run: RunId,
    /// Tenant of the run.
    pub tenant: TenantId,
    /// Number of agents that the run wants.
    pub agents: u32,
}

/// The run is over, or gone: it does not count any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunReleased {
    /// Id of the run.
    pub run: RunId,
    /// Tenant of the run.
    pub tenant: TenantId,
}

impl AdmissionDecision {
    /// Run of the decision.
    #[must_use]
    pub fn run(&self) -> &RunId {
        match self {
            Self::RunAdmitted(admitted) => &admitted.run,
            Self::AgentsReserved(reserved) => &reserved.run,
            Self::RunReleased(released) => &released.run,
        }
    }

    /// Name of the decision in the log.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::RunAdmitted(_) => "RunAdmitted",
            Self::AgentsReserved(_) => "AgentsReserved",
            Self::RunReleased(_) => "RunReleased",
        }
    }
}

/// The run waits until the fleet admits it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunQueued {
    /// Tenant of the run.
    pub tenant: TenantId,
    /// Place among the runs of the tenant that wait, from 1.
    pub place: u32,
    /// Number of runs of the tenant that wait.
    pub waiting: u32,
    /// What the run waits for.
    pub reason: WaitReason,
}

/// What a run waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WaitReason {
    /// The end of a run of the same tenant: as many run as may.
    MaxRuns {
        /// Number of runs of the tenant at the same time.
        running: u32,
        /// Maximum number.
        max_runs: u32,
    },
    /// Agents: others use them, or are to get them first.
    Agents {
        /// Number of agents in use, once for each run.
        in_use: u32,
        /// Number of agents that the fleet can give at the same time.
        agents: u32,
    },
    /// Its turn: it may be admitted as soon as the runs before it are.
    Turn,
}

impl RunQueued {
    /// Whether the other one has the same place and the same kind of reason, so that it contains
    /// nothing new for a user.
    #[must_use]
    pub fn is_same_place(&self, other: &Self) -> bool {
        let reason = std::mem::discriminant(&self.reason);
        self.place == other.place && reason == std::mem::discriminant(&other.reason)
    }

    /// The place and the reason as text for people.
    #[must_use]
    pub fn words(&self) -> String {
        let place = format!(
            "waiting: place {} of {} of tenant {}",
            self.place, self.waiting, self.tenant
        );
        match &self.reason {
            WaitReason::MaxRuns { running, max_runs } => {
                format!("{place}; {running} of {max_runs} runs at a time")
            }
            WaitReason::Agents { in_use, agents } => {
                format!("{place}; {in_use} of {agents} agents in use")
            }
            WaitReason::Turn => place,
        }
    }
}

//! Admission decisions of a shared fleet, in total order over all its tenants. Subject
//! `lp.<home tenant>.adm`.
//!
//! A coordinator appends one at the sequence of the one before it, so that two coordinators never
//! admit one run too many. A run is created only after it is admitted.

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

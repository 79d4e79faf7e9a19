//! Requests: what a user asked for, stored before anybody decides, and what the user's side took
//! upon itself. Subject `….req`.
//!
//! Stored in the past tense: it happened that somebody asked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::OwnerId;
use crate::log::assign::AgentsWanted;
use crate::log::steer::{PauseRequested, RateChangeRequested, ResumeRequested};
use crate::log::teardown::{SetupClaimed, SetupKept, TeardownClaimed, TeardownFinished};
use crate::plan::Plan;
use crate::plan::capability::Capability;

/// What may stand on a run's request subject.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub enum Request {
    /// Somebody asked for a run.
    RunRequested(Box<RunRequested>),
    /// Somebody asked to stop it.
    StopRequested(StopRequested),
    /// Somebody asked for another rate.
    RateChangeRequested(RateChangeRequested),
    /// Somebody asked to start nothing for a while.
    PauseRequested(PauseRequested),
    /// Somebody asked to go on after a pause.
    ResumeRequested(ResumeRequested),
    /// Somebody began to play what comes before a run: what comes after it is owed from now on.
    SetupClaimed(Box<SetupClaimed>),
    /// What the setup has left so far is kept for the teardown.
    SetupKept(SetupKept),
    /// Somebody takes the teardown upon himself.
    TeardownClaimed(TeardownClaimed),
    /// The teardown was played to its end: nothing is owed any more.
    TeardownFinished(TeardownFinished),
}

impl Request {
    /// Whether it is no request of a run but about what its submitter plays, which coordinators
    /// have nothing to do with.
    #[must_use]
    pub fn is_aside(&self) -> bool {
        match self {
            Self::SetupClaimed(_)
            | Self::SetupKept(_)
            | Self::TeardownClaimed(_)
            | Self::TeardownFinished(_) => true,
            Self::RunRequested(_)
            | Self::StopRequested(_)
            | Self::RateChangeRequested(_)
            | Self::PauseRequested(_)
            | Self::ResumeRequested(_) => false,
        }
    }
}

/// Somebody asked for a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRequested {
    /// What to run.
    pub plan: Plan,
    /// Fixes, with the plan, every arrival; at most 2^53 − 1.
    pub seed: u64,
    /// On how many agents.
    pub agents: AgentsWanted,
    /// The attached command line; the run stops when it is gone for 10 s. Absent: detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerId>,
    /// From the decision to start to the start, in µs.
    pub lead_us: u64,
    /// What its agents must be able to do, beside what follows from the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Capability>,
    /// Whether the run goes on where every call fails to connect; else a coordinator stops it soon.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_early_abort: bool,
}

/// Somebody asked to stop a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopRequested {
    /// Who, for people to read.
    pub by: String,
}

//! Request events: the requests of a user, stored before a decision, and the command that plays
//! setup and teardown. Subject `….req`.
//!
//! They are named in the past tense: the request happened.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::OwnerId;
use crate::log::assign::AgentsWanted;
use crate::log::steer::{PauseRequested, RateChangeRequested, ResumeRequested};
use crate::log::teardown::{SetupClaimed, SetupKept, TeardownClaimed, TeardownFinished};
use crate::plan::Plan;
use crate::plan::capability::Capability;

/// Request event of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub enum Request {
    /// A run was requested.
    RunRequested(Box<RunRequested>),
    /// A stop of the run was requested.
    StopRequested(StopRequested),
    /// Another rate was requested.
    RateChangeRequested(RateChangeRequested),
    /// A pause was requested.
    PauseRequested(PauseRequested),
    /// The end of a pause was requested.
    ResumeRequested(ResumeRequested),
    /// A command began to play the setup: from now on the teardown is owed.
    SetupClaimed(Box<SetupClaimed>),
    /// The state that the setup has left so far is stored for the teardown.
    SetupKept(SetupKept),
    /// A command takes over the teardown.
    TeardownClaimed(TeardownClaimed),
    /// The teardown was played to its end: nothing is owed any more.
    TeardownFinished(TeardownFinished),
    /// A note was written about the run, or it was marked as a baseline.
    RunAnnotated(RunAnnotated),
}

impl Request {
    /// Whether the event is about setup or teardown, which the submitter plays and coordinators
    /// ignore.
    #[must_use]
    pub fn is_setup_or_teardown(&self) -> bool {
        match self {
            Self::SetupClaimed(_)
            | Self::SetupKept(_)
            | Self::TeardownClaimed(_)
            | Self::TeardownFinished(_) => true,
            Self::RunRequested(_)
            | Self::StopRequested(_)
            | Self::RateChangeRequested(_)
            | Self::PauseRequested(_)
            | Self::ResumeRequested(_)
            | Self::RunAnnotated(_) => false,
        }
    }
}

/// A run was requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRequested {
    /// Plan of the run.
    pub plan: Plan,
    /// Random seed; with the plan it fixes every arrival. At most 2^53 − 1.
    pub seed: u64,
    /// Number of agents, and the wait for them.
    pub agents: AgentsWanted,
    /// Attached command line; the run stops when it is silent for 10 s. Absent: detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerId>,
    /// Time between the decision to start and the start, in µs.
    pub lead_us: u64,
    /// Capabilities that each agent must have, beside those that the plan requires.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Capability>,
    /// Whether the run continues when every call fails to connect; otherwise a coordinator stops it
    /// early.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_early_abort: bool,
}

/// A stop of the run was requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StopRequested {
    /// Author of the request, as text for people.
    pub by: String,
    /// Gate whose breach is the reason of the request. Absent: the request has no such reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breach: Option<Breach>,
}

/// A note was written about the run, or it was marked as a baseline. Stored after the end of the
/// run, so that no report and no digest contains it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunAnnotated {
    /// Author, as text for people.
    pub by: String,
    /// The note. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the run is a baseline from now on. Absent: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<bool>,
}

/// A gate that failed while the run went on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Breach {
    /// Key of the gate, such as `p99_ms` or `browse:p99_ms`.
    pub key: String,
    /// Limit of the gate, in the unit of the key.
    pub limit: f64,
    /// Figure of the run at that time, in the unit of the key.
    pub actual: f64,
}

impl Breach {
    /// The breach as text for people.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { key, limit, actual } = self;
        format!("{key} was {actual:.1}, and its limit is {limit}")
    }
}

//! Setup and teardown of a run, which its submitter plays: who took what upon himself.
//!
//! They stand on the run's request subject, each appended at its exact last sequence, so that of
//! several candidates one wins; no coordinator is asked, since a setup is played before there is a
//! run and a teardown when it is over. Must never hold a secret, nor the key of a sealed state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::OwnerId;
use crate::plan::{Object, Plan};

/// Somebody began to play what comes before a run; from now on what comes after it is owed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetupClaimed {
    /// Which command: it beats under this name.
    pub claimant: OwnerId,
    /// Who, for people to read.
    pub by: String,
    /// What is to be run.
    pub plan: Plan,
    /// What every draw of the run follows from; at most 2^53 − 1.
    pub seed: u64,
    /// The scenario's files, a zip archive in the object store: whoever plays the teardown loads
    /// it from there.
    pub bundle: Object,
    /// The file in it that defines the scenario, `shop.py`.
    pub file: String,
    /// The methods that are played when the run is over, in this order.
    pub teardowns: Vec<String>,
    /// Whether the users are prepared by the submitter, and clean up there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub users: bool,
}

/// What the setup has left so far is kept for whoever plays the teardown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetupKept {
    /// Whose setup.
    pub claimant: OwnerId,
    /// The states, sealed and in the object store; they replace those before them.
    pub states: Object,
}

/// Somebody takes the teardown upon himself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeardownClaimed {
    /// Which command: it beats under this name.
    pub claimant: OwnerId,
    /// Who, for people to read.
    pub by: String,
    /// Who owed it and is gone. Absent: it was the claimant himself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<OwnerId>,
}

/// The teardown was played to its end: nothing is owed any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeardownFinished {
    /// By which command.
    pub claimant: OwnerId,
    /// The methods that failed; people were told why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

//! Claims of setup and teardown, which the submitter of a run plays.
//!
//! Claims are on the run's request subject, each appended at its exact last sequence, so that one
//! of several candidates wins. No coordinator takes part, since a setup is played before the run
//! exists and a teardown when it is over. They contain no secret, nor the key of a sealed state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::OwnerId;
use crate::plan::{Object, Plan};

/// A command began to play the setup: from now on the teardown is owed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetupClaimed {
    /// Command that plays the setup; its heartbeats have this name.
    pub claimant: OwnerId,
    /// Author of the claim, as text for people.
    pub by: String,
    /// Plan of the run to come.
    pub plan: Plan,
    /// Random seed of every draw of the run; at most 2^53 − 1.
    pub seed: u64,
    /// Scenario's files, a zip archive in the object store, from which the teardown is loaded.
    pub bundle: Object,
    /// File in the bundle that defines the scenario, such as `shop.py`.
    pub file: String,
    /// Methods to play when the run is over, in this order.
    pub teardowns: Vec<String>,
    /// Whether the submitter prepares the users and plays their clean-up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub users: bool,
}

/// The state that the setup has left so far is stored for the teardown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetupKept {
    /// Command that plays the setup.
    pub claimant: OwnerId,
    /// User states, sealed, in the object store; they replace the earlier ones.
    pub states: Object,
}

/// A command takes over the teardown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeardownClaimed {
    /// Command that plays the teardown; its heartbeats have this name.
    pub claimant: OwnerId,
    /// Author of the claim, as text for people.
    pub by: String,
    /// Command that owed the teardown and is gone. Absent: the claimant itself owed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<OwnerId>,
}

/// The teardown was played to its end: nothing is owed any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeardownFinished {
    /// Command that played it.
    pub claimant: OwnerId,
    /// Methods that failed; the command printed why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

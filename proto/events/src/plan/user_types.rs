//! User types: the scenarios of a mix, each with a share of the load and tasks of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::session::SessionLength;
use crate::plan::think_time::Rest;

/// A type of users in a mix. Its share of the arrivals, or users, is relative to the sum of all
/// shares; the weights of its tasks are relative to each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserType {
    /// Name: that of its scenario. Its tasks have the names `NAME/TASK`.
    pub name: String,
    /// Share, out of the sum of all shares; at least 1.
    pub share: u32,
    /// Number of its tasks; at least 1. They follow those of the type before.
    pub tasks: u16,
    /// Think time of its users between two tasks, in a closed loop. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
    /// Length of the sessions of its users, in a closed loop. Absent: each stays for the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionLength>,
}

/// Separates the name of a user type from that of its task.
pub const TYPE_SEPARATOR: char = '/';

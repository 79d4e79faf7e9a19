//! Scenarios that run in Python on the agents: where their source is, and what only Python can say.
//!
//! Calls made in Python are not in the plan: deltas name them. Must never hold a secret, and no
//! more of a user's text than fits in [`crate::limits::RAISED_BYTES_MAX`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::defaults::is_default;
use crate::plan::object::Object;

/// A scenario that agents run in Python, one instance of its class for each virtual user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The source files, a zip archive that is kept beside the plan.
    pub bundle: Object,
    /// The file in it that defines the scenario, `shop.py`.
    pub file: String,
    /// Virtual users over all agents, each with one arrival at a time; in a closed loop as many as
    /// that has.
    pub users: u32,
    /// Names of further request headers whose values are secret, in lower case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret_headers: Vec<String>,
    /// The data that its tasks and users take rows of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feeds: Vec<Feed>,
    /// The tasks that have a check, by their places in the plan, rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<u16>,
    /// What was prepared before the run was asked for. Absent: agents prepare all users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepared: Option<Prepared>,
}

/// Data of a scenario, of which each arrival takes a row: the rows are in the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Feed {
    /// What the scenario calls it.
    pub name: String,
    /// How many rows there are; at least 1.
    pub rows: u64,
    /// The tasks that take rows, by their places in the plan, rising.
    pub tasks: Vec<u16>,
    /// Users take rows too, while they are prepared and clean up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub prepares: bool,
    /// Rows are meant to be used again when there are no more.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cycles: bool,
    /// Rows are taken in an order that the seed fixes; absent: in the order of the data.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shuffled: bool,
}

/// What became of a feed in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FeedFacts {
    /// What the scenario calls it.
    pub name: String,
    /// How many rows there are.
    pub rows: u64,
    /// How many arrivals were planned that take one, up to a stop, in a closed loop how many there
    /// were; or how many users, if they are more.
    pub taken: u64,
    /// Rows are meant to be used again when there are no more.
    pub cycles: bool,
}

/// What `@setup`, or the `on_start` of all users, left on the side of whoever asked for the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prepared {
    /// The states, sealed (`loadpilot_agent::users::prepared_users`) and kept beside the plan: only
    /// who has the key can read them.
    pub states: Object,
    /// The handle of the key, which is a secret and is shredded when the run is over.
    pub key_secret: String,
    /// Whether every user's state is among them, so that agents prepare nobody and clean up after
    /// nobody; else they hold what the users share.
    pub users: bool,
}

/// A call that a task in Python made: its number holds in the delta that says it, and nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallName {
    /// The number; not that of a call of the plan.
    pub call: u16,
    /// The task that made it, by its place in the plan.
    pub task: u16,
    /// What it is called, `GET /api/user` unless the task names it.
    pub name: String,
}

/// What a check or a task raised, in the same words each time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RaisedRow {
    /// The task, by its place in the plan.
    pub task: u16,
    /// What of it.
    pub by: RaisedBy,
    /// The kind of the error, its message and its place: `AssertionError: no cart (shop.py:23)`.
    pub text: String,
    /// How many times.
    pub count: u64,
    /// The lines of the user's that led to it, the outermost first, `shop.py:40 in buy`, each on a
    /// line of its own: in the first delta of a process that has the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// Which part of a scenario in Python raised an error, or what else is to be said of it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RaisedBy {
    /// `check_…`: the call that it looked at counts as `check_failed`.
    Check,
    /// The task itself: its arrival counts among the task errors.
    Task,
    /// Neither raised anything, but the task kept every user of its agent waiting.
    Blocking,
}

/// Checks that looked at an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Checks {
    /// Those that passed.
    pub passed: u64,
    /// Those that failed.
    pub failed: u64,
}

/// What a check or a task raised in the whole run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Raised {
    /// What of the task.
    pub by: RaisedBy,
    /// The kind of the error, its message and its place.
    pub text: String,
    /// How many times.
    pub count: u64,
    /// The lines of the user's that led to one of them, the outermost first, `shop.py:40 in buy`,
    /// each on a line of its own; absent where no agent told any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

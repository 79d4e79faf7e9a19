//! Scenarios that run in Python on the agents: their source, and what only Python can report.
//!
//! Calls made in Python are not in the plan: deltas name them. A text of a user is cut at
//! [`crate::limits::RAISED_BYTES_MAX`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::defaults::is_default;
use crate::limits::BODY_BYTES_MAX;
use crate::plan::object::Object;
use crate::units::format_duration;

/// Scenario that agents run in Python, one instance of its class for each user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Source files: a zip archive in the object store.
    pub bundle: Object,
    /// File in the bundle that defines the scenario, such as `shop.py`.
    pub file: String,
    /// Number of users over all agents; each has one arrival at a time. In a closed loop: the
    /// plan's `users`.
    pub users: u32,
    /// Names of further request headers with secret values, in lower case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret_headers: Vec<String>,
    /// Feeds of its tasks and users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feeds: Vec<Feed>,
    /// Tasks with a check, by index in the plan, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<u16>,
    /// State prepared before the run was requested. Absent: agents prepare all users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepared: Option<Prepared>,
}

/// Feed of a scenario: each arrival takes one row. The rows are in the bundle, or in a file of
/// their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Feed {
    /// Name in the scenario.
    pub name: String,
    /// Number of rows; at least 1.
    pub rows: u64,
    /// Tasks that take rows, by index in the plan, ascending.
    pub tasks: Vec<u16>,
    /// Whether users also take rows during preparation and clean-up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub prepares: bool,
    /// Whether rows may be used again when there are no more.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cycles: bool,
    /// Whether no row may be used twice: an arrival for which none is left raises an error.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unique: bool,
    /// Whether the run ends where a row after the last would be taken; only with `unique`. Absent:
    /// it goes on.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stops: bool,
    /// Whether the seed fixes the order of rows. Absent: the order of the data.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shuffled: bool,
    /// File that agents read the rows from as they need them. Absent: the rows are in the bundle,
    /// or with those of compiled code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<RowFile>,
}

/// File of rows that is too large to be held in memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowFile {
    /// Path in the folder of the scenario: `data/users.csv`.
    pub name: String,
    /// How its rows are written.
    pub form: RowForm,
    /// Hash and size. It is in the object store up to the maximum size of an object; a larger file
    /// lies in a folder of each agent.
    pub content: Object,
}

/// How the rows of a file are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowForm {
    /// CSV (RFC 4180) in UTF-8 whose first record names the columns.
    Csv,
    /// A JSON value on each line.
    JsonLines,
}

impl RowFile {
    /// Whether the object store holds it.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        self.content.bytes <= BODY_BYTES_MAX
    }
}

/// Use of a feed in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FeedFacts {
    /// Name in the scenario.
    pub name: String,
    /// Number of rows.
    pub rows: u64,
    /// Number of planned arrivals that take a row, up to a stop; in a closed loop of arrivals that
    /// took one. Number of users, if that is greater.
    pub taken: u64,
    /// Whether rows may be used again when there are no more.
    pub cycles: bool,
    /// Whether no row may be used twice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unique: bool,
    /// Whether the run ends where a row after the last would be taken.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stops: bool,
}

/// End of a run before the end of its profile, as its plan says: a feed had no row left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowsUsedUp {
    /// Name of the feed.
    pub feed: String,
    /// Number of its rows, each of which one planned arrival took.
    pub rows: u64,
    /// End of the run, in µs after the start: an arrival that had no row would have been due then.
    pub at_us: u64,
    /// Length of the profile in µs.
    pub profile_us: u64,
}

impl RowsUsedUp {
    /// The end as text for people.
    #[must_use]
    pub fn words(&self) -> String {
        let in_ms = |us: u64| format_duration(us / 1_000 * 1_000);
        let (feed, at, of) = (&self.feed, in_ms(self.at_us), in_ms(self.profile_us));
        format!("feed {feed} has no row left at {at} of {of}")
    }
}

/// State that `@setup`, or the `on_start` of all users, left at the submitter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prepared {
    /// User states in the object store, sealed (`loadpilot_agent::users::prepared_users`): reading
    /// them requires the key.
    pub states: Object,
    /// Handle of the key, a secret that is destroyed when the run is over.
    pub key_secret: String,
    /// Whether the states of all users are included, so that agents play no preparation and no
    /// clean-up. Otherwise only the state that users share is included.
    pub users: bool,
}

/// Name of a call made in Python; its number is valid in its own delta only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallName {
    /// Number of the call; not that of a call of the plan.
    pub call: u16,
    /// Index in the plan of the task that made the call.
    pub task: u16,
    /// Name of the call, `GET /api/user` unless the task names it.
    pub name: String,
}

/// Error that a check or a task raised, with its count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RaisedRow {
    /// Index of the task in the plan.
    pub task: u16,
    /// Part of the scenario that raised it.
    pub by: RaisedBy,
    /// Type of the error, its message and its line: `AssertionError: no cart (shop.py:23)`.
    pub text: String,
    /// Number of times.
    pub count: u64,
    /// Traceback: the user's lines that led to the error, outermost first, such as `shop.py:40 in
    /// buy`, one per line. Only in a process's first delta with this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// Part of a Python scenario that raised an error, or another remark about it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RaisedBy {
    /// `check_…`: the call that it examined counts as `check_failed`.
    Check,
    /// The task itself: its arrival counts as a task error.
    Task,
    /// No error: the task blocked every user of its agent.
    Blocking,
}

/// Number of checks that examined a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Checks {
    /// Number of checks that passed.
    pub passed: u64,
    /// Number of checks that failed.
    pub failed: u64,
}

/// Error that a check or a task raised, with its count in the whole run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Raised {
    /// Part of the scenario that raised it.
    pub by: RaisedBy,
    /// Type of the error, its message and its line.
    pub text: String,
    /// Number of times.
    pub count: u64,
    /// Traceback of one of them: the user's lines, outermost first, such as `shop.py:40 in buy`,
    /// one per line. Absent: no agent reported one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

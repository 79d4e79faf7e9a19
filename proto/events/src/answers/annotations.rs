//! Notes of users about a run after its end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Timestamp;

/// Notes of a run, and whether it is a baseline. No figure depends on them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Annotations {
    /// Notes, oldest first.
    pub notes: Vec<Note>,
    /// Mark as a baseline, to which people compare other runs; null without one.
    pub baseline: Option<BaselineMark>,
}

/// A note about a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// When it was written, by the clock of its author.
    pub at: Timestamp,
    /// Author, as text for people.
    pub by: String,
    /// The note.
    pub text: String,
}

/// A mark of a run as a baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineMark {
    /// When the run was marked, by the clock of the author.
    pub at: Timestamp,
    /// Author, as text for people.
    pub by: String,
}

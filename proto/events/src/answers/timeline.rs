//! The story of a run: its decisions and facts as lines for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Timestamp;

/// One line of the story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoryLine {
    /// When its writer says it happened.
    pub at: Timestamp,
    /// Its stream sequence in LP_CTL.
    pub seq: u64,
    /// What happened.
    pub text: String,
}

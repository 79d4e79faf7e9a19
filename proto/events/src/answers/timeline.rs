//! The timeline of a run: its decisions and facts as lines of text for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Timestamp;

/// One line of the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoryLine {
    /// When it happened, by the writer's clock.
    pub at: Timestamp,
    /// Stream sequence in LP_CTL.
    pub seq: u64,
    /// What happened, as text for people.
    pub text: String,
}

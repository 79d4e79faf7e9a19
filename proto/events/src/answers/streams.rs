//! What a report says of streamed answers: how long until they begin to say something, and how
//! steadily they go on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::latency::Ladder;

/// What streamed answers were like, in the measured time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StreamReport {
    /// Tokens that came.
    pub tokens: u64,
    /// From due to the first token, corrected.
    pub first_token: Option<Ladder>,
    /// From dispatch to the first token, uncorrected.
    pub first_token_service: Option<Ladder>,
    /// From one token to the next; null when no answer had two.
    pub token_gap: Option<Ladder>,
}

//! Streamed responses in a report: time to the first token, and from token to token.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::latency::Ladder;

/// Streamed responses, in the measured time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StreamReport {
    /// Number of tokens received.
    pub tokens: u64,
    /// Time from due to the first token, corrected.
    pub first_token: Option<Ladder>,
    /// Time from dispatch to the first token, uncorrected.
    pub first_token_service: Option<Ladder>,
    /// Time from one token to the next; null when no response had two.
    pub token_gap: Option<Ladder>,
}

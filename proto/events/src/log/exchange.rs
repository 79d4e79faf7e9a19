//! Exchanges as text: those of the first arrivals of a run, for finding mistakes in a scenario, and
//! the first that failed, to see what the target said.
//!
//! They are part of a delta, and so of the log: the writer masks secrets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::log::cause::Cause;
use crate::log::outcome::Outcome;

/// One exchange: of the first arrivals of a run (see [`crate::plan::Plan::debug_requests`]), or one
/// that failed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ExchangeSeen {
    /// Number of the arrival; in a closed loop of the user.
    pub arrival: u64,
    /// Index of the call in the plan's list of calls.
    pub call: u16,
    /// Request line and header lines, secrets masked.
    pub request: Vec<String>,
    /// Size of the request's body in bytes.
    pub request_body_bytes: u64,
    /// Status line and header lines of the response, secrets masked, cut where they are too long;
    /// empty without a response.
    pub answer: Vec<String>,
    /// Beginning of the response's body, secrets masked; only of an exchange that failed, and empty
    /// where it is no text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// Bytes received, headers included where the HTTP engine sees them.
    pub received_bytes: u64,
    /// How the call ended.
    pub outcome: Outcome,
    /// Why there is no complete response. Absent: there is one, or the cause is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Response time, end − due, in µs.
    pub response_us: u64,
}

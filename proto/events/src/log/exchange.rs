//! Exchanges written out, for whoever looks for a mistake in a scenario: what was sent and what
//! came back, without bodies.
//!
//! Part of a delta, and so of the log. Must never hold a secret: whoever fills it masks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::log::cause::Cause;
use crate::log::outcome::Outcome;

/// One exchange of the first arrivals of a run; see [`crate::plan::Plan::debug_requests`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ExchangeSeen {
    /// The arrival; in a closed loop the user.
    pub arrival: u64,
    /// The call, by its place in the plan's list of calls.
    pub call: u16,
    /// The request line and the header lines, secrets masked.
    pub request: Vec<String>,
    /// Bytes of the request's body.
    pub request_body_bytes: u64,
    /// The status line and the header lines of the answer, secrets masked, cut where they are too
    /// long; none when none came.
    pub answer: Vec<String>,
    /// Bytes that came, headers included where the engine sees them.
    pub received_bytes: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Why there is no complete answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// End − due, in µs.
    pub response_us: u64,
}

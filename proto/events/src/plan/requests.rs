//! Requests in a file of rows: each arrival sends the request of one row.
//!
//! The steps of the task are the calls of the report. A row names one of them, and contains the
//! parts in which its request differs from that step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::script::Feed;

/// List of requests, which the arrivals of the plan's only task send in turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Feed of JSON lines in a file; each row is a [`super::request_row::RequestRow`].
    pub rows: Feed,
    /// Handles of the secrets that rows name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
}

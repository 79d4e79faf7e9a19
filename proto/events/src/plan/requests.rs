//! Requests in a file of rows: each arrival sends that of one row.
//!
//! The steps of the task are the calls of the report. A row names one of them, and has what its own
//! request has otherwise.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::script::Feed;
use crate::plan::{Body, Header, Step};

/// List of requests, which the arrivals of the plan's only task send in turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Feed of JSON lines in a file; each row is a [`RequestRow`].
    pub rows: Feed,
    /// Handles of the secrets that rows name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
}

/// One request of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestRow {
    /// Index of its step in the task. The step says method, target and name.
    pub step: u16,
    /// Path with query. Absent: that of the step.
    #[serde(default)]
    pub path: Option<String>,
    /// Headers. Absent: those of the step.
    #[serde(default)]
    pub headers: Option<Vec<Header>>,
    /// Body; an empty text is none. Absent: that of the step.
    #[serde(default)]
    pub body: Option<Body>,
}

impl RequestRow {
    /// The request of the row, of a step of its task.
    #[must_use]
    pub fn request(self, step: &Step) -> Step {
        let mut request = step.clone();
        if let Some(path) = self.path {
            request.path = path;
        }
        if let Some(headers) = self.headers {
            request.headers = headers;
        }
        if let Some(body) = self.body {
            request.body =
                Some(body).filter(|body| !matches!(body, Body::Text(text) if text.is_empty()));
        }
        request
    }
}

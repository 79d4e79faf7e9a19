//! One row of a list of requests.

use serde::{Deserialize, Serialize};

use crate::plan::{Body, Header, Step};

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
    /// Body; an empty text means no body. Absent: that of the step.
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

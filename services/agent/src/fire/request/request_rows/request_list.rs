//! Properties that all requests in a file of rows share.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use loadpilot_events::plan::script::Feed;
use loadpilot_events::plan::{Plan, Step};

use crate::users::row_file::RowFile;

/// Properties that the rows of a plan share, for all cores.
pub(crate) struct RequestList {
    pub(crate) rows: Feed,
    /// Steps of the only task.
    pub(crate) steps: Vec<Step>,
    pub(crate) secrets: BTreeMap<String, String>,
    pub(crate) bodies: BTreeMap<String, Bytes>,
    /// Absent before the file was fetched.
    pub(crate) file: Option<Arc<RowFile>>,
}

impl fmt::Debug for RequestList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The list contains secrets.
        write!(f, "RequestList({} rows)", self.rows.rows)
    }
}

impl RequestList {
    /// The list of a plan, if it has one.
    pub(crate) fn of(
        plan: &Plan,
        secrets: &BTreeMap<String, String>,
        bodies: &BTreeMap<String, Bytes>,
    ) -> Option<Self> {
        let requests = plan.requests.as_ref()?;
        Some(Self {
            rows: requests.rows.clone(),
            steps: plan.tasks.first()?.steps.clone(),
            secrets: secrets.clone(),
            bodies: bodies.clone(),
            file: None,
        })
    }
}

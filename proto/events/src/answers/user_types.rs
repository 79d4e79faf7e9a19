//! Results of the user types of a mix.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::arrival_counts::ArrivalCounts;
use crate::answers::latency::Ladder;
use crate::answers::streams::StreamReport;
use crate::defaults::is_default;
use crate::log::delta::TaskRaises;
use crate::log::metrics::MetricsReport;
use crate::plan::script::Checks;
use crate::plan::{Rest, SessionLength};

/// Results of one user type: those of its tasks together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UserTypeReport {
    /// Name of the type.
    pub name: String,
    /// Share of the type, out of the sum of all shares.
    pub share: u32,
    /// Number of its users in a closed loop. Absent: arrivals on schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<u32>,
    /// Think time of those users between two tasks. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
    /// Length of the sessions of those users. Absent: each stays for the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionLength>,
    /// Names of its tasks.
    pub tasks: Vec<String>,
    /// Its arrivals in the whole run.
    pub arrivals: ArrivalCounts,
    /// Number of errors in the measured time, counted as in `errors_total`.
    pub errors: u64,
    /// Number of its finished calls in the measured time, counted as those of a task.
    pub finished: u64,
    /// Number of its finished calls without a connection for a request, in the measured time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unconnected: u64,
    /// Number of its arrivals of the measured time that raised an error; null without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_raises: Option<TaskRaises>,
    /// Response time of its calls, each call by itself.
    pub response: Option<Ladder>,
    /// Service time of its calls, each call by itself.
    pub service: Option<Ladder>,
    /// Its streamed responses; null without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamReport>,
    /// Its checks; null when none examined a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
    /// Its own metrics; null without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsReport>,
}

//! Numbers of arrivals by their result.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::log::delta::SessionCounts;
use crate::log::outcome::DropReason;

/// Planned arrivals: `planned = started + Σ dropped + lost + waiting`. A closed loop plans none:
/// there `planned = started + Σ dropped` as reported, and unreported intervals are in `gaps.lost`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalCounts {
    /// Number of planned arrivals, computed from the log and never summed from agents.
    pub planned: u64,
    /// Number of arrivals whose first call was dispatched.
    pub started: u64,
    /// Number of arrivals that never started, by reason.
    pub dropped: BTreeMap<DropReason, u64>,
    /// Number of arrivals of holders that did not report them: see `gaps.lost`.
    pub lost: u64,
    /// Number of arrivals of an unfinished run that are not reported yet; 0 once sealed.
    pub waiting: u64,
    /// Number of started arrivals that raised an error or had a call that was not ok.
    pub task_errors: u64,
    /// Sessions of the users of a closed loop; absent without sessions, and of a task alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionCounts>,
}

impl ArrivalCounts {
    /// Number of all dropped arrivals.
    #[must_use]
    pub fn dropped_total(&self) -> u64 {
        self.dropped.values().sum()
    }
}

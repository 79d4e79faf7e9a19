//! Gaps of a report: data that is lost, superseded, set aside or late.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::Holder;

/// Data that the log lacks, or has and does not count.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Gaps {
    /// Intervals of arrivals that a holder did not report.
    pub lost: Vec<LostInterval>,
    /// Closed loop only: user time without a report, in percent of all user time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_time_pct: Option<f64>,
    /// Arrivals and calls reported beyond the planned or possible number, in percent of that
    /// number. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surplus_pct: Option<f64>,
    /// Number of arrivals of holders that had been superseded at the due tick.
    pub excess_arrivals: u64,
    /// Number of calls of those arrivals; outside of percentiles and verdict.
    pub excess_calls: u64,
    /// Events and deltas that were set aside, and why.
    pub quarantined: Vec<Quarantined>,
    /// Number of deltas that arrived after the run was sealed.
    pub late_deltas: u64,
}

/// Arrivals that a holder did not report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LostInterval {
    /// Process that held them.
    pub holder: Holder,
    /// First due tick.
    pub from_tick: u32,
    /// Last due tick, inclusive.
    pub to_tick: u32,
    /// Number of arrivals; in a closed loop those of its later totals, possibly 0.
    pub arrivals: u64,
}

/// Stored event that was set aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quarantined {
    /// Subject of the event.
    pub subject: String,
    /// Stream sequence of the event.
    pub seq: u64,
    /// Why it was set aside.
    pub reason: String,
}

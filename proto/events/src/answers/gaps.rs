//! What a report owns up to: lost, superseded, set aside, late.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::Holder;

/// What the log does not know.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Gaps {
    /// Arrivals that a holder did not report.
    pub lost: Vec<LostInterval>,
    /// Closed loop only: the time of users that nobody reported on, in percent of all their time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_time_pct: Option<f64>,
    /// Arrivals and calls that were reported beyond what was planned or can have been made, in
    /// percent of that. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surplus_pct: Option<f64>,
    /// Arrivals offered by holders that had been superseded at the due tick.
    pub excess_arrivals: u64,
    /// Calls of those; outside percentiles and verdict.
    pub excess_calls: u64,
    /// Events and deltas that were set aside, and why.
    pub quarantined: Vec<Quarantined>,
    /// Deltas that came after the run was sealed.
    pub late_deltas: u64,
}

/// Arrivals that a holder did not report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LostInterval {
    /// Who held them.
    pub holder: Holder,
    /// First due tick.
    pub from_tick: u32,
    /// Last due tick, inclusive.
    pub to_tick: u32,
    /// How many arrivals; in a closed loop those that its later totals name, which may be none.
    pub arrivals: u64,
}

/// Something in the log that was set aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quarantined {
    /// Its subject.
    pub subject: String,
    /// Its stream sequence.
    pub seq: u64,
    /// Why.
    pub reason: String,
}

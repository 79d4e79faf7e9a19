//! What became of the planned arrivals of a run, in figures.

use std::collections::BTreeMap;

use loadpilot_events::answers::report::{ArrivalCounts, LostInterval, Quarantined};

/// The accounts of a run.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    /// The whole run.
    pub total: ArrivalCounts,
    /// Per task, in the order of the plan.
    pub tasks: Vec<ArrivalCounts>,
    /// Per task: arrivals that no holder reported and that count as dropped by the stop.
    pub stopped_unreported: Vec<u64>,
    /// Whether all deltas of all holders are there.
    pub is_complete: bool,
    /// Per due tick.
    pub ticks: BTreeMap<u32, TickAccount>,
    /// Intervals that holders did not report.
    pub lost: Vec<LostInterval>,
    /// Closed loop: unreported time of users, in percent of the time of all users.
    pub lost_time_pct: Option<f64>,
    /// Contradictions between reports of a holder and its own totals or the plan.
    pub contradictions: Vec<Quarantined>,
    /// Arrivals and calls beyond the possible number, in percent of that number.
    pub surplus_pct: Option<f64>,
}

/// The accounts of one due tick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TickAccount {
    /// Planned.
    pub planned: u64,
    /// Reported as started.
    pub started: u64,
    /// Reported as dropped.
    pub dropped: u64,
}

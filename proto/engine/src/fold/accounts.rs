//! What became of the planned arrivals of a run, in figures.

use std::collections::BTreeMap;

use loadpilot_events::answers::report::{ArrivalCounts, LostInterval, Quarantined};

/// The books of a run.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    /// The whole run.
    pub total: ArrivalCounts,
    /// Per task, in the order of the plan.
    pub tasks: Vec<ArrivalCounts>,
    /// Per due tick.
    pub ticks: BTreeMap<u32, TickAccount>,
    /// What holders did not report.
    pub lost: Vec<LostInterval>,
    /// Closed loop: the share of the time of its users that nobody reported on, in percent.
    pub lost_time_pct: Option<f64>,
    /// Where what a holder reported contradicts its own totals or the plan.
    pub contradictions: Vec<Quarantined>,
    /// Arrivals and calls beyond what can have been, in percent of that.
    pub surplus_pct: Option<f64>,
}

/// The books of one due tick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TickAccount {
    /// Planned.
    pub planned: u64,
    /// Reported as started.
    pub started: u64,
    /// Reported as dropped.
    pub dropped: u64,
}

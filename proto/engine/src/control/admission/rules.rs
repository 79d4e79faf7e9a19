//! Limits of all runs of one tenant together.

use std::num::NonZeroU32;

use loadpilot_events::id::TenantId;
use loadpilot_events::refusal::Problem;

/// Maximum number of waiting runs of a tenant by default.
pub const MAX_WAITING: u32 = 100;

/// Limits of all runs of one tenant together, and its rank among tenants; `None` is no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionRules {
    /// Maximum number of runs at the same time; further ones wait.
    pub max_runs: Option<u32>,
    /// Maximum number of runs that wait; further ones are refused.
    pub max_waiting: u32,
    /// Maximum number of runs in 24 hours; further ones are refused.
    pub max_runs_per_day: Option<u32>,
    /// Share of the agents relative to the weights of other tenants, while agents are short.
    pub weight: NonZeroU32,
    /// Waiting runs of a higher priority are admitted before those of a lower one.
    pub priority: i32,
}

impl Default for AdmissionRules {
    fn default() -> Self {
        Self {
            max_runs: None,
            max_waiting: MAX_WAITING,
            max_runs_per_day: None,
            weight: NonZeroU32::MIN,
            priority: 0,
        }
    }
}

impl AdmissionRules {
    /// The limits that a run of `tenant` exceeds before its admission, one problem each.
    ///
    /// `place` is its place among the runs of the tenant that wait, `None` while it may be admitted
    /// at once; `today` is the number of other runs that count for the day.
    #[must_use]
    pub fn exceeded(&self, tenant: &TenantId, place: Option<u32>, today: u32) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut refuse = |field: &str, max: u32, value: u32| {
            let rule = format!("must be at most {max} of tenant {tenant}");
            problems.push(Problem::new(field, rule, value.to_string()));
        };
        if let Some(place) = place.filter(|place| *place > self.max_waiting) {
            refuse("waiting runs", self.max_waiting, place);
        }
        if let Some(max) = self.max_runs_per_day.filter(|max| today >= *max) {
            refuse("runs in 24 hours", max, today + 1);
        }
        problems
    }
}

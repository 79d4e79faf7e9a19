//! Limits of one run of a tenant on a shared fleet.

use loadpilot_events::id::TenantId;
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::refusal::Problem;
use loadpilot_events::units::{Rate, SECOND_US};

/// Limits of each run of one tenant; `None` is no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Maximum rate of an open loop, also after a change by a user.
    pub max_rate: Option<Rate>,
    /// Maximum number of users of a closed loop.
    pub max_users: Option<u32>,
    /// Maximum number of agents.
    pub max_agents: Option<u32>,
    /// Maximum planned duration, in µs.
    pub max_duration_us: Option<u64>,
}

impl Quotas {
    /// The limits of `tenant` that a request exceeds, one problem each.
    #[must_use]
    pub fn exceeded(&self, request: &RunRequested, tenant: &TenantId) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut refuse = |field: &str, limit: String, value: String| {
            let rule = format!("must be at most {limit} in a run of tenant {tenant}");
            problems.push(Problem::new(field, rule, value));
        };
        let plan = &request.plan;
        let peak = plan.profile.peak();
        let is_open = plan.users.is_none();
        if let Some(max) = self.max_rate.filter(|max| is_open && peak > *max) {
            let limit = format!("{}/s", max.as_rps());
            refuse("rate", limit, format!("{}/s", peak.as_rps()));
        }
        let users = plan.users.unwrap_or_default();
        if let Some(max) = self.max_users.filter(|max| users > *max) {
            refuse("users", max.to_string(), users.to_string());
        }
        let agents = request.agents.want;
        if let Some(max) = self.max_agents.filter(|max| agents > *max) {
            // A problem of "agents" would say that the fleet has too few.
            refuse("requested agents", max.to_string(), agents.to_string());
        }
        let duration_us = plan.profile.duration_us();
        if let Some(max_us) = self.max_duration_us.filter(|max| duration_us > *max) {
            refuse("duration", seconds(max_us), seconds(duration_us));
        }
        problems
    }
}

/// A duration in seconds, to the millisecond.
fn seconds(us: u64) -> String {
    let (whole, ms) = (us / SECOND_US, us % SECOND_US / 1000);
    match ms {
        0 => format!("{whole}s"),
        ms => format!("{whole}.{ms:03}s"),
    }
}

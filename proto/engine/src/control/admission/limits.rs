//! Requests that exceed a quota for good: they are refused and never wait.

use loadpilot_events::id::TenantId;
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::refusal::Problem;
use loadpilot_events::units::SECOND_US;

use crate::control::admission::quotas::Quotas;

/// What a tenant uses already, before a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Place of the request among its runs that wait; 0 while it does not have to wait.
    pub place: u32,
    /// Number of its runs that were admitted in the last 24 hours, or wait and were requested
    /// earlier.
    pub today: u32,
    /// Number of bytes that its runs occupy in the log.
    pub stored_bytes: u64,
}

/// The quotas of `tenant` that a request exceeds, one problem each.
#[must_use]
pub fn exceeded(
    request: &RunRequested,
    tenant: &TenantId,
    quotas: &Quotas,
    usage: Usage,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut refuse = |field: &str, rule: String, value: String| {
        let rule = format!("tenant {tenant} may {rule}");
        problems.push(Problem::new(field, rule, value));
    };
    let peak = request.plan.profile.peak();
    if let Some(max) = quotas.max_rate.filter(|max| peak > *max) {
        let rule = format!("request at most {}/s a run", max.as_rps());
        refuse("rate", rule, format!("{}/s", peak.as_rps()));
    }
    let agents = request.agents.want;
    if let Some(max) = quotas.max_agents.filter(|max| agents > *max) {
        let rule = format!("request at most {max} agents a run");
        refuse("agents", rule, agents.to_string());
    }
    let duration_us = request.plan.profile.duration_us();
    if let Some(max_us) = quotas.max_duration_us.filter(|max| duration_us > *max) {
        let rule = format!("request at most {} a run", seconds(max_us));
        refuse("duration", rule, seconds(duration_us));
    }
    if let Some(max) = quotas.max_waiting.filter(|max| usage.place > *max) {
        let rule = format!("have at most {max} runs that wait");
        refuse("waiting runs", rule, usage.place.to_string());
    }
    if let Some(max) = quotas.max_runs_per_day.filter(|max| usage.today >= *max) {
        let rule = format!("have at most {max} runs in 24 hours");
        refuse("runs a day", rule, (usage.today + 1).to_string());
    }
    let stored = usage.stored_bytes;
    if let Some(max) = quotas.max_stored_bytes.filter(|max| stored >= *max) {
        let rule =
            format!("store at most {max} bytes in the log; `loadpilot runs prune` frees some");
        refuse("stored bytes", rule, stored.to_string());
    }
    problems
}

/// A duration in seconds, to the millisecond.
fn seconds(us: u64) -> String {
    let (whole, ms) = (us / SECOND_US, us % SECOND_US / 1000);
    match ms {
        0 => format!("{whole}s"),
        ms => format!("{whole}.{ms:03}s"),
    }
}

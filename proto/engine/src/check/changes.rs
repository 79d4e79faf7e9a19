//! Changes of a request for a run: another target, rate, duration, number of users or agents, other
//! thresholds. Each value is text in the form that users write.
//!
//! A change that breaks a rule is left out; its problem has the name of the change as its field. A
//! request without changes stays as it is.

use std::ops::RangeInclusive;

use loadpilot_events::limits;
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::threshold::Threshold;
use loadpilot_events::refusal::Problem;
use loadpilot_events::units::{self, Rate};
use serde::Deserialize;

use crate::schedule::scale;

/// Hundred percent, in the unit of a parsed rate.
const WHOLE: u128 = 100_000_000;

/// The changes, each as text. Absent: as in the request.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Changes {
    /// Target of the load.
    pub target: Option<String>,
    /// Peak rate, such as `50/s`, or its share of the plan's, such as `50%`.
    pub rate: Option<String>,
    /// Length of the run, such as `2m30s`.
    pub duration: Option<String>,
    /// Number of users of a closed loop, or its share of the plan's, such as `50%`; of stages the
    /// maximum, and all others in proportion.
    pub users: Option<String>,
    /// Length of the warm-up, such as `5s`.
    pub warm_up: Option<String>,
    /// All thresholds.
    pub thresholds: Option<Vec<Threshold>>,
    /// Number of agents.
    pub agents: Option<String>,
    /// Number of agents that suffices at the end of the wait. Absent: all.
    pub min_agents: Option<String>,
    /// Maximum wait for the agents, such as `30s`.
    pub wait: Option<String>,
    /// Seed of the random choices.
    pub seed: Option<String>,
}

/// The request with the changes that are possible, and the problems of the others. The rules of
/// [`super::request`] are not applied.
#[must_use]
pub fn adjust(request: &RunRequested, changes: &Changes) -> (RunRequested, Vec<Problem>) {
    let mut adjusted = request.clone();
    let plan = &mut adjusted.plan;
    let mut problems = Vec::new();
    if let Some(target) = &changes.target {
        target_without_slash(target).clone_into(&mut plan.target);
        plan.connections.other_targets.clear();
    }
    if let Some(thresholds) = &changes.thresholds {
        plan.thresholds.clone_from(thresholds);
    }
    let mut apply = |text: &Option<String>, change: &mut dyn FnMut(&str) -> Result<(), Problem>| {
        let changed = text.as_deref().map_or(Ok(()), |text| change(text.trim()));
        problems.extend(changed.err());
    };
    apply(&changes.rate, &mut |text| rate(plan, text));
    apply(&changes.users, &mut |text| users(plan, text));
    apply(&changes.warm_up, &mut |text| warm_up(plan, text));
    apply(&changes.duration, &mut |text| duration(plan, text));
    let agents = &mut adjusted.agents;
    apply(&changes.agents, &mut |text| {
        agents.want = whole("agents", text, u64::from(limits::AGENTS_MAX))?;
        agents.min = agents.want;
        Ok(())
    });
    apply(&changes.min_agents, &mut |text| {
        agents.min = whole("min_agents", text, u64::from(agents.want))?;
        Ok(())
    });
    apply(&changes.wait, &mut |text| {
        agents.wait_us = time("wait", text, 0..=super::WAIT_US_MAX, "at most 24h")?;
        Ok(())
    });
    let seed = &mut adjusted.seed;
    apply(&changes.seed, &mut |text| {
        let parsed = text.parse().ok().filter(|seed| *seed <= limits::SEED_MAX);
        let rule = "must be a whole number from 0 to 2^53 - 1";
        *seed = parsed.ok_or_else(|| Problem::new("seed", rule, text))?;
        Ok(())
    });
    (adjusted, problems)
}

/// The target without the slash at its end; several slashes stay. The path of a call begins with
/// one.
fn target_without_slash(target: &str) -> &str {
    let target = target.trim();
    match target.strip_suffix('/') {
        Some(trimmed) if !trimmed.ends_with('/') => trimmed,
        _ => target,
    }
}

fn rate(plan: &mut Plan, text: &str) -> Result<(), Problem> {
    let problem = |rule: &str| Problem::new("rate", rule, text);
    if plan.users.is_some() {
        let rule = "must be absent: the users of a closed loop set the pace; change users";
        return Err(problem(rule));
    }
    let peak = plan.profile.peak();
    let rate = match share("rate", text, peak.0)? {
        Some(rate) => Rate(rate),
        None => units::parse_rate("rate", text)?,
    };
    if !(1..=limits::RATE_MAX_URPS).contains(&rate.0) {
        return Err(problem("must be above 0 and at most 10,000,000 per second"));
    }
    if peak.0 == 0 {
        return Err(problem(
            "must be absent: the plan offers no load that could be scaled",
        ));
    }
    plan.profile = scale::to_peak(&plan.profile, rate);
    // More users are needed at a higher rate; at a lower one the idle users cost nothing.
    if let (Some(users), true) = (plan.scenario_users(), rate > peak) {
        let grown = (u128::from(users) * u128::from(rate.0)).div_ceil(u128::from(peak.0));
        let most = u128::from(limits::USERS_MAX);
        set_scenario_users(plan, u32::try_from(grown.min(most)).unwrap_or(users));
    }
    Ok(())
}

fn users(plan: &mut Plan, text: &str) -> Result<(), Problem> {
    let Some(before) = plan.users else {
        let rule = "must be absent: the plan has a rate, not the users of a closed loop";
        return Err(Problem::new("users", rule, text));
    };
    let users = match share("users", text, u64::from(before))? {
        Some(users) => u32::try_from(users.max(1)).unwrap_or(u32::MAX),
        None => whole("users", text, u64::from(limits::USERS_MAX))?,
    };
    plan.users = Some(users);
    if let Some(stages) = &mut plan.user_stages {
        *stages = scale::to_users(stages, users);
    }
    set_scenario_users(plan, users);
    Ok(())
}

fn set_scenario_users(plan: &mut Plan, users: u32) {
    if let Some(script) = &mut plan.script {
        script.users = users;
    }
    if let Some(code) = &mut plan.code {
        code.users = users;
    }
}

fn warm_up(plan: &mut Plan, text: &str) -> Result<(), Problem> {
    plan.warm_up_us = units::parse_duration_us("warm_up", text)?;
    Ok(())
}

fn duration(plan: &mut Plan, text: &str) -> Result<(), Problem> {
    let range = 1..=limits::PROFILE_US_MAX;
    let duration_us = time("duration", text, range, "above 0 and at most 11 days")?;
    let ticks = plan.warm_up_us.div_ceil(plan.tick_us.max(1));
    let warm_up_us = ticks.saturating_mul(plan.tick_us);
    if duration_us <= warm_up_us {
        let warm_up = units::format_duration(warm_up_us);
        let rule = format!("must be longer than the warm-up, {warm_up}");
        return Err(Problem::new("duration", rule, text));
    }
    plan.profile = scale::to_duration(&plan.profile, duration_us);
    if let Some(stages) = &mut plan.user_stages {
        *stages = scale::stages_to_duration(stages, duration_us);
    }
    Ok(())
}

/// A share such as `50%` of `of`, rounded down; `None` for a text without a percent sign.
fn share(field: &str, text: &str, of: u64) -> Result<Option<u64>, Problem> {
    let Some(percent) = text.strip_suffix('%') else {
        return Ok(None);
    };
    let problem = || Problem::new(field, "must be a share such as 50%", text);
    if percent.contains('/') {
        return Err(problem());
    }
    let millionths = units::parse_rate(field, percent).map_err(|_| problem())?;
    let part = u128::from(of) * u128::from(millionths.0) / WHOLE;
    u64::try_from(part).map(Some).map_err(|_| problem())
}

fn whole(field: &str, text: &str, most: u64) -> Result<u32, Problem> {
    let parsed = text.parse::<u32>().ok();
    let parsed = parsed.filter(|number| (1..=most).contains(&u64::from(*number)));
    let rule = format!("must be a whole number from 1 to {most}");
    parsed.ok_or_else(|| Problem::new(field, rule, text))
}

fn time(
    field: &str,
    text: &str,
    range_us: RangeInclusive<u64>,
    range: &str,
) -> Result<u64, Problem> {
    let us = units::parse_duration_us(field, text)?;
    if range_us.contains(&us) {
        return Ok(us);
    }
    Err(Problem::new(field, format!("must be {range}"), text))
}

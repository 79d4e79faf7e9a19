//! A slice, checked against its run.

use std::collections::BTreeSet;
use std::ops::Range;

use loadpilot_events::answers::slice::{
    SLICE_BUCKETS, SLICE_BUCKETS_MAX, SLICE_NAMES_MAX, SLICE_PERCENTILES_MAX, Slice,
};
use loadpilot_events::id::AgentId;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::plan::Plan;
use loadpilot_events::refusal::{Problem, Refusal};
use loadpilot_events::units::SECOND_US;

use super::indexed::Indexed;
use crate::tally::call_ids::CallId;

/// Percentiles of a query that names none.
const PERCENTILES: [f64; 3] = [50.0, 95.0, 99.0];
/// Maximum number of known names that a refusal lists.
const NAMES_LISTED_MAX: usize = 20;

/// A checked slice.
#[derive(Debug, Clone)]
pub struct Query {
    /// The length of a tick in µs.
    pub tick_us: u64,
    /// Due ticks.
    pub ticks: Range<u32>,
    /// The length of a bucket in ticks; the last one may be shorter.
    pub bucket_ticks: u32,
    /// Tasks by their positions in the plan.
    pub tasks: Option<BTreeSet<u16>>,
    /// Calls by name.
    pub steps: Option<BTreeSet<String>>,
    /// Agents.
    pub agents: Option<BTreeSet<AgentId>>,
    /// Outcomes.
    pub outcomes: Option<BTreeSet<Outcome>>,
    /// Percentiles, ascending.
    pub percentiles: Vec<f64>,
}

impl Query {
    /// Checks a slice against a run; the caller chooses the instant of the run.
    ///
    /// # Errors
    /// All problems of the slice.
    pub fn of(run: Indexed<'_>, slice: &Slice) -> Result<Self, Refusal> {
        let offered = run.offered();
        let plan = offered.as_ref().map(|offered| offered.plan);
        let tick_us = plan.map_or(SECOND_US, |plan| plan.tick_us);
        let end = offered.as_ref().map_or(0, |offer| offer.workload.ticks());
        let mut problems = Vec::new();
        let mut ticks = |field, us| whole_ticks(field, us, tick_us, &mut problems);
        let from = ticks("from_us", slice.from_us).unwrap_or(0);
        let to = ticks("to_us", slice.to_us).unwrap_or(end).min(end);
        let bucket = ticks("bucket_us", slice.bucket_us);
        if let (Some(from_us), Some(to_us)) = (slice.from_us, slice.to_us)
            && from_us >= to_us
        {
            problems.push(Problem::new("from_us", "must be below to_us", from_us));
        }
        if slice.bucket_us == Some(0) {
            let rule = format!("must be a tick ({tick_us}) or more");
            problems.push(Problem::new("bucket_us", rule, 0));
        }
        let length = u64::from(to.saturating_sub(from));
        let least = u32::try_from(length.div_ceil(SLICE_BUCKETS)).unwrap_or(u32::MAX);
        let bucket_ticks = bucket.unwrap_or(least).max(1);
        if length.div_ceil(bucket_ticks.into()) > SLICE_BUCKETS_MAX {
            let rule = format!("must give at most {SLICE_BUCKETS_MAX} buckets");
            let bucket_us = u64::from(bucket_ticks) * tick_us;
            problems.push(Problem::new("bucket_us", rule, bucket_us));
        }
        let query = Self {
            tick_us,
            ticks: from..to.max(from),
            bucket_ticks,
            tasks: tasks(plan, slice.tasks.as_deref(), &mut problems),
            steps: steps(run, plan, slice.steps.as_deref(), &mut problems),
            agents: agents(run, slice.agents.as_deref(), &mut problems),
            outcomes: slice
                .outcomes
                .as_ref()
                .map(|outcomes| outcomes.iter().copied().collect()),
            percentiles: percentiles(slice.percentiles.as_deref(), &mut problems),
        };
        match problems.is_empty() {
            true => Ok(query),
            false => Err(Refusal { problems }),
        }
    }

    /// The length of a bucket in µs.
    #[must_use]
    pub fn bucket_us(&self) -> u64 {
        u64::from(self.bucket_ticks) * self.tick_us
    }

    /// The ticks of each bucket.
    pub fn buckets(&self) -> impl Iterator<Item = Range<u32>> + use<> {
        let (ticks, length) = (self.ticks.clone(), self.bucket_ticks);
        let begins = ticks.clone().step_by(length as usize);
        begins.map(move |begin| begin..begin.saturating_add(length).min(ticks.end))
    }
}

/// A time as a whole number of ticks.
pub(crate) fn whole_ticks(
    field: &str,
    us: Option<u64>,
    tick_us: u64,
    problems: &mut Vec<Problem>,
) -> Option<u32> {
    let us = us?;
    if !us.is_multiple_of(tick_us) {
        let ticks = us.saturating_add(tick_us / 2) / tick_us;
        let nearest = ticks.max(1) * tick_us;
        let rule = format!("must be a whole number of ticks of {tick_us} µs, such as {nearest}");
        problems.push(Problem::new(field, rule, us));
    }
    Some(u32::try_from(us / tick_us).unwrap_or(u32::MAX))
}

fn tasks(
    plan: Option<&Plan>,
    query: Option<&[String]>,
    problems: &mut Vec<Problem>,
) -> Option<BTreeSet<u16>> {
    let query = query?;
    let known: Vec<&str> = plan.map_or_else(Vec::new, |plan| {
        plan.tasks.iter().map(|task| task.name.as_str()).collect()
    });
    limited("tasks", query.len(), problems);
    let position = |name: &String| known.iter().position(|one| one == name);
    for name in query.iter().filter(|name| position(name).is_none()) {
        problems.push(unknown("tasks", "a task of the scenario", &known, name));
    }
    let positions = query.iter().filter_map(position);
    let positions = positions.filter_map(|position| u16::try_from(position).ok());
    Some(positions.collect())
}

fn steps(
    run: Indexed<'_>,
    plan: Option<&Plan>,
    query: Option<&[String]>,
    problems: &mut Vec<Problem>,
) -> Option<BTreeSet<String>> {
    let query = query?;
    let planned = plan.into_iter().flat_map(Plan::calls);
    let named = run.index.calls().iter().filter_map(|call| match call {
        CallId::Named { name, .. } => Some(&**name),
        CallId::Planned(_) => None,
    });
    let known: BTreeSet<&str> = planned
        .map(|(_, step)| step.name.as_str())
        .chain(named)
        .collect();
    limited("steps", query.len(), problems);
    let names: Vec<&str> = known.iter().copied().collect();
    for name in query.iter().filter(|name| !known.contains(name.as_str())) {
        problems.push(unknown("steps", "a call of the scenario", &names, name));
    }
    Some(query.iter().cloned().collect())
}

fn agents(
    run: Indexed<'_>,
    query: Option<&[AgentId]>,
    problems: &mut Vec<Problem>,
) -> Option<BTreeSet<AgentId>> {
    let query = query?;
    let held = run.control.state.ever_held.iter();
    let known: BTreeSet<&AgentId> = held.map(|holder| &holder.agent).collect();
    limited("agents", query.len(), problems);
    let names: Vec<&str> = known.iter().map(|agent| agent.as_str()).collect();
    for agent in query.iter().filter(|agent| !known.contains(agent)) {
        problems.push(unknown(
            "agents",
            "an agent of the run",
            &names,
            agent.as_str(),
        ));
    }
    Some(query.iter().cloned().collect())
}

fn percentiles(query: Option<&[f64]>, problems: &mut Vec<Problem>) -> Vec<f64> {
    let mut percentiles = query.unwrap_or(&PERCENTILES).to_vec();
    if percentiles.len() > SLICE_PERCENTILES_MAX {
        let rule = format!("must be at most {SLICE_PERCENTILES_MAX}");
        problems.push(Problem::new("percentiles", rule, percentiles.len()));
    }
    for percent in &percentiles {
        if !(*percent > 0.0 && *percent <= 100.0) {
            let rule = "must be above 0 and at most 100";
            problems.push(Problem::new("percentiles", rule, percent));
        }
    }
    percentiles.sort_by(f64::total_cmp);
    percentiles.dedup();
    percentiles
}

fn limited(field: &str, count: usize, problems: &mut Vec<Problem>) {
    if count > SLICE_NAMES_MAX {
        let rule = format!("must be at most {SLICE_NAMES_MAX} names");
        problems.push(Problem::new(field, rule, count));
    }
}

fn unknown(field: &str, what: &str, known: &[&str], value: &str) -> Problem {
    let more = if known.len() > NAMES_LISTED_MAX {
        ", …"
    } else {
        ""
    };
    let names = known[..known.len().min(NAMES_LISTED_MAX)].join(", ");
    Problem::new(field, format!("must be {what} ({names}{more})"), value)
}

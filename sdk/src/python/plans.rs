//! Checks and figures of plans, units, keys of metrics.

use loadpilot_engine::check;
use loadpilot_engine::check::pairs::{Side, paired};
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::log::metrics::Figure;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::threshold::{Metric, Threshold};
use loadpilot_events::units;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::errors::{invalid, refused};
use super::values::json;

/// All problems of a plan as a JSON list; with a seed also the problems that arise with that seed.
#[pyfunction]
#[pyo3(signature = (plan_json, seed=None))]
pub(super) fn check_plan(plan_json: &str, seed: Option<u64>) -> PyResult<String> {
    let problems = match (check::parse_plan(plan_json), seed) {
        (Err(refusal), _) => refusal.problems,
        (Ok(plan), Some(seed)) => check::with_seed(&plan, seed),
        (Ok(_), None) => Vec::new(),
    };
    json(&problems)
}

/// The plan that compares two targets with the load of a valid plan, as JSON. `sides` are the name
/// and the URL of each.
#[pyfunction]
pub(super) fn paired_plan(
    py: Python<'_>,
    plan_json: &str,
    sides: [(String, String); 2],
) -> PyResult<String> {
    let plan: Plan = check::parse_plan(plan_json).map_err(|refusal| refused(py, &refusal))?;
    let sides = sides.map(|(name, target)| Side { name, target });
    let paired = paired(&plan, &sides).map_err(|refusal| refused(py, &refusal))?;
    Ok(paired.to_json())
}

/// Figures of a valid plan, as a JSON object.
#[pyfunction]
pub(super) fn plan_facts(py: Python<'_>, plan_json: &str, seed: u64) -> PyResult<String> {
    let plan: Plan = check::parse_plan(plan_json).map_err(|refusal| refused(py, &refusal))?;
    let workload = Workload::new(&plan, seed);
    let mut facts = facts(&plan, &workload);
    facts["canonical"] = plan.to_json().into();
    facts["rows_end"] = rows_end(&plan, &workload).into();
    json(&facts)
}

/// Figures of a valid plan.
pub(super) fn facts(plan: &Plan, workload: &Workload) -> serde_json::Value {
    serde_json::json!({
        "hash": plan.hash(),
        "users": workload.users(),
        "planned": workload.planned(),
        "duration_us": workload.duration_us(),
        "peak_rps": plan.profile.peak().as_rps(),
        "planned_per_task": workload.count_per_task(0..workload.planned()),
    })
}

/// The feed whose rows end the run early, as a sentence; null without one.
fn rows_end(plan: &Plan, workload: &Workload) -> Option<String> {
    let feed = plan.feeds().get(workload.rows_end()?.feed)?;
    let whole = units::format_duration(workload.pace().duration_us());
    Some(format!(
        "feed {} has no row left then, of {whole}",
        feed.name
    ))
}

/// The gates of a plan, as a JSON list: key, operator, limit.
#[pyfunction]
pub(super) fn plan_gates(plan_json: &str) -> PyResult<String> {
    let plan: Plan = serde_json::from_str(plan_json)
        .map_err(|error| PyValueError::new_err(format!("not a plan: {error}")))?;
    let gate = |gate: &Threshold| {
        serde_json::json!({
            "key": gate.key(),
            "operator": gate.operator(),
            "limit": gate.limit,
        })
    };
    json(&plan.thresholds.iter().map(gate).collect::<Vec<_>>())
}

/// Reads a duration, in µs.
#[pyfunction]
pub(super) fn parse_duration_us(field: &str, text: &str) -> PyResult<u64> {
    units::parse_duration_us(field, text).map_err(|problem| invalid(&problem))
}

/// Reads a rate, in millionths per second.
#[pyfunction]
pub(super) fn parse_rate_urps(field: &str, text: &str) -> PyResult<u64> {
    units::parse_rate(field, text)
        .map(|rate| rate.0)
        .map_err(|problem| invalid(&problem))
}

/// Keys of all built-in metrics.
#[pyfunction]
pub(super) fn metric_keys() -> Vec<&'static str> {
    Metric::ALL.into_iter().map(Metric::key).collect()
}

/// Keys of all figures of own metrics.
#[pyfunction]
pub(super) fn figure_keys() -> Vec<&'static str> {
    Figure::ALL.into_iter().map(Figure::key).collect()
}

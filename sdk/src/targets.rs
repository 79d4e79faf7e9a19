//! Where this machine may connect to for its own user, judged in Rust.
//!
//! Must never decide by itself what is open: `loadpilot_engine::check::target_policy` does.

use loadpilot_engine::check;
use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_events::plan::Plan;
use loadpilot_events::refusal::Refusal;
use pyo3::prelude::*;

use crate::python::{json, refused};

/// What is wrong with where a sound plan connects to, on this machine, as a JSON list.
#[pyfunction]
pub(crate) fn check_target(
    py: Python<'_>,
    plan_json: &str,
    allow_targets: Vec<String>,
) -> PyResult<String> {
    let plan: Plan = check::parse_plan(plan_json).map_err(|refusal| refused(py, &refusal))?;
    let policy = target_policy(py, &allow_targets)?;
    json(&Vec::from_iter(policy.judge_plan(&plan).err()))
}

/// Where this machine may connect to beside what is open by default.
pub(crate) fn target_policy(py: Python<'_>, allowed: &[String]) -> PyResult<TargetPolicy> {
    let policy = TargetPolicy::local().allow("--allow-target", allowed.iter().map(String::as_str));
    policy.map_err(|problems| refused(py, &Refusal { problems }))
}

//! Targets to which a user's own machine may connect.
//!
//! Must never decide which addresses are open: `loadpilot_engine::check::target_policy` does.

use std::path::PathBuf;

use loadpilot_coordinator::read_ownership_key;
use loadpilot_engine::check;
use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_engine::control::ownership::host_of;
use loadpilot_events::TenantId;
use loadpilot_events::plan::Plan;
use loadpilot_events::refusal::{Problem, Refusal};
use pyo3::prelude::*;

use super::errors::refused;
use super::values::json;

/// Checks the target of a valid plan on this machine; the problems as a JSON list.
#[pyfunction]
pub(super) fn check_target(
    py: Python<'_>,
    plan_json: &str,
    allow_targets: Vec<String>,
) -> PyResult<String> {
    let plan: Plan = check::parse_plan(plan_json).map_err(|refusal| refused(py, &refusal))?;
    let policy = target_policy(py, &allow_targets)?;
    json(&Vec::from_iter(policy.judge_plan(&plan).err()))
}

/// The line by which a host shows that a tenant may load it; `host` is a name, an address or a URL.
#[pyfunction]
pub(super) fn ownership_token(
    py: Python<'_>,
    key_file: PathBuf,
    tenant: &str,
    host: &str,
) -> PyResult<String> {
    let key = read_ownership_key("--key-file", &key_file);
    let tenant = TenantId::parse(tenant)
        .map_err(|problem| Problem::new("TENANT", problem.rule, problem.value));
    match (key, tenant) {
        (Ok(key), Ok(tenant)) => Ok(key.token(&tenant, host_of(host))),
        (key, tenant) => {
            let problems = key.err().into_iter().chain(tenant.err()).collect();
            Err(refused(py, &Refusal { problems }))
        }
    }
}

/// The policy that also opens `allowed`.
pub(crate) fn target_policy(py: Python<'_>, allowed: &[String]) -> PyResult<TargetPolicy> {
    let policy = TargetPolicy::local().allow("--allow-target", allowed.iter().map(String::as_str));
    // The command runs for its own user: everything behind a proxy is open to that user.
    let policy = policy.map(TargetPolicy::with_proxies);
    policy.map_err(|problems| refused(py, &Refusal { problems }))
}

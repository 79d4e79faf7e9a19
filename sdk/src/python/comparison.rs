//! Comparisons of runs, for Python: JSON in, JSON out.

use loadpilot_engine::report::compare::run_parts::parts_of_report as of_report;
use loadpilot_events::answers::compare::RunParts;
use loadpilot_events::answers::report::Report;
use loadpilot_events::refusal::{Problem, Refusal};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

use super::errors::refused;
use super::values::json;

/// The parts of a results file: the whole run in one part.
#[pyfunction]
pub(super) fn parts_of_report(py: Python<'_>, report_json: &str) -> PyResult<String> {
    let report: Report = read(py, "the report", report_json)?;
    json(&of_report(&report))
}

/// Compares a run with its baseline.
#[pyfunction]
pub(super) fn compare(
    py: Python<'_>,
    current_json: &str,
    baseline_json: &str,
    threshold_pct: f64,
) -> PyResult<String> {
    let current: RunParts = read(py, "the current run", current_json)?;
    let baseline: Vec<RunParts> = read(py, "the baseline", baseline_json)?;
    let compare = loadpilot_engine::report::compare::compare;
    let comparison = py.detach(|| compare(&current, &baseline, threshold_pct));
    json(&comparison.map_err(|refusal| refused(py, &refusal))?)
}

fn read<T: DeserializeOwned>(py: Python<'_>, what: &str, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| {
        let rule = "must be one that this version reads";
        let problems = vec![Problem::new(what, rule, error)];
        refused(py, &Refusal { problems })
    })
}

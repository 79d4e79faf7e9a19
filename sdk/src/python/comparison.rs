//! Comparisons and searches of runs, for Python: JSON in, JSON out.

use loadpilot_engine::report::compare::run_parts::parts_of_report as of_report;
use loadpilot_engine::search::max_rate::compare as compare_searches;
use loadpilot_engine::search::probe::{probe_of_search, settings_text};
use loadpilot_engine::search::search;
use loadpilot_events::answers::compare::RunParts;
use loadpilot_events::answers::compare::search::{Search, SearchProbes, SearchSettings};
use loadpilot_events::answers::report::Report;
use loadpilot_events::refusal::{Problem, Refusal};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

use super::errors::refused;
use super::values::json;

/// The parts of a results file: one part for the whole run, and one for each task.
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

/// The settings of a search as the value of a tag.
#[pyfunction]
pub(super) fn search_settings(py: Python<'_>, settings_json: &str) -> PyResult<String> {
    let settings: SearchSettings = read(py, "the settings", settings_json)?;
    Ok(settings_text(&settings))
}

/// The probe that a run is in its search.
#[pyfunction]
pub(super) fn search_probe(py: Python<'_>, report_json: &str) -> PyResult<String> {
    let report: Report = read(py, "the report", report_json)?;
    json(&probe_of_search(&report).map_err(|refusal| refused(py, &refusal))?)
}

/// A search, judged by its probes.
#[pyfunction]
pub(super) fn search_state(py: Python<'_>, search_json: &str) -> PyResult<String> {
    let probes: SearchProbes = read(py, "the search", search_json)?;
    json(&search(probes))
}

/// Compares the maximum working rates of two searches.
#[pyfunction]
pub(super) fn compare_max_rates(
    py: Python<'_>,
    current_json: &str,
    baseline_json: &str,
    threshold_pct: f64,
) -> PyResult<String> {
    let current: Search = read(py, "the current search", current_json)?;
    let baseline: Search = read(py, "the earlier search", baseline_json)?;
    let comparison = compare_searches(&current, &baseline, threshold_pct);
    json(&comparison.map_err(|refusal| refused(py, &refusal))?)
}

fn read<T: DeserializeOwned>(py: Python<'_>, what: &str, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| {
        let rule = "must be one that this version reads";
        let problems = vec![Problem::new(what, rule, error)];
        refused(py, &Refusal { problems })
    })
}

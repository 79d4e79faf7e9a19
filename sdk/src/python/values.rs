//! Values for and from Python: JSON, run ids, durations.

use std::time::Duration;

use loadpilot_events::RunId;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::errors::{Fault, invalid};

/// `value` as JSON.
pub(super) fn json<T: Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| Fault::new_err(error.to_string()))
}

/// Reads one of the words of a closed set; `field` is its name in errors.
pub(crate) fn parsed<T: DeserializeOwned>(field: &str, word: &str) -> PyResult<T> {
    serde_json::from_value(word.into())
        .map_err(|error| PyValueError::new_err(format!("{field}: {error}")))
}

/// Reads the id of a run.
pub(crate) fn run_id(run: &str) -> PyResult<RunId> {
    RunId::parse(run).map_err(|problem| invalid(&problem))
}

/// Reads a duration in seconds; `field` is its name in errors.
pub(crate) fn seconds(field: &str, secs: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(secs)
        .map_err(|error| PyValueError::new_err(format!("{field}: {error}")))
}

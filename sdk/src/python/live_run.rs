//! A run in progress, for Python.

use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, mpsc};

use super::blocking::wait;
use super::errors::Fault;
use super::values::{json, seconds};
use crate::follow::RunUpdate;

/// Follows one run.
#[pyclass(name = "Watch", module = "loadpilot._native")]
pub(super) struct PyWatch {
    runtime: Arc<Runtime>,
    updates: Mutex<mpsc::Receiver<RunUpdate>>,
}

impl PyWatch {
    pub(super) fn new(runtime: Arc<Runtime>, updates: mpsc::Receiver<RunUpdate>) -> Self {
        let updates = Mutex::new(updates);
        Self { runtime, updates }
    }
}

#[pymethods]
impl PyWatch {
    fn next(&self, py: Python<'_>, timeout_secs: f64) -> PyResult<Option<String>> {
        let deadline = Instant::now() + seconds("timeout_secs", timeout_secs)?;
        let next = async {
            let mut updates = self.updates.lock().await;
            tokio::time::timeout_at(deadline.into(), updates.recv()).await
        };
        match wait(py, &self.runtime, next)? {
            Err(_elapsed) => Ok(None),
            Ok(None) => Err(Fault::new_err("the run is not followed any more")),
            Ok(Some(RunUpdate::Fault(reason))) => Err(Fault::new_err(reason)),
            Ok(Some(update)) => json(&update).map(Some),
        }
    }
}

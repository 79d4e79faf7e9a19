//! A run as it goes on, for Python.

use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, mpsc};

use super::{Fault, json, secs, wait};
use crate::follow::Change;

/// A run as it goes on.
#[pyclass(name = "Watch", module = "loadpilot._native")]
pub(super) struct PyWatch {
    runtime: Arc<Runtime>,
    changes: Mutex<mpsc::Receiver<Change>>,
}

impl PyWatch {
    pub(super) fn new(runtime: Arc<Runtime>, changes: mpsc::Receiver<Change>) -> Self {
        let changes = Mutex::new(changes);
        Self { runtime, changes }
    }
}

#[pymethods]
impl PyWatch {
    fn next(&self, py: Python<'_>, timeout_secs: f64) -> PyResult<Option<String>> {
        let deadline = Instant::now() + secs("timeout_secs", timeout_secs)?;
        let next = async {
            let mut changes = self.changes.lock().await;
            tokio::time::timeout_at(deadline.into(), changes.recv()).await
        };
        match wait(py, &self.runtime, next)? {
            Err(_elapsed) => Ok(None),
            Ok(None) => Err(Fault::new_err("the run is not followed any more")),
            Ok(Some(Change::Fault(reason))) => Err(Fault::new_err(reason)),
            Ok(Some(change)) => json(&change).map(Some),
        }
    }
}

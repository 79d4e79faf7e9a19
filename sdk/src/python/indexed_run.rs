//! An indexed run for Python: JSON in, JSON out, from any thread.

use std::sync::Arc;

use pyo3::prelude::*;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{failed, json, refused, wait};
use crate::indexed_run::{IndexedRun, parse_query};

/// One run's log, indexed.
#[pyclass(name = "Reading", module = "loadpilot._native")]
pub(super) struct PyReading {
    runtime: Arc<Runtime>,
    indexed: Arc<Mutex<IndexedRun>>,
}

impl PyReading {
    pub(super) fn new(runtime: Arc<Runtime>, indexed: IndexedRun) -> Self {
        let indexed = Arc::new(Mutex::new(indexed));
        Self { runtime, indexed }
    }

    /// The run, when no other thread uses it. Waited for without the GIL: whoever has it may need
    /// the GIL to be done.
    fn mine(&self, py: Python<'_>) -> PyResult<OwnedMutexGuard<IndexedRun>> {
        wait(py, &self.runtime, Arc::clone(&self.indexed).lock_owned())
    }
}

/// Waits for an answer and tells it as JSON.
macro_rules! answer {
    ($self:ident, $py:ident, $indexed:ident => $ask:expr) => {{
        let mut $indexed = $self.mine($py)?;
        let told = wait($py, &$self.runtime, async move {
            let answer = $ask.await?;
            Ok(serde_json::to_string(&answer))
        })?;
        let told = told.map_err(|error| failed($py, &error))?;
        told.map_err(|error| super::Fault::new_err(error.to_string()))
    }};
}

#[pymethods]
impl PyReading {
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        let mut indexed = self.mine(py)?;
        let changed = wait(py, &self.runtime, indexed.refresh())?;
        changed.map_err(|error| failed(py, &error))
    }

    fn position(&self, py: Python<'_>) -> PyResult<String> {
        json(&self.mine(py)?.position())
    }

    #[pyo3(signature = (as_of_us = None))]
    fn report(&self, py: Python<'_>, as_of_us: Option<u64>) -> PyResult<String> {
        answer!(self, py, indexed => indexed.report(as_of_us))
    }

    fn series(&self, py: Python<'_>, slice_json: &str) -> PyResult<String> {
        let slice = parse_query(slice_json).map_err(|refusal| refused(py, &refusal))?;
        answer!(self, py, indexed => indexed.series(&slice))
    }

    fn heat(&self, py: Python<'_>, slice_json: &str) -> PyResult<String> {
        let slice = parse_query(slice_json).map_err(|refusal| refused(py, &refusal))?;
        answer!(self, py, indexed => indexed.heat(&slice))
    }

    fn errors(&self, py: Python<'_>, slice_json: &str) -> PyResult<String> {
        let slice = parse_query(slice_json).map_err(|refusal| refused(py, &refusal))?;
        answer!(self, py, indexed => indexed.errors(&slice))
    }

    #[pyo3(signature = (as_of_us = None))]
    fn agents(&self, py: Python<'_>, as_of_us: Option<u64>) -> PyResult<String> {
        answer!(self, py, indexed => indexed.agents(as_of_us))
    }

    fn story(&self, py: Python<'_>, after: u64, limit: usize) -> PyResult<String> {
        json(&self.mine(py)?.timeline_page(after, limit))
    }

    fn verdict(&self, py: Python<'_>, question_json: &str) -> PyResult<String> {
        let question = parse_query(question_json).map_err(|refusal| refused(py, &refusal))?;
        answer!(self, py, indexed => indexed.verdict(&question))
    }
}

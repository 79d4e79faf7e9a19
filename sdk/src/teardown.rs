//! The Python face of setup and teardown: who took them upon himself, and what a teardown needs.
//!
//! Must never hold the GIL while it waits.

use std::collections::BTreeMap;

use bytes::Bytes;
use loadpilot_events::log::teardown::SetupClaimed;
use loadpilot_events::{OwnerId, RunId};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::python::{PySession, failed, json, run_id, wait};

/// What one run owes, as one command sees it.
#[pyclass(name = "Ledger", module = "loadpilot._native")]
pub(crate) struct PyLedger {
    session: Py<PySession>,
    run: RunId,
    claimant: OwnerId,
}

impl PyLedger {
    pub(crate) fn new(session: Py<PySession>, run: &str, claimant: &str) -> PyResult<Self> {
        let claimant = OwnerId::parse(claimant);
        Ok(Self {
            session,
            run: run_id(run)?,
            claimant: claimant.map_err(|problem| PyValueError::new_err(problem.to_string()))?,
        })
    }
}

#[pymethods]
impl PyLedger {
    fn owed(&self, py: Python<'_>) -> PyResult<String> {
        let its = self.session.get();
        let session = its.beside(py)?;
        let owed = wait(py, &its.runtime(), session.teardown_status(&self.run))?;
        json(&owed.map_err(|error| failed(py, &error))?)
    }

    fn claim_setup(
        &self,
        py: Python<'_>,
        claim_json: &str,
        bundle: PyBackedBytes,
        secrets: BTreeMap<String, String>,
    ) -> PyResult<()> {
        let claim: SetupClaimed = serde_json::from_str(claim_json)
            .map_err(|error| PyValueError::new_err(format!("not a SetupClaimed: {error}")))?;
        let its = self.session.get();
        let mut session = its.alone(py)?;
        let bundle = Bytes::from_owner(bundle);
        let claimed = session.claim_setup(&self.run, claim, bundle, &secrets);
        wait(py, &its.runtime(), claimed)?.map_err(|error| failed(py, &error))
    }

    fn keep(&self, py: Python<'_>, sealed: PyBackedBytes, key: &str) -> PyResult<()> {
        let its = self.session.get();
        let session = its.beside(py)?;
        let sealed = Bytes::from_owner(sealed);
        let kept = session.store_setup_states(&self.run, &self.claimant, sealed, key);
        wait(py, &its.runtime(), kept)?.map_err(|error| failed(py, &error))
    }

    fn claim_teardown(&self, py: Python<'_>, by: &str, is_gone: bool) -> PyResult<String> {
        let its = self.session.get();
        let mut session = its.alone(py)?;
        let claimed = session.claim_teardown(&self.run, &self.claimant, by, is_gone);
        let claimed = wait(py, &its.runtime(), claimed)?;
        json(&claimed.map_err(|error| failed(py, &error))?)
    }

    fn finish(&self, py: Python<'_>, names: Vec<String>) -> PyResult<()> {
        let its = self.session.get();
        let session = its.beside(py)?;
        let finished = session.finish_teardown(&self.run, &self.claimant, names);
        wait(py, &its.runtime(), finished)?.map_err(|error| failed(py, &error))
    }

    fn means(&self, py: Python<'_>) -> PyResult<String> {
        let its = self.session.get();
        let session = its.beside(py)?;
        let means = wait(py, &its.runtime(), session.teardown_inputs(&self.run))?;
        json(&means.map_err(|error| failed(py, &error))?)
    }

    fn kept(&self, py: Python<'_>, states: bool) -> PyResult<Vec<u8>> {
        let its = self.session.get();
        let session = its.beside(py)?;
        let kept = wait(
            py,
            &its.runtime(),
            session.teardown_archive(&self.run, states),
        )?;
        Ok(kept.map_err(|error| failed(py, &error))?.to_vec())
    }
}

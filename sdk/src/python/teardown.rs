//! Setup and teardown of one run, for Python: the claims of one command.

use std::collections::BTreeMap;

use bytes::Bytes;
use loadpilot_events::log::teardown::SetupClaimed;
use loadpilot_events::{OwnerId, RunId};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use super::connection::Connection;
use super::errors::invalid;
use super::values::{json, run_id};

/// Setup and teardown of one run, as one command claims them.
#[pyclass(name = "Ledger", module = "loadpilot._native", frozen)]
pub(super) struct PyLedger {
    connection: Connection,
    run: RunId,
    claimant: OwnerId,
}

impl PyLedger {
    pub(super) fn new(connection: Connection, run: &str, claimant: &str) -> PyResult<Self> {
        Ok(Self {
            connection,
            run: run_id(run)?,
            claimant: OwnerId::parse(claimant).map_err(|problem| invalid(&problem))?,
        })
    }
}

#[pymethods]
impl PyLedger {
    fn owed(&self, py: Python<'_>) -> PyResult<String> {
        let session = self.connection.query_session(py)?;
        let status = session.teardown_status(&self.run);
        json(&self.connection.result(py, status)?)
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
        let mut session = self.connection.lock(py)?;
        let bundle = Bytes::from_owner(bundle);
        let claimed = session.claim_setup(&self.run, claim, bundle, &secrets);
        self.connection.result(py, claimed)
    }

    fn keep(&self, py: Python<'_>, sealed: PyBackedBytes, key: &str) -> PyResult<()> {
        let session = self.connection.query_session(py)?;
        let sealed = Bytes::from_owner(sealed);
        let stored = session.store_setup_states(&self.run, &self.claimant, sealed, key);
        self.connection.result(py, stored)
    }

    fn claim_teardown(&self, py: Python<'_>, by: &str, is_gone: bool) -> PyResult<String> {
        let mut session = self.connection.lock(py)?;
        let claimed = session.claim_teardown(&self.run, &self.claimant, by, is_gone);
        json(&self.connection.result(py, claimed)?)
    }

    fn finish(&self, py: Python<'_>, names: Vec<String>) -> PyResult<()> {
        let session = self.connection.query_session(py)?;
        let finished = session.finish_teardown(&self.run, &self.claimant, names);
        self.connection.result(py, finished)
    }

    fn means(&self, py: Python<'_>) -> PyResult<String> {
        let session = self.connection.query_session(py)?;
        json(
            &self
                .connection
                .result(py, session.teardown_inputs(&self.run))?,
        )
    }

    fn read_archive(&self, py: Python<'_>, states: bool) -> PyResult<Vec<u8>> {
        let session = self.connection.query_session(py)?;
        let archive = session.teardown_archive(&self.run, states);
        Ok(self.connection.result(py, archive)?.to_vec())
    }
}

//! A session of the client, for Python.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use loadpilot_bus::{Limits, Options};
use loadpilot_events::log::req::{Breach, RunAnnotated, RunRequested};
use loadpilot_events::wire::subject::{DEFAULT_PREFIX, DEFAULT_TENANT};
use loadpilot_events::{Rate, RunId};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

use super::connection::Connection;
use super::errors::{failed, refused};
use super::indexed_run::{PyReading, return_free_memory};
use super::live_run::PyWatch;
use super::nats_server::Server;
use super::samples::{PySamples, form as sample_form};
use super::teardown::PyLedger;
use super::values::{json, run_id, seconds};
use crate::follow::replay::Pace;
use crate::follow::{Detail, follow_run};
use crate::indexed_run::parse_query;
use crate::run_file::signer;
use crate::server_address::ServerAddress;
use crate::session::Session;
use crate::steer::SteeringRequest;

/// Creates the id of a run. The command plays hooks of the run before it requests the run.
#[pyfunction]
pub(super) fn new_run_id() -> String {
    RunId::from_ulid(ulid::Ulid::generate()).to_string()
}

/// The public key that signed a run file; None without a signature.
#[pyfunction]
pub(super) fn run_file_signer(py: Python<'_>, path: PathBuf) -> PyResult<Option<String>> {
    let signer = py.detach(|| signer(&path));
    signer.map_err(|error| failed(py, &error))
}

/// One connection to a log.
#[pyclass(name = "Session", module = "loadpilot._native", frozen)]
pub(super) struct PySession(Connection);

impl PySession {
    pub(super) fn connection(&self) -> &Connection {
        &self.0
    }
}

/// Content that belongs to a plan and is stored separately from it.
#[derive(FromPyObject)]
enum Beside {
    Content(PyBackedBytes),
    File(PathBuf),
}

impl Beside {
    fn read(self) -> PyResult<Bytes> {
        match self {
            Self::Content(content) => Ok(Bytes::from_owner(content)),
            Self::File(path) => Ok(std::fs::read(path)?.into()),
        }
    }
}

#[pymethods]
impl PySession {
    #[new]
    #[pyo3(signature = (
        url, token, *, tenant = DEFAULT_TENANT, ctl_bytes = None, data_bytes = None,
        cacert = None,
    ))]
    fn new(
        py: Python<'_>,
        url: String,
        token: Option<String>,
        tenant: &str,
        ctl_bytes: Option<u64>,
        data_bytes: Option<u64>,
        cacert: Option<PathBuf>,
    ) -> PyResult<Self> {
        let default = Limits::default();
        let options = Options {
            token,
            cacert,
            prefix: DEFAULT_PREFIX.to_owned(),
            limits: Limits {
                ctl_bytes: ctl_bytes.unwrap_or(default.ctl_bytes),
                data_bytes: data_bytes.unwrap_or(default.data_bytes),
                ..default
            },
            ..Options::new(url)
        };
        let address = ServerAddress {
            options,
            tenant: tenant.to_owned(),
        };
        Ok(Self(Connection::open(py, Session::open(&address))?))
    }

    /// Connects to the log of a fleet, to request runs.
    #[staticmethod]
    fn join(py: Python<'_>, server: Server) -> PyResult<Self> {
        let address = server.address()?;
        Ok(Self(Connection::open(py, Session::join(&address))?))
    }

    /// Connects to the log of a fleet, to read it.
    #[staticmethod]
    fn visit(py: Python<'_>, server: Server) -> PyResult<Self> {
        let address = server.address()?;
        Ok(Self(Connection::open(py, Session::visit(&address))?))
    }

    /// Connects to a fleet without its log, for a kill switch.
    #[staticmethod]
    fn reach(py: Python<'_>, server: Server) -> PyResult<Self> {
        let address = server.address()?;
        Ok(Self(Connection::open(py, Session::reach(&address))?))
    }

    /// Opens the run in a file, to read it.
    #[staticmethod]
    fn on_file(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let opening = async move { Session::on_file(&path).await };
        Ok(Self(Connection::open(py, opening)?))
    }

    /// Writes a run to a file; `seed` is the nkey seed that signs it.
    #[pyo3(signature = (run, path, *, redact = false, seed = None))]
    fn export(
        &self,
        py: Python<'_>,
        run: &str,
        path: PathBuf,
        redact: bool,
        seed: Option<&str>,
    ) -> PyResult<String> {
        let run = run_id(run)?;
        let session = self.0.query_session(py)?;
        let export = session.export(&run, &path, redact, seed);
        json(&self.0.result(py, export)?)
    }

    #[pyo3(signature = (request_json, secrets, bodies = BTreeMap::new(), run = None))]
    fn submit(
        &self,
        py: Python<'_>,
        request_json: &str,
        secrets: BTreeMap<String, String>,
        bodies: BTreeMap<String, Beside>,
        run: Option<&str>,
    ) -> PyResult<String> {
        let request: RunRequested = serde_json::from_str(request_json)
            .map_err(|error| PyValueError::new_err(format!("not a RunRequested: {error}")))?;
        let read = |(hash, body): (String, Beside)| Ok::<_, PyErr>((hash, body.read()?));
        let bodies = bodies.into_iter().map(read).collect::<Result<_, _>>()?;
        let run = run.map(run_id).transpose()?;
        let mut session = self.0.lock(py)?;
        let submission = session.submit(request, &secrets, &bodies, run);
        Ok(self.0.result(py, submission)?.to_string())
    }

    /// Whether a watch can judge gates.
    #[classattr]
    #[pyo3(name = "judges")]
    const JUDGES: bool = true;

    #[pyo3(signature = (run, interval_secs = 1.0, *, gates = false, hold = false))]
    fn watch(
        &self,
        py: Python<'_>,
        run: &str,
        interval_secs: f64,
        gates: bool,
        hold: bool,
    ) -> PyResult<PyWatch> {
        let run = run_id(run)?;
        let detail = detail(interval_secs, gates, hold)?;
        let session = self.0.query_session(py)?;
        let (bus, subjects) = session.parts();
        let runtime = self.0.runtime();
        let _entered = runtime.enter();
        let updates = follow_run(bus, subjects, run, detail);
        Ok(PyWatch::new(Arc::clone(runtime), updates))
    }

    #[pyo3(signature = (run, speed = 1.0, from_us = 0, interval_secs = 1.0, *, gates = false))]
    fn replay(
        &self,
        py: Python<'_>,
        run: &str,
        speed: f64,
        from_us: u64,
        interval_secs: f64,
        gates: bool,
    ) -> PyResult<PyWatch> {
        let run = run_id(run)?;
        if !(speed > 0.0 && speed.is_finite()) {
            return Err(PyValueError::new_err("speed: must be above 0"));
        }
        let detail = detail(interval_secs, gates, false)?;
        let session = self.0.query_session(py)?;
        let replay = session.replay(&run, detail, Pace { speed, from_us });
        let updates = self.0.result(py, replay)?;
        Ok(PyWatch::new(Arc::clone(self.0.runtime()), updates))
    }

    #[pyo3(signature = (run, by, breach = None))]
    fn stop(
        &self,
        py: Python<'_>,
        run: &str,
        by: &str,
        breach: Option<(String, f64, f64)>,
    ) -> PyResult<()> {
        let run = run_id(run)?;
        let breach = breach.map(|(key, limit, actual)| Breach { key, limit, actual });
        let session = self.0.query_session(py)?;
        self.0.result(py, session.stop_because(&run, by, breach))
    }

    fn annotations(&self, py: Python<'_>, run: &str) -> PyResult<String> {
        let run = run_id(run)?;
        let session = self.0.query_session(py)?;
        json(&self.0.result(py, session.annotations(&run))?)
    }

    #[pyo3(signature = (run, by, text = None, baseline = None))]
    fn annotate(
        &self,
        py: Python<'_>,
        run: &str,
        by: &str,
        text: Option<String>,
        baseline: Option<bool>,
    ) -> PyResult<String> {
        let run = run_id(run)?;
        let by = by.to_owned();
        let annotated = RunAnnotated { by, text, baseline };
        let session = self.0.query_session(py)?;
        json(&self.0.result(py, session.annotate(&run, annotated))?)
    }

    #[pyo3(signature = (run, action, by, patience_secs, rate_urps = None))]
    fn steer(
        &self,
        py: Python<'_>,
        run: &str,
        action: &str,
        by: &str,
        patience_secs: f64,
        rate_urps: Option<u64>,
    ) -> PyResult<String> {
        let run = run_id(run)?;
        let request = match (action, rate_urps) {
            ("stop", None) => SteeringRequest::Stop,
            ("pause", None) => SteeringRequest::Pause,
            ("resume", None) => SteeringRequest::Resume,
            ("rate", Some(urps)) => SteeringRequest::Rate(Rate(urps)),
            _ => return Err(PyValueError::new_err(format!("no such action: {action}"))),
        };
        let timeout = seconds("patience_secs", patience_secs)?;
        let session = self.0.query_session(py)?;
        json(
            &self
                .0
                .result(py, session.steer(&run, request, by, timeout))?,
        )
    }

    fn agents(&self, py: Python<'_>, patience_secs: f64) -> PyResult<String> {
        let timeout = seconds("patience_secs", patience_secs)?;
        let session = self.0.query_session(py)?;
        json(&self.0.result(py, session.agents(timeout))?)
    }

    fn unfinished(&self, py: Python<'_>, run: &str) -> PyResult<String> {
        let run = run_id(run)?;
        let session = self.0.query_session(py)?;
        json(&self.0.result(py, session.unfinished(&run))?)
    }

    fn adopt(&self, py: Python<'_>, run: &str) -> PyResult<()> {
        let run = run_id(run)?;
        let mut session = self.0.lock(py)?;
        self.0.result(py, session.adopt(&run))
    }

    fn halt(&self, py: Python<'_>, run: &str) -> PyResult<()> {
        let run = run_id(run)?;
        let session = self.0.query_session(py)?;
        self.0.result(py, session.halt(&run))
    }

    fn report(&self, py: Python<'_>, run: &str) -> PyResult<String> {
        let run = run_id(run)?;
        let session = self.0.query_session(py)?;
        json(&self.0.result(py, session.report(&run))?)
    }

    fn plan(&self, py: Python<'_>, run: &str) -> PyResult<String> {
        let run = run_id(run)?;
        let session = self.0.query_session(py)?;
        json(&self.0.result(py, session.plan(&run))?)
    }

    fn bodies<'py>(&self, py: Python<'py>, run: &str) -> PyResult<Bound<'py, PyDict>> {
        let run = run_id(run)?;
        let session = self.0.query_session(py)?;
        let found = PyDict::new(py);
        for (sha256, content) in self.0.result(py, session.bodies(&run))? {
            found.set_item(sha256, PyBytes::new(py, &content))?;
        }
        Ok(found)
    }

    fn parts(&self, py: Python<'_>, run: &str) -> PyResult<String> {
        let run = run_id(run)?;
        let session = self.0.query_session(py)?;
        let parts = async { session.read(&run, None).await?.parts().await };
        json(&self.0.result(py, parts)?)
    }

    #[pyo3(signature = (run, known_json = None))]
    fn verify(&self, py: Python<'_>, run: &str, known_json: Option<&str>) -> PyResult<String> {
        let run = run_id(run)?;
        let known = known_json.map(serde_json::from_str).transpose();
        let known: Option<serde_json::Value> =
            known.map_err(|error| PyValueError::new_err(format!("not a report: {error}")))?;
        let session = self.0.query_session(py)?;
        json(&self.0.result(py, session.verify(&run, known.as_ref()))?)
    }

    fn samples(&self, py: Python<'_>, run: &str, path: PathBuf) -> PyResult<String> {
        let run = run_id(run)?;
        let mut table = BufWriter::new(File::create(path)?);
        let session = self.0.query_session(py)?;
        json(&self.0.result(py, session.samples(&run, &mut table))?)
    }

    #[pyo3(signature = (run, slice_json = "{}", form = "table"))]
    fn read_samples(
        &self,
        py: Python<'_>,
        run: &str,
        slice_json: &str,
        form: &str,
    ) -> PyResult<PySamples> {
        let run = run_id(run)?;
        let slice = parse_query(slice_json).map_err(|refusal| refused(py, &refusal))?;
        let mut text = sample_form(form)?;
        let session = self.0.query_session(py)?;
        let opening = async {
            session.announce_samples(&run, &slice, &mut text).await?;
            session.sample_reader(&run, &slice).await
        };
        let reader = self.0.result(py, opening)?;
        Ok(PySamples::new(Arc::clone(self.0.runtime()), reader, text))
    }

    fn runs(&self, py: Python<'_>) -> PyResult<String> {
        let session = self.0.query_session(py)?;
        json(&self.0.result(py, session.runs())?)
    }

    #[pyo3(signature = (runs, *, forgets = false))]
    fn prune(&self, py: Python<'_>, runs: Vec<String>, forgets: bool) -> PyResult<usize> {
        let runs = runs
            .iter()
            .map(|run| run_id(run))
            .collect::<PyResult<Vec<_>>>()?;
        let session = self.0.query_session(py)?;
        self.0.result(py, session.prune(&runs, forgets))
    }

    #[pyo3(signature = (run, cache = None))]
    fn read(&self, py: Python<'_>, run: &str, cache: Option<PathBuf>) -> PyResult<PyReading> {
        let run = run_id(run)?;
        let session = self.0.query_session(py)?;
        let indexed = self.0.result(py, session.read(&run, cache))?;
        return_free_memory();
        Ok(PyReading::new(Arc::clone(self.0.runtime()), indexed))
    }

    fn log_state(&self, py: Python<'_>) -> PyResult<String> {
        let session = self.0.query_session(py)?;
        json(&self.0.result(py, session.log_state())?)
    }

    fn ledger(&self, run: &str, claimant: &str) -> PyResult<PyLedger> {
        PyLedger::new(self.0.clone(), run, claimant)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.0.lock(py)?.close();
        Ok(())
    }
}

/// The settings of a live view.
fn detail(interval_secs: f64, gates: bool, hold: bool) -> PyResult<Detail> {
    let snapshot_interval = seconds("interval_secs", interval_secs)?;
    if snapshot_interval.is_zero() {
        return Err(PyValueError::new_err("interval_secs: must be above 0"));
    }
    Ok(Detail {
        snapshot_interval,
        gates,
        hold,
    })
}

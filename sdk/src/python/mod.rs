//! The Python face of the native module: conversions, errors and the GIL, nothing else.
//!
//! Must never hold the GIL while it waits, and must let Ctrl-C through while it does.

mod indexed_run;
mod live_run;

use std::collections::BTreeMap;
use std::fs::File;
use std::future::Future;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use loadpilot_bus::Limits;
use loadpilot_engine::check;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::log::metrics::Figure;
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::threshold::Metric;
use loadpilot_events::refusal::{Problem, Refusal};
use loadpilot_events::wire::subject::{DEFAULT_PREFIX, DEFAULT_TENANT};
use loadpilot_events::{Rate, RunId, units};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::follow::follow_run;
use crate::nats_url::{shown_address, token_exposed_to};
use crate::play::{
    Interpreter, PyClient, PyPlayer, PyRehearsal, PyRehearsedUser, PyRequest, PyResponse, PyTurn,
    PyWanted, drawn, due_us, measure, moves, note_blocking, open_states, raise_in, row,
    seal_states, whose_turn,
};
use crate::run_request::{ask, check_asked};
use crate::server_address::ServerAddress;
use crate::session::{Session, SessionError};
use crate::steer::SteeringRequest;
use crate::targets::check_target;
use crate::teardown::PyLedger;

use indexed_run::PyReading;
use live_run::PyWatch;

create_exception!(
    _native,
    Refused,
    PyValueError,
    "A request was refused; the user can fix it."
);
create_exception!(_native, Fault, PyRuntimeError, "The world failed.");

/// How long a wait may last before Python's signals are looked at.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// The module.
#[pymodule]
pub mod _native {
    #[pymodule_export]
    use super::{
        Fault, PyClient, PyLedger, PyPlayer, PyReading, PyRehearsal, PyRehearsedUser, PyRequest,
        PyResponse, PySession, PyTurn, PyWanted, PyWatch, Refused, agent_main, ask, check_asked,
        check_plan, check_target, coordinator_main, drawn, due_us, figure_keys, measure,
        metric_keys, moves, new_run_id, note_blocking, open_states, parse_duration_us,
        parse_rate_urps, plan_facts, raise_in, row, seal_states, shown_address, supervisor_main,
        token_exposed_to, whose_turn,
    };
}

pub(crate) fn refused(py: Python<'_>, refusal: &Refusal) -> PyErr {
    let error = Refused::new_err(refusal.to_string());
    let problems = serde_json::to_string(&refusal.problems).unwrap_or_default();
    match error.value(py).setattr("problems", problems) {
        Ok(()) => error,
        Err(other) => other,
    }
}

pub(crate) fn failed(py: Python<'_>, error: &SessionError) -> PyErr {
    match error {
        SessionError::Refused(refusal) => refused(py, refusal),
        SessionError::NoFleet(_)
        | SessionError::Fault(_)
        | SessionError::Append(_)
        | SessionError::Write(_) => Fault::new_err(error.to_string()),
    }
}

fn invalid(problem: &Problem) -> PyErr {
    PyValueError::new_err(problem.to_string())
}

pub(crate) fn json<T: serde::Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| Fault::new_err(error.to_string()))
}

/// Everything that is wrong with a plan, as a JSON list.
#[pyfunction]
fn check_plan(plan_json: &str) -> PyResult<String> {
    let problems = check::parse_plan(plan_json)
        .err()
        .map(|refusal| refusal.problems);
    json(&problems.unwrap_or_default())
}

/// What a sound plan amounts to, as a JSON object.
#[pyfunction]
fn plan_facts(py: Python<'_>, plan_json: &str, seed: u64) -> PyResult<String> {
    let plan: Plan = check::parse_plan(plan_json).map_err(|refusal| refused(py, &refusal))?;
    let workload = Workload::new(&plan, seed);
    let mut told = facts(&plan, &workload);
    told["canonical"] = plan.to_json().into();
    json(&told)
}

pub(crate) fn facts(plan: &Plan, workload: &Workload) -> serde_json::Value {
    serde_json::json!({
        "hash": plan.hash(),
        "users": workload.users(),
        "planned": workload.planned(),
        "duration_us": workload.duration_us(),
        "peak_rps": plan.profile.peak().as_rps(),
        "planned_per_task": workload.count_per_task(0..workload.planned()),
    })
}

/// A duration in µs.
#[pyfunction]
fn parse_duration_us(field: &str, text: &str) -> PyResult<u64> {
    units::parse_duration_us(field, text).map_err(|problem| invalid(&problem))
}

/// A rate in millionths per second.
#[pyfunction]
fn parse_rate_urps(field: &str, text: &str) -> PyResult<u64> {
    units::parse_rate(field, text)
        .map(|rate| rate.0)
        .map_err(|problem| invalid(&problem))
}

/// The keys of all metrics.
#[pyfunction]
fn metric_keys() -> Vec<&'static str> {
    Metric::ALL.into_iter().map(Metric::key).collect()
}

/// The keys of all figures of a scenario's own metrics.
#[pyfunction]
fn figure_keys() -> Vec<&'static str> {
    Figure::ALL.into_iter().map(Figure::key).collect()
}

/// Runs a coordinator; returns the exit code.
#[pyfunction]
fn coordinator_main(py: Python<'_>, argv: Vec<String>) -> i32 {
    let program = "loadpilot-coordinator".to_owned();
    py.detach(|| loadpilot_coordinator::main_from([program].into_iter().chain(argv)))
}

/// Runs an agent; returns the exit code.
#[pyfunction]
fn agent_main(py: Python<'_>, argv: Vec<String>) -> i32 {
    let program = "loadpilot-agent".to_owned();
    let argv = [program].into_iter().chain(argv);
    py.detach(|| loadpilot_agent::main_with(argv, Some(Arc::new(Interpreter))))
}

/// Runs a local stack; returns the exit code.
#[pyfunction]
fn supervisor_main(py: Python<'_>, argv: Vec<String>) -> i32 {
    py.detach(|| crate::supervisor::main(argv.into_iter().map(Into::into).collect()))
}

/// What the next run may be called: parts of it are played before it is asked for.
#[pyfunction]
fn new_run_id() -> String {
    RunId::from_ulid(ulid::Ulid::generate()).to_string()
}

/// Runs `future` without the GIL until it is done or a Python signal handler raises.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    runtime: &Runtime,
    future: impl Future<Output = T> + Send,
) -> PyResult<T> {
    let mut future = Box::pin(future);
    loop {
        let slice = async { tokio::time::timeout(SIGNALS_EVERY, future.as_mut()).await };
        if let Ok(done) = py.detach(|| runtime.block_on(slice)) {
            return Ok(done);
        }
        py.check_signals()?;
    }
}

/// One connection to a log.
#[pyclass(name = "Session", module = "loadpilot._native", frozen)]
pub(crate) struct PySession {
    runtime: Arc<Runtime>,
    session: Arc<Mutex<Session>>,
}

impl PySession {
    pub(crate) fn runtime(&self) -> Arc<Runtime> {
        Arc::clone(&self.runtime)
    }

    /// Another session on the same connection, for a question: nobody waits for its answer but who
    /// asked. The lock is waited for without the GIL: whoever has it may need the GIL to be done.
    pub(crate) fn beside(&self, py: Python<'_>) -> PyResult<Session> {
        let session = wait(py, &self.runtime, Arc::clone(&self.session).lock_owned())?;
        let (bus, subjects) = session.parts();
        Ok(Session::on(bus, subjects))
    }

    /// The session itself, which keeps a run owned.
    pub(crate) fn alone(&self, py: Python<'_>) -> PyResult<OwnedMutexGuard<Session>> {
        wait(py, &self.runtime, Arc::clone(&self.session).lock_owned())
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
        let address = ServerAddress {
            limits: Limits {
                ctl_bytes: ctl_bytes.unwrap_or(default.ctl_bytes),
                data_bytes: data_bytes.unwrap_or(default.data_bytes),
                ..default
            },
            ..fleet((url, cacert), token, None, tenant)
        };
        connected(py, Session::open(&address))
    }

    /// One on the log of a fleet that can be asked for runs.
    #[staticmethod]
    #[pyo3(signature = (url, token, creds, tenant, cacert = None))]
    fn join(
        py: Python<'_>,
        url: String,
        token: Option<String>,
        creds: Option<PathBuf>,
        tenant: &str,
        cacert: Option<PathBuf>,
    ) -> PyResult<Self> {
        connected(
            py,
            Session::join(&fleet((url, cacert), token, creds, tenant)),
        )
    }

    /// One on the log of a fleet, to read what it holds.
    #[staticmethod]
    #[pyo3(signature = (url, token, creds, tenant, cacert = None))]
    fn visit(
        py: Python<'_>,
        url: String,
        token: Option<String>,
        creds: Option<PathBuf>,
        tenant: &str,
        cacert: Option<PathBuf>,
    ) -> PyResult<Self> {
        connected(
            py,
            Session::visit(&fleet((url, cacert), token, creds, tenant)),
        )
    }

    #[pyo3(signature = (request_json, secrets, bodies = BTreeMap::new(), run = None))]
    fn submit(
        &self,
        py: Python<'_>,
        request_json: &str,
        secrets: BTreeMap<String, String>,
        bodies: BTreeMap<String, PyBackedBytes>,
        run: Option<&str>,
    ) -> PyResult<String> {
        let request: RunRequested = serde_json::from_str(request_json)
            .map_err(|error| PyValueError::new_err(format!("not a RunRequested: {error}")))?;
        let shared = |(hash, body)| (hash, Bytes::from_owner(body));
        let bodies = bodies.into_iter().map(shared).collect();
        let run = run.map(run_id).transpose()?;
        let mut session = self.alone(py)?;
        let submit = session.submit(request, &secrets, &bodies, run);
        let run = wait(py, &self.runtime, submit)?;
        run.map(|run| run.to_string())
            .map_err(|error| failed(py, &error))
    }

    fn watch(&self, py: Python<'_>, run: &str) -> PyResult<PyWatch> {
        let run = run_id(run)?;
        let session = self.beside(py)?;
        let (bus, subjects) = session.parts();
        let _runtime = self.runtime.enter();
        let updates = follow_run(bus, subjects, run);
        Ok(PyWatch::new(Arc::clone(&self.runtime), updates))
    }

    fn stop(&self, py: Python<'_>, run: &str, by: &str) -> PyResult<()> {
        let run = run_id(run)?;
        let session = self.beside(py)?;
        wait(py, &self.runtime, session.stop(&run, by))?.map_err(|error| failed(py, &error))
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
        let patience = secs("patience_secs", patience_secs)?;
        let session = self.beside(py)?;
        let answer = wait(
            py,
            &self.runtime,
            session.steer(&run, request, by, patience),
        )?;
        json(&answer.map_err(|error| failed(py, &error))?)
    }

    fn agents(&self, py: Python<'_>, patience_secs: f64) -> PyResult<String> {
        let patience = secs("patience_secs", patience_secs)?;
        let session = self.beside(py)?;
        let agents = wait(py, &self.runtime, session.agents(patience))?;
        json(&agents.map_err(|error| failed(py, &error))?)
    }

    fn unfinished(&self, py: Python<'_>, run: &str) -> PyResult<String> {
        let run = run_id(run)?;
        let session = self.beside(py)?;
        let found = wait(py, &self.runtime, session.unfinished(&run))?;
        json(&found.map_err(|error| failed(py, &error))?)
    }

    fn adopt(&self, py: Python<'_>, run: &str) -> PyResult<()> {
        let run = run_id(run)?;
        let mut session = self.alone(py)?;
        wait(py, &self.runtime, session.adopt(&run))?.map_err(|error| failed(py, &error))
    }

    fn halt(&self, py: Python<'_>, run: &str) -> PyResult<()> {
        let run = run_id(run)?;
        let session = self.beside(py)?;
        wait(py, &self.runtime, session.halt(&run))?.map_err(|error| failed(py, &error))
    }

    fn report(&self, py: Python<'_>, run: &str) -> PyResult<String> {
        let run = run_id(run)?;
        let session = self.beside(py)?;
        let report = wait(py, &self.runtime, session.report(&run))?;
        json(&report.map_err(|error| failed(py, &error))?)
    }

    fn plan(&self, py: Python<'_>, run: &str) -> PyResult<String> {
        let run = run_id(run)?;
        let session = self.beside(py)?;
        let plan = wait(py, &self.runtime, session.plan(&run))?;
        json(&plan.map_err(|error| failed(py, &error))?)
    }

    #[pyo3(signature = (run, known_json = None))]
    fn verify(&self, py: Python<'_>, run: &str, known_json: Option<&str>) -> PyResult<String> {
        let run = run_id(run)?;
        let known = known_json.map(serde_json::from_str).transpose();
        let known: Option<serde_json::Value> =
            known.map_err(|error| PyValueError::new_err(format!("not a report: {error}")))?;
        let session = self.beside(py)?;
        let verification = wait(py, &self.runtime, session.verify(&run, known.as_ref()))?;
        json(&verification.map_err(|error| failed(py, &error))?)
    }

    fn samples(&self, py: Python<'_>, run: &str, path: PathBuf) -> PyResult<String> {
        let run = run_id(run)?;
        let mut table = BufWriter::new(File::create(path)?);
        let session = self.beside(py)?;
        let written = wait(py, &self.runtime, session.samples(&run, &mut table))?;
        json(&written.map_err(|error| failed(py, &error))?)
    }

    fn runs(&self, py: Python<'_>) -> PyResult<String> {
        let session = self.beside(py)?;
        let runs = wait(py, &self.runtime, session.runs())?;
        json(&runs.map_err(|error| failed(py, &error))?)
    }

    #[pyo3(signature = (runs, *, forgets = false))]
    fn prune(&self, py: Python<'_>, runs: Vec<String>, forgets: bool) -> PyResult<usize> {
        let runs = runs
            .iter()
            .map(|run| run_id(run))
            .collect::<PyResult<Vec<_>>>()?;
        let session = self.beside(py)?;
        wait(py, &self.runtime, session.prune(&runs, forgets))?.map_err(|error| failed(py, &error))
    }

    #[pyo3(signature = (run, cache = None))]
    fn read(&self, py: Python<'_>, run: &str, cache: Option<PathBuf>) -> PyResult<PyReading> {
        let run = run_id(run)?;
        let session = self.beside(py)?;
        let reading = wait(py, &self.runtime, session.read(&run, cache))?;
        let reading = reading.map_err(|error| failed(py, &error))?;
        Ok(PyReading::new(Arc::clone(&self.runtime), reading))
    }

    fn log_state(&self, py: Python<'_>) -> PyResult<String> {
        let session = self.beside(py)?;
        let state = wait(py, &self.runtime, session.log_state())?;
        json(&state.map_err(|error| failed(py, &error))?)
    }

    fn ledger(slf: Py<Self>, run: &str, claimant: &str) -> PyResult<PyLedger> {
        PyLedger::new(slf, run, claimant)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.alone(py)?.close();
        Ok(())
    }
}

fn secs(field: &str, secs: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(secs)
        .map_err(|error| PyValueError::new_err(format!("{field}: {error}")))
}

/// A server is its address and whom to trust for it.
fn fleet(
    (url, cacert): (String, Option<PathBuf>),
    token: Option<String>,
    creds: Option<PathBuf>,
    tenant: &str,
) -> ServerAddress {
    ServerAddress {
        url,
        token,
        creds,
        cacert,
        tenant: tenant.to_owned(),
        prefix: DEFAULT_PREFIX.to_owned(),
        limits: Limits::default(),
    }
}

/// The session that `opening` gives, with a runtime of its own.
fn connected(
    py: Python<'_>,
    opening: impl Future<Output = Result<Session, SessionError>> + Send,
) -> PyResult<PySession> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("loadpilot-session")
        .enable_all()
        .build()?;
    let session = wait(py, &runtime, opening)?.map_err(|error| failed(py, &error))?;
    Ok(PySession {
        runtime: Arc::new(runtime),
        session: Arc::new(Mutex::new(session)),
    })
}

pub(crate) fn run_id(run: &str) -> PyResult<RunId> {
    RunId::parse(run).map_err(|problem| invalid(&problem))
}

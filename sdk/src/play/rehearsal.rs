//! Rehearsal: users of a scenario without a run; a test supplies every completion, and nothing is
//! sent.
//!
//! Python and compiled code have the same interface here as on a firing thread, so that a test can
//! compare the two.

use std::collections::BTreeMap;
use std::sync::Arc;

use loadpilot_agent::users::compiled::Compiled;
use loadpilot_agent::users::script::{
    Completion, Occasion, Operation, Part, Request, Response, Scenario, Scripting, Source, User,
};
use loadpilot_engine::check::parse_plan;
use loadpilot_engine::schedule::random::DrawScope;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::Timestamp;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::plan::{Plan, Text};
use loadpilot_script::operation::Counted;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::scenario::Interpreter;

/// A scenario in rehearsal.
#[pyclass(name = "Rehearsal", module = "loadpilot._native", unsendable)]
pub(crate) struct PyRehearsal {
    scenario: Box<dyn Scenario>,
}

/// One user of it.
#[pyclass(name = "RehearsedUser", module = "loadpilot._native", unsendable)]
pub(crate) struct PyRehearsedUser {
    user: Box<dyn User>,
}

/// The next operation of a user. One of: `sends` with method, path, headers, body, timeout in µs
/// and name; a `batch` of several of these; `rests_us`, a sleep in µs; or the end of the part, with
/// `check` (whether it passed, and its error), `raised`, and its metric samples as text.
#[pyclass(name = "Wanted", module = "loadpilot._native", frozen, get_all)]
pub(crate) struct PyWanted {
    sends: Option<Sent>,
    batch: Option<Vec<Sent>>,
    rests_us: Option<u64>,
    check: Option<(bool, String)>,
    raised: Option<String>,
    measured: Vec<String>,
}

/// Completion of one request of a batch: a response, or a word.
#[derive(FromPyObject)]
enum Supplied {
    Response(u16, Vec<u8>, Vec<u8>),
    Word(String),
}

type Sent = (
    &'static str,
    String,
    Vec<(String, String)>,
    Option<Py<PyBytes>>,
    Option<u64>,
    Option<String>,
);

impl PyRehearsal {
    fn of(
        scripting: &dyn Scripting,
        bundle: &[u8],
        file: &str,
        plan: &Plan,
        seed: u64,
    ) -> PyResult<Self> {
        let parameters = plan
            .parameters
            .iter()
            .filter_map(|(name, value)| match value {
                Text::Literal(value) => Some((name.clone(), value.clone())),
                Text::Secret { .. } => None,
            });
        let tasks: Vec<String> = plan.tasks.iter().map(|task| task.name.clone()).collect();
        let source = Source {
            bundle,
            file,
            scenario: &plan.scenario,
            types: &[],
            tasks: &tasks,
            target: &plan.target,
            type_targets: &[],
            parameters: &parameters.collect::<BTreeMap<_, _>>(),
            feeds: plan.feeds(),
            row_files: &[],
            workload: &Arc::new(Workload::new(plan, seed)),
            states: None,
        };
        let scenario = scripting.load(&source).map_err(PyValueError::new_err)?;
        Ok(Self { scenario })
    }
}

fn checked_plan(plan: &str) -> PyResult<Plan> {
    parse_plan(plan).map_err(|refusal| PyValueError::new_err(refusal.to_string()))
}

#[pymethods]
impl PyRehearsal {
    /// Loads the scenario of a plan from the archive of its files, to be played in Python.
    #[staticmethod]
    #[pyo3(signature = (bundle, file, plan, seed = 0))]
    fn in_python(bundle: &[u8], file: &str, plan: &str, seed: u64) -> PyResult<Self> {
        Self::of(&Interpreter, bundle, file, &checked_plan(plan)?, seed)
    }

    /// Loads the code of a plan with the rows of its feeds, to be played as compiled code.
    #[staticmethod]
    #[pyo3(signature = (plan, rows = None, seed = 0))]
    fn in_code(plan: &str, rows: Option<&[u8]>, seed: u64) -> PyResult<Self> {
        let plan = checked_plan(plan)?;
        let code = plan.code.as_ref();
        let code = code.ok_or_else(|| PyValueError::new_err("the plan has no code"))?;
        Self::of(
            &*Compiled::scripting(code),
            rows.unwrap_or_default(),
            &code.file,
            &plan,
            seed,
        )
    }

    fn user(&self) -> PyResult<PyRehearsedUser> {
        let user = self.scenario.user(0).map_err(PyValueError::new_err)?;
        Ok(PyRehearsedUser { user })
    }
}

#[pymethods]
impl PyRehearsedUser {
    /// Begins its preparation (-1), its clean-up (-2) or a task, by its index, for an arrival that
    /// is due at `due_us`, in µs of the Unix epoch.
    #[pyo3(signature = (part, arrival = 0, due_us = 0))]
    fn begin(
        &mut self,
        py: Python<'_>,
        part: i32,
        arrival: u64,
        due_us: u64,
    ) -> PyResult<PyWanted> {
        let (part, whose) = match u16::try_from(part) {
            Ok(task) => (Part::Task(task), DrawScope::Arrival(arrival)),
            Err(_) if part == -1 => (
                Part::Start,
                DrawScope::Start {
                    user: 0,
                    session: 0,
                },
            ),
            Err(_) => (
                Part::Stop,
                DrawScope::Stop {
                    user: 0,
                    session: 0,
                },
            ),
        };
        let due = Timestamp(due_us);
        let next = self.user.begin(part, Occasion { whose, due });
        self.wanted(py, next)
    }

    /// Completes a batch: for each request a response, "timed out", "unsendable" or "stopped".
    fn all_answered(&mut self, py: Python<'_>, supplied: Vec<Supplied>) -> PyResult<PyWanted> {
        let completions = supplied.into_iter().map(|one| match one {
            Supplied::Response(status, head, body) => {
                Completion::Response(response(status, head, body))
            }
            Supplied::Word(word) if word == "timed out" => Completion::Failed {
                outcome: Outcome::Timeout,
                cause: None,
            },
            Supplied::Word(word) if word == "stopped" => Completion::Stopped,
            Supplied::Word(word) => Completion::Unsendable(word),
        });
        let next = self.user.resume(Completion::Batch(completions.collect()));
        self.wanted(py, next)
    }

    fn answered(
        &mut self,
        py: Python<'_>,
        status: u16,
        head: Vec<u8>,
        body: Vec<u8>,
    ) -> PyResult<PyWanted> {
        let completion = Completion::Response(response(status, head, body));
        let next = self.user.resume(completion);
        self.wanted(py, next)
    }

    /// The request got no complete response.
    fn timed_out(&mut self, py: Python<'_>) -> PyResult<PyWanted> {
        let completion = Completion::Failed {
            outcome: Outcome::Timeout,
            cause: None,
        };
        let next = self.user.resume(completion);
        self.wanted(py, next)
    }

    fn unsendable(&mut self, py: Python<'_>, why: String) -> PyResult<PyWanted> {
        let next = self.user.resume(Completion::Unsendable(why));
        self.wanted(py, next)
    }

    fn rested(&mut self, py: Python<'_>) -> PyResult<PyWanted> {
        let next = self.user.resume(Completion::Awake);
        self.wanted(py, next)
    }

    fn stopped(&mut self, py: Python<'_>) -> PyResult<PyWanted> {
        let next = self.user.resume(Completion::Stopped);
        self.wanted(py, next)
    }
}

impl PyRehearsedUser {
    fn wanted(&mut self, py: Python<'_>, next: Operation) -> PyResult<PyWanted> {
        let mut wanted = wanted(py, next)?;
        if wanted.sends.is_none() && wanted.batch.is_none() && wanted.rests_us.is_none() {
            let measured = self.user.take_samples();
            wanted.measured = measured.iter().map(|one| format!("{one:?}")).collect();
        }
        Ok(wanted)
    }
}

fn response(status: u16, head: Vec<u8>, body: Vec<u8>) -> Response {
    Response {
        status,
        head,
        body,
        elapsed_us: 1_000,
        counted: Counted::default(),
    }
}

fn sent(py: Python<'_>, request: &Request) -> Sent {
    let body = request.body.as_ref();
    (
        request.method.name(),
        request.path.clone(),
        request.headers.clone(),
        body.map(|body| PyBytes::new(py, body).unbind()),
        request.timeout_us,
        request.name.clone(),
    )
}

fn wanted(py: Python<'_>, next: Operation) -> PyResult<PyWanted> {
    let nothing = PyWanted {
        sends: None,
        batch: None,
        rests_us: None,
        check: None,
        raised: None,
        measured: Vec::new(),
    };
    Ok(match next {
        Operation::Send(request) => PyWanted {
            sends: Some(sent(py, &request)),
            ..nothing
        },
        Operation::Batch(requests) => PyWanted {
            batch: Some(requests.iter().map(|request| sent(py, request)).collect()),
            ..nothing
        },
        Operation::Sleep(time) => PyWanted {
            rests_us: Some(u64::try_from(time.as_micros()).unwrap_or(u64::MAX)),
            ..nothing
        },
        Operation::Ended(ended) => PyWanted {
            check: ended.check.map(|check| match check {
                Ok(()) => (true, String::new()),
                Err(text) => (false, text),
            }),
            raised: ended.raised,
            ..nothing
        },
        Operation::External | Operation::Concurrent(_) => {
            return Err(PyValueError::new_err("an event loop is not rehearsed"));
        }
    })
}

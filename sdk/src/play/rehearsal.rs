//! Users of a scenario without a run: what a test tells them is all that they hear.
//!
//! Python and code go through the same seam here as on a firing thread, so that a test can hold one
//! against the other. Must never send anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use loadpilot_agent::compiled::Compiled;
use loadpilot_agent::script::{
    Answer, Heard, Next, Occasion, Part, Scenario, Scripting, Source, User,
};
use loadpilot_engine::check::parse_plan;
use loadpilot_engine::draws::Whose;
use loadpilot_engine::workload::Workload;
use loadpilot_events::Timestamp;
use loadpilot_events::outcome::Outcome;
use loadpilot_events::plan::Plan;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::scenario::Interpreter;

/// A scenario that is rehearsed.
#[pyclass(name = "Rehearsal", module = "loadpilot._native", unsendable)]
pub(crate) struct PyRehearsal {
    scenario: Box<dyn Scenario>,
}

/// One user of it.
#[pyclass(name = "RehearsedUser", module = "loadpilot._native", unsendable)]
pub(crate) struct PyRehearsedUser {
    user: Box<dyn User>,
}

/// What a user wants next: `sends` method, path, headers, body, time-out in µs and name; or
/// `rests` so many µs; or ended with `check`, whether it was passed and what it said, and `raised`.
#[pyclass(name = "Wanted", module = "loadpilot._native", frozen, get_all)]
pub(crate) struct PyWanted {
    sends: Option<Sent>,
    rests_us: Option<u64>,
    check: Option<(bool, String)>,
    raised: Option<String>,
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
    fn of(scripting: &dyn Scripting, bundle: &[u8], file: &str, plan: &Plan) -> PyResult<Self> {
        let tasks: Vec<String> = plan.tasks.iter().map(|task| task.name.clone()).collect();
        let source = Source {
            bundle,
            file,
            scenario: &plan.scenario,
            tasks: &tasks,
            target: &plan.target,
            parameters: &BTreeMap::new(),
            feeds: &[],
            workload: &Arc::new(Workload::new(plan, 0)),
            states: None,
        };
        let scenario = scripting.load(&source).map_err(PyValueError::new_err)?;
        Ok(Self { scenario })
    }
}

fn sound(plan: &str) -> PyResult<Plan> {
    parse_plan(plan).map_err(|refusal| PyValueError::new_err(refusal.to_string()))
}

#[pymethods]
impl PyRehearsal {
    /// Loads the scenario of a plan from the archive of its files, to be played in Python.
    #[staticmethod]
    fn in_python(bundle: &[u8], file: &str, plan: &str) -> PyResult<Self> {
        Self::of(&Interpreter, bundle, file, &sound(plan)?)
    }

    /// Takes the code of a plan.
    #[staticmethod]
    fn in_code(plan: &str) -> PyResult<Self> {
        let plan = sound(plan)?;
        let code = plan.code.as_ref();
        let code = code.ok_or_else(|| PyValueError::new_err("the plan has no code"))?;
        Self::of(&*Compiled::scripting(code), &[], &code.file, &plan)
    }

    fn user(&self) -> PyResult<PyRehearsedUser> {
        let user = self.scenario.user(0).map_err(PyValueError::new_err)?;
        Ok(PyRehearsedUser { user })
    }
}

#[pymethods]
impl PyRehearsedUser {
    /// Begins its preparation (-1), its clean-up (-2) or a task, by its place.
    fn begin(&mut self, py: Python<'_>, part: i32) -> PyResult<PyWanted> {
        let part = match u16::try_from(part) {
            Ok(task) => Part::Task(task),
            Err(_) if part == -1 => Part::Start,
            Err(_) => Part::Stop,
        };
        let occasion = Occasion {
            whose: Whose::Arrival(0),
            due: Timestamp(0),
        };
        wanted(py, self.user.begin(part, occasion))
    }

    fn answered(
        &mut self,
        py: Python<'_>,
        status: u16,
        head: Vec<u8>,
        body: Vec<u8>,
    ) -> PyResult<PyWanted> {
        let heard = Heard::Answer(Answer {
            status,
            head,
            body,
            elapsed_us: 1_000,
        });
        wanted(py, self.user.go_on(heard))
    }

    /// The request got no complete answer.
    fn timed_out(&mut self, py: Python<'_>) -> PyResult<PyWanted> {
        let heard = Heard::Broken {
            outcome: Outcome::Timeout,
            cause: None,
        };
        wanted(py, self.user.go_on(heard))
    }

    fn unsendable(&mut self, py: Python<'_>, why: String) -> PyResult<PyWanted> {
        wanted(py, self.user.go_on(Heard::Unsendable(why)))
    }

    fn rested(&mut self, py: Python<'_>) -> PyResult<PyWanted> {
        wanted(py, self.user.go_on(Heard::Awake))
    }

    fn stopped(&mut self, py: Python<'_>) -> PyResult<PyWanted> {
        wanted(py, self.user.go_on(Heard::Stopped))
    }
}

fn wanted(py: Python<'_>, next: Next) -> PyResult<PyWanted> {
    let nothing = PyWanted {
        sends: None,
        rests_us: None,
        check: None,
        raised: None,
    };
    Ok(match next {
        Next::Send(request) => PyWanted {
            sends: Some((
                request.method.name(),
                request.path.clone(),
                request.headers.clone(),
                request
                    .body
                    .as_ref()
                    .map(|body| PyBytes::new(py, body).unbind()),
                request.timeout_us,
                request.name.clone(),
            )),
            ..nothing
        },
        Next::Sleep(time) => PyWanted {
            rests_us: Some(u64::try_from(time.as_micros()).unwrap_or(u64::MAX)),
            ..nothing
        },
        Next::Ended(ended) => PyWanted {
            check: ended.check.map(|check| match check {
                Ok(()) => (true, String::new()),
                Err(text) => (false, text),
            }),
            raised: ended.raised,
            ..nothing
        },
        Next::Batch(_) | Next::Outside => {
            let what = "a batch is not rehearsed, nor an event loop";
            return Err(PyValueError::new_err(what));
        }
    })
}

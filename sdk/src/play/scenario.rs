//! Loading a scenario on a firing thread, and the thread's time inside the interpreter.
//!
//! The thread holds the interpreter from its first moment to its last, but for the time that it
//! waits for I/O.

use std::cell::Cell;
use std::sync::Arc;

use loadpilot_agent::script::{Part, Scenario, Scripting, Source, User};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::client::PyClient;
use super::user::{Check, PyUser};

/// The module that plays scenarios.
const PLAY: &str = "loadpilot.play";

thread_local! {
    /// Of a thread that plays: how it came in, and its state while it waits.
    static STAY: Cell<Option<ffi::PyGILState_STATE>> = const { Cell::new(None) };
    static WAITING: Cell<*mut ffi::PyThreadState> = const { Cell::new(std::ptr::null_mut()) };
}

/// The interpreter of this process.
#[derive(Debug)]
pub(crate) struct Interpreter;

impl Scripting for Interpreter {
    fn enter(&self) {
        // SAFETY: the interpreter runs, since its own main thread called the agent; every entry is
        // matched by one `leave` on the same thread.
        STAY.set(Some(unsafe { ffi::PyGILState_Ensure() }));
    }

    fn park(&self) {
        // SAFETY: only called on a thread that has entered and holds the interpreter.
        WAITING.set(unsafe { ffi::PyEval_SaveThread() });
    }

    fn unpark(&self) {
        let state = WAITING.replace(std::ptr::null_mut());
        if !state.is_null() {
            // SAFETY: `park` saved it on this thread.
            unsafe { ffi::PyEval_RestoreThread(state) };
        }
    }

    fn leave(&self) {
        if let Some(state) = STAY.take() {
            // SAFETY: `enter` gave it on this thread, which holds the interpreter.
            unsafe { ffi::PyGILState_Release(state) };
        }
    }

    fn load(&self, source: &Source<'_>) -> Result<Box<dyn Scenario>, String> {
        Python::attach(|py| {
            let loaded = PyScenario::load(py, source);
            loaded
                .map(|scenario| Box::new(scenario) as Box<dyn Scenario>)
                .map_err(|error| words(py, &error))
        })
    }
}

/// A scenario that is loaded.
pub(super) struct PyScenario {
    parts: Arc<Parts>,
    make: Py<PyAny>,
}

/// What a user does in each part of its life.
pub(super) struct Parts {
    start: PartOf,
    stop: PartOf,
    tasks: Vec<PartOf>,
    once: Vec<PartOf>,
}

/// One part.
pub(super) struct PartOf {
    pub(super) function: Py<PyAny>,
    /// Whether it is a coroutine that awaits its requests; if not, it runs on a stack of its own.
    pub(super) is_awaiting: bool,
    pub(super) check: Option<Check>,
}

impl Parts {
    pub(super) fn of(&self, part: Part) -> &PartOf {
        match part {
            Part::Start => &self.start,
            Part::Stop => &self.stop,
            Part::Task(task) => &self.tasks[usize::from(task)],
            Part::Once(place) => &self.once[usize::from(place)],
        }
    }
}

/// How `loadpilot.play` tells a part: function, whether it awaits, check, whether that takes the
/// answer itself.
type Told = (Py<PyAny>, bool, Option<Py<PyAny>>, bool);

impl PartOf {
    fn new((function, is_awaiting, check, takes_response): Told) -> Self {
        let check = check.map(|function| Check {
            function,
            takes_response,
        });
        Self {
            function,
            is_awaiting,
            check,
        }
    }
}

impl PyScenario {
    fn load(py: Python<'_>, source: &Source<'_>) -> PyResult<Self> {
        let bundle = PyBytes::new(py, source.bundle);
        let tasks: Vec<&str> = source.tasks.iter().map(String::as_str).collect();
        let (shared, users) = source.states.map_or((None, None), |states| {
            (Some(states.shared.as_str()), states.users.as_ref())
        });
        let (file, scenario, target) = (source.file, source.scenario, source.target);
        let arguments = (bundle, file, scenario, tasks, target, shared, users);
        Self::of(&py.import(PLAY)?.call_method1("load", arguments)?)
    }

    /// One that `loadpilot.play` has at hand.
    pub(super) fn of(scenario: &Bound<'_, PyAny>) -> PyResult<Self> {
        let parts_of = |name: &str| -> PyResult<Vec<PartOf>> {
            let parts: Vec<Told> = scenario.getattr(name)?.extract()?;
            Ok(parts.into_iter().map(PartOf::new).collect())
        };
        let parts = Parts {
            start: PartOf::new(scenario.getattr("start")?.extract()?),
            stop: PartOf::new(scenario.getattr("stop")?.extract()?),
            tasks: parts_of("tasks")?,
            once: parts_of("once")?,
        };
        Ok(Self {
            parts: Arc::new(parts),
            make: scenario.getattr("user")?.unbind(),
        })
    }

    fn made(&self, py: Python<'_>, number: u32) -> PyResult<PyUser> {
        let made = self.make.bind(py).call1((number,))?;
        let (instance, conversation, switch, throw, ask): (_, Py<PyAny>, _, _, _) =
            made.extract()?;
        let has_cookies = conversation.bind(py).getattr("has_cookies")?.extract()?;
        let client = PyClient::new(conversation, ask);
        client.has_cookies.set(has_cookies);
        let client = Py::new(py, client)?;
        let parts = Arc::clone(&self.parts);
        Ok(PyUser::new(parts, instance, client, (switch, throw)))
    }
}

impl Scenario for PyScenario {
    fn user(&self, number: u32) -> Result<Box<dyn User>, String> {
        Python::attach(|py| {
            let user = self.made(py, number).map_err(|error| words(py, &error))?;
            Ok(Box::new(user) as Box<dyn User>)
        })
    }
}

/// An error in words, as far as one can tell without the scenario.
pub(super) fn words(py: Python<'_>, error: &PyErr) -> String {
    let kind = error.get_type(py).name();
    let kind = kind.map_or_else(|_| "an error".to_owned(), |name| name.to_string());
    let text = error.value(py).str().map(|text| text.to_string());
    match text.unwrap_or_default() {
        text if text.is_empty() => kind,
        text if kind == "ScenarioError" => text,
        text => format!("{kind}: {text}"),
    }
}

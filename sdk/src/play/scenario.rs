//! Loading a scenario on a firing thread, and the thread's time inside the interpreter.
//!
//! The thread holds the interpreter from its first moment to its last, but for the time that it
//! waits for I/O.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use loadpilot_agent::users::script::{Part, Scenario, Scripting, Source, User};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::asyncio_bridge::Guest;
use super::client::{Moved, PyClient};
use super::current_user::Turn;
use super::inputs::{Given, Sources};
use super::request_cache::Made;
use super::user::{Check, PyUser};

/// The module that plays scenarios.
const PLAY: &str = "loadpilot.play";

thread_local! {
    /// The state of a thread that plays, while it waits.
    static WAITING: Cell<*mut ffi::PyThreadState> = const { Cell::new(std::ptr::null_mut()) };
}

/// The interpreter of this process.
#[derive(Debug)]
pub(crate) struct Interpreter;

impl Scripting for Interpreter {
    fn inside(&self, work: Box<dyn FnOnce() + '_>) {
        Python::attach(|_| work());
    }

    fn park(&self) {
        // SAFETY: only called on a thread that is inside and holds the interpreter.
        WAITING.set(unsafe { ffi::PyEval_SaveThread() });
    }

    fn unpark(&self) {
        let state = WAITING.replace(std::ptr::null_mut());
        if !state.is_null() {
            // SAFETY: `park` saved it on this thread.
            unsafe { ffi::PyEval_RestoreThread(state) };
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
    sources: Rc<Sources>,
    make: Py<PyAny>,
    made: Rc<Made>,
    /// The event loop, if any part needs one.
    guest: Option<Guest>,
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
    pub(super) moved: Moved,
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

/// How `loadpilot.play` tells a part: function, how it is moved on, check, whether that takes the
/// answer itself.
type Told = (Py<PyAny>, String, Option<Py<PyAny>>, bool);

impl PartOf {
    fn new((function, moved, check, takes_response): Told) -> Self {
        let check = check.map(|function| Check {
            function,
            takes_response,
        });
        Self {
            function,
            moved: match moved.as_str() {
                "LOOP" => Moved::Loop,
                "ENGINE" => Moved::Engine,
                _ => Moved::Stack,
            },
            check,
        }
    }
}

impl PyScenario {
    fn load(py: Python<'_>, source: &Source<'_>) -> PyResult<Self> {
        let bundle = PyBytes::new(py, source.bundle);
        let tasks: Vec<&str> = source.tasks.iter().map(String::as_str).collect();
        let given = PyDict::new(py);
        given.set_item("parameters", source.parameters)?;
        let feeds = source.feeds.iter();
        let feeds: Vec<(&str, u64)> = feeds.map(|feed| (&*feed.name, feed.rows)).collect();
        given.set_item("feeds", feeds)?;
        let states = source.states;
        given.set_item("shared", states.map(|states| &states.shared))?;
        given.set_item("users", states.and_then(|states| states.users.as_ref()))?;
        let (file, scenario, target) = (source.file, source.scenario, source.target);
        let arguments = (bundle, file, scenario, tasks, target);
        let load = py.import(PLAY)?.getattr("load")?;
        Self::of(&load.call(arguments, Some(&given))?, source)
    }

    /// One that `loadpilot.play` has at hand.
    pub(super) fn of(scenario: &Bound<'_, PyAny>, source: &Source<'_>) -> PyResult<Self> {
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
            sources: Rc::new(Sources::new(source)),
            make: scenario.getattr("user")?.unbind(),
            made: Rc::default(),
            guest: scenario
                .call_method0("guest")?
                .extract::<Option<Py<PyAny>>>()?
                .map(Guest::new),
        })
    }

    fn made(&self, py: Python<'_>, number: u32) -> PyResult<PyUser> {
        let made = self.make.bind(py).call1((number,))?;
        let (instance, conversation, switch, throw, ask): (_, Py<PyAny>, _, _, _) =
            made.extract()?;
        let has_cookies = conversation.bind(py).getattr("has_cookies")?.extract()?;
        let client = PyClient::new(conversation, ask, Rc::clone(&self.made));
        client.has_cookies.set(has_cookies);
        let client = Py::new(py, client)?;
        let parts = Arc::clone(&self.parts);
        let turn = Turn::new(Given::new(Rc::clone(&self.sources)));
        let looped = self.guest.as_ref();
        let looped = looped.map(|guest| guest.looped(py, &client)).transpose()?;
        let ways = (switch, throw);
        Ok(PyUser::new(parts, instance, client, ways, turn, looped))
    }
}

impl Scenario for PyScenario {
    fn user(&self, number: u32) -> Result<Box<dyn User>, String> {
        Python::attach(|py| {
            let user = self.made(py, number).map_err(|error| words(py, &error))?;
            Ok(Box::new(user) as Box<dyn User>)
        })
    }

    fn background(&self) -> Option<Pin<Box<dyn Future<Output = ()>>>> {
        let guest = self.guest.as_ref()?;
        Some(Box::pin(guest.host()))
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

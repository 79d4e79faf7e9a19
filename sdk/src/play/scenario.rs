//! Loads a scenario on a firing thread. The thread holds the interpreter all the time, except while
//! it waits for I/O.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use loadpilot_agent::users::script::{Scenario, Scripting, Source, User};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::asyncio_bridge::EventLoop;
use super::client::PyClient;
use super::current_user::UserContext;
use super::error_text::error_text;
use super::inputs::{Inputs, Sources};
use super::parts::Parts;
use super::request_cache::RequestCache;
use super::user::PyUser;
use crate::python::row_file::PyRowFile;

/// The module that plays scenarios.
const PLAY: &str = "loadpilot.play";

thread_local! {
    /// State of a firing thread while it waits for I/O.
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
        // SAFETY: called only on a thread that holds the interpreter.
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
                .map_err(|error| error_text(py, &error))
        })
    }
}

/// A loaded scenario.
pub(super) struct PyScenario {
    parts: Arc<Parts>,
    sources: Rc<Sources>,
    make: Py<PyAny>,
    cache: Rc<RequestCache>,
    /// The event loop, if any part needs one.
    event_loop: Option<EventLoop>,
}

impl PyScenario {
    fn load(py: Python<'_>, source: &Source<'_>) -> PyResult<Self> {
        let bundle = PyBytes::new(py, source.bundle);
        let tasks: Vec<&str> = source.tasks.iter().map(String::as_str).collect();
        let keywords = PyDict::new(py);
        keywords.set_item("parameters", source.parameters)?;
        let files = source.row_files.iter().map(Option::as_ref);
        let files = files.chain(std::iter::repeat(None));
        let feeds = source.feeds.iter().zip(files).map(|(feed, file)| {
            let file = file.map(|file| PyRowFile::new(py, Arc::clone(file)));
            (&*feed.name, feed.rows, file)
        });
        let feeds: Vec<(&str, u64, Option<PyRowFile>)> = feeds.collect();
        keywords.set_item("feeds", feeds)?;
        let states = source.states;
        keywords.set_item("shared", states.map(|states| &states.shared))?;
        keywords.set_item("users", states.and_then(|states| states.users.as_ref()))?;
        let (file, scenario, target) = (source.file, source.scenario, source.target);
        let arguments = (bundle, file, scenario, tasks, target);
        let load = py.import(PLAY)?.getattr("load")?;
        Self::of(&load.call(arguments, Some(&keywords))?, source)
    }

    /// Takes a scenario that `loadpilot.play` has loaded.
    pub(super) fn of(scenario: &Bound<'_, PyAny>, source: &Source<'_>) -> PyResult<Self> {
        Ok(Self {
            parts: Arc::new(Parts::new(scenario)?),
            sources: Rc::new(Sources::new(source)),
            make: scenario.getattr("user")?.unbind(),
            cache: Rc::default(),
            event_loop: scenario
                .call_method0("guest")?
                .extract::<Option<Py<PyAny>>>()?
                .map(EventLoop::new),
        })
    }

    fn new_user(&self, py: Python<'_>, number: u32) -> PyResult<PyUser> {
        let user = self.make.bind(py).call1((number,))?;
        let (instance, conversation, switch, throw, ask): (_, Py<PyAny>, _, _, _) =
            user.extract()?;
        let has_cookies = conversation.bind(py).getattr("has_cookies")?.extract()?;
        let client = PyClient::new(conversation, ask, Rc::clone(&self.cache));
        client.has_cookies.set(has_cookies);
        let client = Py::new(py, client)?;
        let parts = Arc::clone(&self.parts);
        let context = UserContext::new(Inputs::new(Rc::clone(&self.sources)));
        let event_loop = self.event_loop.as_ref();
        let on_loop = event_loop.map(|event_loop| event_loop.user(py, &client));
        let on_loop = on_loop.transpose()?;
        let stack = (switch, throw);
        Ok(PyUser::new(
            parts, instance, client, stack, context, on_loop,
        ))
    }
}

impl Scenario for PyScenario {
    fn user(&self, number: u32) -> Result<Box<dyn User>, String> {
        Python::attach(|py| {
            let user = self
                .new_user(py, number)
                .map_err(|error| error_text(py, &error))?;
            Ok(Box::new(user) as Box<dyn User>)
        })
    }

    fn background(&self) -> Option<Pin<Box<dyn Future<Output = ()>>>> {
        let event_loop = self.event_loop.as_ref()?;
        Some(Box::pin(event_loop.run()))
    }
}

//! Scenarios in Python on a firing thread: how the agent's seam meets the interpreter.
//!
//! The thread holds the interpreter from its first moment to its last, but for the time that it
//! waits for I/O. Must never decide what a user does: `loadpilot.play` does, this only translates.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use loadpilot_agent::script::{
    Ended, Heard, Next, Part, Request, Scenario, Scripting, Source, User,
};
use loadpilot_events::plan::{Method, Stream};
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyFloat, PyList, PyString, PyTuple};

use crate::answer::PyAnswer;

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
            let bundle = PyBytes::new(py, source.bundle);
            let tasks: Vec<&str> = source.tasks.iter().map(String::as_str).collect();
            let arguments = (bundle, source.file, source.scenario, tasks, source.target);
            let load = || py.import(PLAY)?.call_method1("load", arguments);
            let scenario = load().map_err(|error| words(py, &error))?;
            let make = scenario
                .getattr("user")
                .map_err(|error| words(py, &error))?;
            Ok(Box::new(PyScenario {
                make: make.unbind(),
            }) as Box<dyn Scenario>)
        })
    }
}

/// A scenario that is loaded.
struct PyScenario {
    make: Py<PyAny>,
}

impl Scenario for PyScenario {
    fn user(&self) -> Result<Box<dyn User>, String> {
        Python::attach(|py| {
            let make = || {
                let user = self.make.bind(py).call0()?;
                Ok(PyUser {
                    begin: user.getattr("begin")?.unbind(),
                    go_on: user.getattr("go_on")?.unbind(),
                })
            };
            let user = make().map_err(|error: PyErr| words(py, &error))?;
            Ok(Box::new(user) as Box<dyn User>)
        })
    }
}

/// One user, as the methods that move it on.
struct PyUser {
    begin: Py<PyAny>,
    go_on: Py<PyAny>,
}

/// The numbers of the parts that are no task; tasks have their own.
const START: i32 = -1;
const STOP: i32 = -2;

/// What a user hears, as `loadpilot.play` numbers it.
const ANSWER: u8 = 0;
const BROKEN: u8 = 1;
const UNSENDABLE: u8 = 2;
const AWAKE: u8 = 3;
const STOPPED: u8 = 4;
const BATCH: u8 = 5;

impl User for PyUser {
    fn begin(&mut self, part: Part) -> Next {
        let number = match part {
            Part::Start => START,
            Part::Stop => STOP,
            Part::Task(task) => i32::from(task),
        };
        Python::attach(|py| next(py, self.begin.bind(py).call1((number,))))
    }

    fn go_on(&mut self, heard: Heard) -> Next {
        Python::attach(|py| {
            let wanted = said(py, heard).and_then(|said| self.go_on.bind(py).call1(said));
            next(py, wanted)
        })
    }
}

/// What a user hears, as the arguments of its `go_on`.
fn said(py: Python<'_>, heard: Heard) -> PyResult<(u8, Bound<'_, PyAny>)> {
    Ok(match heard {
        Heard::Answer(answer) => (ANSWER, Bound::new(py, PyAnswer::new(answer))?.into_any()),
        Heard::Broken { outcome, cause } => {
            let cause = cause.and_then(|cause| serde_json::to_value(cause).ok());
            let cause = cause.as_ref().and_then(serde_json::Value::as_str);
            let both = (outcome.name(), cause).into_pyobject(py)?;
            (BROKEN, both.into_any())
        }
        Heard::Unsendable(why) => (UNSENDABLE, PyString::new(py, &why).into_any()),
        Heard::Awake => (AWAKE, py.None().into_bound(py)),
        Heard::Stopped => (STOPPED, py.None().into_bound(py)),
        Heard::Batch(all) => {
            let all: PyResult<Vec<_>> = all.into_iter().map(|one| said(py, one)).collect();
            (BATCH, PyList::new(py, all?)?.into_any())
        }
    })
}

/// What `loadpilot.play` gave back: a request or several, a number of seconds, or how the part
/// ended.
fn next(py: Python<'_>, wanted: PyResult<Bound<'_, PyAny>>) -> Next {
    let read = wanted.and_then(|wanted| {
        if let Ok(request) = wanted.cast::<PyRequest>() {
            return Ok(Next::Send(Arc::clone(&request.get().0)));
        }
        if let Ok(requests) = wanted.cast::<PyList>() {
            let requests = requests.iter().map(|request| {
                let request = request.cast_into::<PyRequest>()?;
                Ok(Arc::clone(&request.get().0))
            });
            return Ok(Next::Batch(requests.collect::<PyResult<_>>()?));
        }
        if let Ok(seconds) = wanted.cast::<PyFloat>() {
            let time = Duration::try_from_secs_f64(seconds.value());
            return Ok(Next::Sleep(time.unwrap_or(Duration::ZERO)));
        }
        let (check, raised) = wanted.cast::<PyTuple>()?.extract::<Verdict>()?;
        let check = check.map(|(failure,)| failure.map_or(Ok(()), Err));
        Ok(Next::Ended(Ended { check, raised }))
    });
    read.unwrap_or_else(|error| {
        Next::Ended(Ended {
            check: None,
            raised: Some(words(py, &error)),
        })
    })
}

/// `(check, raised)`: no check is `None`, one that passed `(None,)`, one that failed `(text,)`.
type Verdict = (Option<(Option<String>,)>, Option<String>);

fn words(py: Python<'_>, error: &PyErr) -> String {
    let kind = error.get_type(py).name();
    let kind = kind.map_or_else(|_| "an error".to_owned(), |name| name.to_string());
    let text = error.value(py).str().map(|text| text.to_string());
    match text.unwrap_or_default() {
        text if text.is_empty() => kind,
        text if kind == "ScenarioError" => text,
        text => format!("{kind}: {text}"),
    }
}

/// A request that a task made up.
#[pyclass(name = "Request", module = "loadpilot._native", frozen)]
pub(crate) struct PyRequest(Arc<Request>);

#[pymethods]
impl PyRequest {
    #[new]
    #[pyo3(signature = (
        method, path, headers, body = None, timeout_us = None, name = None, stream = None,
    ))]
    fn new(
        method: &str,
        path: String,
        headers: Vec<(String, String)>,
        body: Option<PyBackedBytes>,
        timeout_us: Option<u64>,
        name: Option<String>,
        stream: Option<&str>,
    ) -> PyResult<Self> {
        let known = METHODS.into_iter().find(|known| known.name() == method);
        let unknown = || PyValueError::new_err(format!("no method {method}"));
        Ok(Self(Arc::new(Request {
            method: known.ok_or_else(unknown)?,
            path,
            headers,
            body: body.map(Bytes::from_owner),
            timeout_us,
            name,
            stream: match stream {
                None => None,
                Some("sse") => Some(Stream::Sse),
                Some("lines") => Some(Stream::Lines),
                Some("chunks") => Some(Stream::Chunks),
                Some(other) => {
                    return Err(PyValueError::new_err(format!("no stream {other}")));
                }
            },
        })))
    }

    #[getter]
    fn method(&self) -> &'static str {
        self.0.method.name()
    }

    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    #[getter]
    fn headers(&self) -> Vec<(String, String)> {
        self.0.headers.clone()
    }

    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.body.as_ref().map(|body| PyBytes::new(py, body))
    }

    #[getter]
    fn timeout_us(&self) -> Option<u64> {
        self.0.timeout_us
    }
}

const METHODS: [Method; 7] = [
    Method::Get,
    Method::Post,
    Method::Put,
    Method::Patch,
    Method::Delete,
    Method::Head,
    Method::Options,
];

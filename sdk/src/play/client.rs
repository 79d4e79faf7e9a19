//! The client of tasks: turns a call of its methods into an operation for the load engine.
//!
//! Requests that need encoding, cookies or redirects are made in Python
//! (`loadpilot.play.conversation`). Must never hold a borrow of its own state while the user's code
//! may run.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;
use std::thread::{self, ThreadId};

use loadpilot_events::plan::Method;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::interned::Interned;
use super::request::PyRequest;
use super::request_cache::RequestCache;
use super::response::PyResponse;

/// Maximum number of requests in a batch.
const BATCH_MAX: usize = 100;

/// Error of a client that is used on a thread of the scenario's own.
const OTHER_THREAD: &str = "the client belongs to the thread of its user: use client.batch(), or \
                            asyncio.gather() in an async task";

/// Makes the awaitable of an operation.
static AWAITABLE: Interned = Interned::new("loadpilot.play.awaitable", "perform");

/// One user's view of the target.
#[pyclass(name = "Client", module = "loadpilot._native")]
pub(crate) struct PyClient {
    /// Encoding, cookies, redirects.
    conversation: Py<PyAny>,
    /// Switches from the user's own stack to the load engine and passes it an operation.
    ask: Py<PyAny>,
    /// The same for coroutines on an event loop, if the scenario has one.
    pub(super) ask_on_loop: RefCell<Option<Py<PyAny>>>,
    /// How the current part is executed.
    pub(super) execution: Cell<Execution>,
    /// Whether redirects are followed by default.
    pub(super) follows: Cell<bool>,
    /// Whether the user has cookies.
    pub(super) has_cookies: Cell<bool>,
    is_in_step: Cell<bool>,
    /// Number of requests that the user created and has not awaited yet.
    pub(super) unsent: Cell<i64>,
    /// Requests that users of this scenario created before.
    cache: Rc<RequestCache>,
    /// On an event loop: whether the user has an operation or has ended, and the waker of the task
    /// that polls it.
    pub(super) has_progress: Cell<bool>,
    pub(super) waker: RefCell<Option<Waker>>,
    thread: ThreadId,
    /// Whether another thread has used the client, where its error may never be read.
    was_used_elsewhere: Cell<bool>,
}

// SAFETY: it is accessed only while the interpreter is held, which is one lock for all of it. A
// client in a reference cycle is dropped by the thread that collects it.
unsafe impl Send for PyClient {}
// SAFETY: the same.
unsafe impl Sync for PyClient {}

/// How a part of a user's life is executed, as `loadpilot.play.execution_mode` determines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Execution {
    /// On a stack of its own: its requests return responses.
    Stack,
    /// A coroutine that the load engine resumes: its requests are awaited.
    Engine,
    /// A coroutine on an event loop: its requests are awaited.
    Loop,
}

impl PyClient {
    pub(super) fn new(conversation: Py<PyAny>, ask: Py<PyAny>, cache: Rc<RequestCache>) -> Self {
        Self {
            conversation,
            ask,
            ask_on_loop: RefCell::new(None),
            execution: Cell::new(Execution::Stack),
            follows: Cell::new(false),
            has_cookies: Cell::new(false),
            is_in_step: Cell::new(false),
            unsent: Cell::new(0),
            cache,
            has_progress: Cell::new(false),
            waker: RefCell::new(None),
            thread: thread::current().id(),
            was_used_elsewhere: Cell::new(false),
        }
    }

    /// The error of a part, if another thread has used the client since the last one.
    pub(super) fn take_misuse(&self) -> Option<String> {
        let was_used_elsewhere = self.was_used_elsewhere.take();
        was_used_elsewhere.then(|| format!("RuntimeError: {OTHER_THREAD}"))
    }

    /// Whether requests get cookies or the name of a step in addition to the arguments of the call.
    fn adds_to_requests(&self) -> bool {
        self.has_cookies.get() || self.is_in_step.get()
    }

    /// Stores the cookies of a response.
    pub(super) fn store_cookies(
        &self,
        response: &Bound<'_, PyResponse>,
        request: &PyRequest,
    ) -> PyResult<()> {
        let conversation = self.conversation.bind(response.py());
        let path = request.0.path.as_str();
        let has_cookies = conversation.call_method1("keep_cookies", (response, path))?;
        self.has_cookies.set(has_cookies.is_truthy()?);
        Ok(())
    }

    /// The request of a call.
    fn request_of<'py>(
        &self,
        py: Python<'py>,
        method: Method,
        path: &Bound<'py, PyAny>,
        extras: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyRequest>> {
        if !self.adds_to_requests()
            && let Some(simple) = self.cache.simple(method, path, extras)?
        {
            return Ok(simple);
        }
        let conversation = self.conversation.bind(py);
        let extras = extras.map_or_else(|| PyDict::new(py), Clone::clone);
        let request = conversation.call_method1("request", (method.name(), path, extras))?;
        self.cache.shared(request.cast_into()?)
    }

    /// Whether redirects of this request are followed.
    fn follows_redirects(&self, extras: Option<&Bound<'_, PyDict>>) -> PyResult<bool> {
        let follows = match extras {
            None => None,
            Some(extras) => extras.get_item(intern!(extras.py(), "follow_redirects"))?,
        };
        follows.map_or(Ok(self.follows.get()), |follows| follows.is_truthy())
    }

    fn make<'py>(
        slf: &Bound<'py, Self>,
        method: Method,
        path: &Bound<'py, PyAny>,
        extras: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, client) = (slf.py(), slf.borrow());
        if client.follows_redirects(extras)? {
            let follow = match client.execution.get() {
                Execution::Stack => "follow",
                Execution::Engine | Execution::Loop => "follow_awaited",
            };
            let conversation = client.conversation.clone_ref(py);
            let first = client.request_of(py, method, path, extras)?;
            drop(client);
            return conversation.bind(py).call_method1(follow, (slf, first));
        }
        let request = client.request_of(py, method, path, extras)?;
        drop(client);
        Self::send(slf, request.into_any())
    }
}

#[pymethods]
impl PyClient {
    /// Visits its references: on an event loop the user's part refers to this client.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.conversation)?;
        visit.call(&self.ask)?;
        match self.ask_on_loop.try_borrow() {
            Ok(ask) => visit.call(&*ask),
            Err(_) => Ok(()),
        }
    }

    /// Sends a prepared request, or a list of prepared requests at the same time.
    fn send<'py>(
        slf: &Bound<'py, Self>,
        requests: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, client) = (slf.py(), slf.borrow());
        if thread::current().id() != client.thread {
            client.was_used_elsewhere.set(true);
            return Err(PyRuntimeError::new_err(OTHER_THREAD));
        }
        let execution = client.execution.get();
        if execution != Execution::Stack {
            client.unsent.set(client.unsent.get() + 1);
        }
        let ask = match execution {
            Execution::Stack => client.ask.clone_ref(py),
            Execution::Engine => AWAITABLE.of(py)?.clone().unbind(),
            Execution::Loop => {
                let ask = client.ask_on_loop.borrow();
                let ask = ask.as_ref().map(|ask| ask.clone_ref(py));
                ask.ok_or_else(|| PyRuntimeError::new_err("the scenario has no event loop"))?
            }
        };
        // The user's code may use this client meanwhile: nothing is borrowed.
        drop(client);
        ask.bind(py).call1((requests,))
    }

    #[pyo3(signature = (path, **extras))]
    fn get<'py>(
        slf: &Bound<'py, Self>,
        path: Bound<'py, PyAny>,
        extras: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::make(slf, Method::Get, &path, extras.as_ref())
    }

    #[pyo3(signature = (path, **extras))]
    fn post<'py>(
        slf: &Bound<'py, Self>,
        path: Bound<'py, PyAny>,
        extras: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::make(slf, Method::Post, &path, extras.as_ref())
    }

    #[pyo3(signature = (path, **extras))]
    fn put<'py>(
        slf: &Bound<'py, Self>,
        path: Bound<'py, PyAny>,
        extras: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::make(slf, Method::Put, &path, extras.as_ref())
    }

    #[pyo3(signature = (path, **extras))]
    fn patch<'py>(
        slf: &Bound<'py, Self>,
        path: Bound<'py, PyAny>,
        extras: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::make(slf, Method::Patch, &path, extras.as_ref())
    }

    #[pyo3(signature = (path, **extras))]
    fn delete<'py>(
        slf: &Bound<'py, Self>,
        path: Bound<'py, PyAny>,
        extras: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::make(slf, Method::Delete, &path, extras.as_ref())
    }

    #[pyo3(signature = (path, **extras))]
    fn head<'py>(
        slf: &Bound<'py, Self>,
        path: Bound<'py, PyAny>,
        extras: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::make(slf, Method::Head, &path, extras.as_ref())
    }

    #[pyo3(signature = (path, **extras))]
    fn options<'py>(
        slf: &Bound<'py, Self>,
        path: Bound<'py, PyAny>,
        extras: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::make(slf, Method::Options, &path, extras.as_ref())
    }

    #[pyo3(signature = (method, path, **extras))]
    fn request<'py>(
        slf: &Bound<'py, Self>,
        method: Bound<'py, PyAny>,
        path: Bound<'py, PyAny>,
        extras: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let conversation = slf.borrow().conversation.clone_ref(slf.py());
        let method = conversation
            .bind(slf.py())
            .call_method1("method", (method,))?;
        let name: &str = method.extract()?;
        let unknown = || PyValueError::new_err(format!("no method {name}"));
        let method = Method::named(name).ok_or_else(unknown)?;
        Self::make(slf, method, &path, extras.as_ref())
    }

    /// A request whose response is a stream of events.
    #[pyo3(signature = (method, path, **extras))]
    fn stream<'py>(
        slf: &Bound<'py, Self>,
        method: Bound<'py, PyAny>,
        path: Bound<'py, PyAny>,
        extras: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let extras = extras.unwrap_or_else(|| PyDict::new(slf.py()));
        if !extras.contains("stream")? {
            extras.set_item("stream", "sse")?;
        }
        Self::request(slf, method, path, Some(extras))
    }

    /// Requests made in the step are named after it.
    fn step<'py>(slf: &Bound<'py, Self>, name: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let conversation = slf.borrow().conversation.clone_ref(slf.py());
        conversation
            .bind(slf.py())
            .call_method1("step", (slf, name))
    }

    /// Whether the user is in a step, so that its requests are named after it.
    #[setter]
    fn set_is_in_step(&self, is_in_step: bool) {
        self.is_in_step.set(is_in_step);
    }

    /// The user has an operation, or has ended, on an event loop.
    fn stir(&self) {
        self.has_progress.set(true);
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Sends several requests at the same time.
    fn batch<'py>(
        slf: &Bound<'py, Self>,
        requests: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let list = PyList::empty(py);
        for one in requests.try_iter()? {
            if list.len() >= BATCH_MAX {
                let rule = format!("client.batch() takes at most {BATCH_MAX} requests at a time");
                return Err(PyValueError::new_err(rule));
            }
            let one = one?;
            let client = slf.borrow();
            let simple = match one.cast::<PyDict>() {
                Ok(fields) if fields.len() == 1 && !client.adds_to_requests() => {
                    match fields.get_item(intern!(py, "path"))? {
                        Some(path) => client.cache.simple(Method::Get, &path, None)?,
                        None => None,
                    }
                }
                Ok(_) => None,
                Err(_) => {
                    let rule = "client.batch() takes dicts such as {\"path\": \"/a\"}";
                    return Err(PyTypeError::new_err(rule));
                }
            };
            match simple {
                Some(simple) => list.append(simple)?,
                None => {
                    let conversation = client.conversation.clone_ref(py);
                    drop(client);
                    list.append(conversation.bind(py).call_method1("in_batch", (one,))?)?;
                }
            }
        }
        Self::send(slf, list.into_any())
    }
}

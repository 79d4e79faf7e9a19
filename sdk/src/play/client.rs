//! The client that tasks send with: from a call of the user's to a wish for the engine.
//!
//! What needs encoding, cookies or redirects is Python's work (`loadpilot.play.conversation`). Must
//! never hold a borrow of its own state while the user's code may run.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;

use loadpilot_events::plan::Method;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::interned::Known;
use super::request::PyRequest;
use super::request_cache::Made;
use super::response::PyResponse;

/// Most requests that a user makes at a time.
const BATCH_MAX: usize = 100;

/// What a coroutine awaits until a wish of its own has come true.
static ASKED: Known = Known::new("loadpilot.play.awaitable", "asked");

/// One user's view of the target.
#[pyclass(name = "Client", module = "loadpilot._native")]
pub(crate) struct PyClient {
    /// Encoding, cookies, redirects.
    conversation: Py<PyAny>,
    /// Moves from the user's own stack to the engine, with a wish.
    ask: Py<PyAny>,
    /// The same for coroutines on an event loop, if the scenario has any.
    pub(super) ask_on_loop: RefCell<Option<Py<PyAny>>>,
    /// How the part is moved on that uses it.
    pub(super) moved: Cell<Moved>,
    /// Whether redirects are followed unless a request says.
    pub(super) follows: Cell<bool>,
    /// Whether the user has cookies.
    pub(super) has_cookies: Cell<bool>,
    is_in_step: Cell<bool>,
    /// Requests that wait to be awaited.
    pub(super) unsent: Cell<i64>,
    /// What the users of this scenario wrote before.
    made: Rc<Made>,
    /// On an event loop: whether the user wants something, and who waits for that.
    pub(super) stirred: Cell<bool>,
    pub(super) waker: RefCell<Option<Waker>>,
}

// SAFETY: it is looked at with the interpreter held only, which is one lock for all of it. A client
// in a cycle of garbage is dropped by whichever thread collects that.
unsafe impl Send for PyClient {}
// SAFETY: the same.
unsafe impl Sync for PyClient {}

/// How a part of a user's life is moved on, as `loadpilot.play.execution_mode` tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    /// On a stack of its own: its requests return answers.
    Stack,
    /// A coroutine, by the engine: its requests are awaited, here as below.
    Engine,
    /// A coroutine, by an event loop.
    Loop,
}

impl PyClient {
    pub(super) fn new(conversation: Py<PyAny>, ask: Py<PyAny>, made: Rc<Made>) -> Self {
        Self {
            conversation,
            ask,
            ask_on_loop: RefCell::new(None),
            moved: Cell::new(Moved::Stack),
            follows: Cell::new(false),
            has_cookies: Cell::new(false),
            is_in_step: Cell::new(false),
            unsent: Cell::new(0),
            made,
            stirred: Cell::new(false),
            waker: RefCell::new(None),
        }
    }

    /// Whether every request of the user's carries more than its task writes.
    fn needs_more(&self) -> bool {
        self.has_cookies.get() || self.is_in_step.get()
    }

    /// Keeps the cookies that an answer brings.
    pub(super) fn keep_cookies(
        &self,
        answer: &Bound<'_, PyResponse>,
        request: &PyRequest,
    ) -> PyResult<()> {
        let conversation = self.conversation.bind(answer.py());
        let path = request.0.path.as_str();
        let kept = conversation.call_method1("keep_cookies", (answer, path))?;
        self.has_cookies.set(kept.is_truthy()?);
        Ok(())
    }

    /// The request that a task wrote.
    fn written<'py>(
        &self,
        py: Python<'py>,
        method: Method,
        path: &Bound<'py, PyAny>,
        extras: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyRequest>> {
        if !self.needs_more()
            && let Some(simple) = self.made.simple(method, path, extras)?
        {
            return Ok(simple);
        }
        let conversation = self.conversation.bind(py);
        let extras = extras.map_or_else(|| PyDict::new(py), Clone::clone);
        let written = conversation.call_method1("request", (method.name(), path, extras))?;
        self.made.known(written.cast_into()?)
    }

    /// Whether this request, unlike most, goes on from its answer to another.
    fn is_to_follow(&self, extras: Option<&Bound<'_, PyDict>>) -> PyResult<bool> {
        let said = match extras {
            None => None,
            Some(extras) => extras.get_item(intern!(extras.py(), "follow_redirects"))?,
        };
        said.map_or(Ok(self.follows.get()), |said| said.is_truthy())
    }

    fn make<'py>(
        slf: &Bound<'py, Self>,
        method: Method,
        path: &Bound<'py, PyAny>,
        extras: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, client) = (slf.py(), slf.borrow());
        if client.is_to_follow(extras)? {
            let how = match client.moved.get() {
                Moved::Stack => "follow",
                Moved::Engine | Moved::Loop => "follow_awaited",
            };
            let conversation = client.conversation.clone_ref(py);
            let first = client.written(py, method, path, extras)?;
            drop(client);
            return conversation.bind(py).call_method1(how, (slf, first));
        }
        let wish = client.written(py, method, path, extras)?;
        drop(client);
        Self::send(slf, wish.into_any())
    }
}

#[pymethods]
impl PyClient {
    /// Shows the collector what it holds: on an event loop the user's part there holds this client.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.conversation)?;
        visit.call(&self.ask)?;
        match self.ask_on_loop.try_borrow() {
            Ok(ask) => visit.call(&*ask),
            Err(_) => Ok(()),
        }
    }

    /// Sends a request, or several at a time, that are made already.
    fn send<'py>(slf: &Bound<'py, Self>, wish: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, client) = (slf.py(), slf.borrow());
        let moved = client.moved.get();
        if moved != Moved::Stack {
            client.unsent.set(client.unsent.get() + 1);
        }
        let ask = match moved {
            Moved::Stack => client.ask.clone_ref(py),
            Moved::Engine => ASKED.of(py)?.clone().unbind(),
            Moved::Loop => {
                let ask = client.ask_on_loop.borrow();
                let ask = ask.as_ref().map(|ask| ask.clone_ref(py));
                ask.ok_or_else(|| PyRuntimeError::new_err("the scenario has no event loop"))?
            }
        };
        // Whoever is moved on meanwhile may use this client, but for its own user: nothing is held.
        drop(client);
        ask.bind(py).call1((wish,))
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

    /// For an answer that is read event by event.
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

    /// Requests made meanwhile go under a name.
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

    /// The user wants something, on an event loop.
    fn stir(&self) {
        self.stirred.set(true);
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Makes several requests at a time.
    fn batch<'py>(
        slf: &Bound<'py, Self>,
        requests: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let wishes = PyList::empty(py);
        for one in requests.try_iter()? {
            if wishes.len() >= BATCH_MAX {
                let rule = format!("client.batch() takes at most {BATCH_MAX} requests at a time");
                return Err(PyValueError::new_err(rule));
            }
            let one = one?;
            let client = slf.borrow();
            let simple = match one.cast::<PyDict>() {
                Ok(fields) if fields.len() == 1 && !client.needs_more() => {
                    match fields.get_item(intern!(py, "path"))? {
                        Some(path) => client.made.simple(Method::Get, &path, None)?,
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
                Some(simple) => wishes.append(simple)?,
                None => {
                    let conversation = client.conversation.clone_ref(py);
                    drop(client);
                    wishes.append(conversation.bind(py).call_method1("in_batch", (one,))?)?;
                }
            }
        }
        Self::send(slf, wishes.into_any())
    }
}

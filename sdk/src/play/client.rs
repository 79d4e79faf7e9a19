//! The client that tasks send with: from a call of the user's to a wish for the engine, and from
//! what the engine says to an answer or an error at the user's line.
//!
//! What needs encoding, cookies or redirects is Python's work (`loadpilot.play.conversation`). Must
//! never hold a borrow of its own state while the user's code may run.

use std::cell::{Cell, RefCell};

use loadpilot_agent::script::Heard;
use loadpilot_events::plan::Method;
use pyo3::exceptions::{PyRuntimeError, PyStopIteration, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};

use super::answer::PyAnswer;
use super::request::PyRequest;

/// Most requests that a user makes at a time.
const BATCH_MAX: usize = 100;

/// The errors of a request.
const ERRORS: &str = "loadpilot.errors";

/// One user's view of the target.
#[pyclass(name = "Client", module = "loadpilot._native", unsendable)]
pub(crate) struct PyClient {
    /// Encoding, cookies, redirects.
    conversation: Py<PyAny>,
    /// Moves from the user's own stack to the engine, with a wish.
    ask: Py<PyAny>,
    /// Whether a coroutine uses it, which awaits its requests.
    pub(super) is_awaited: Cell<bool>,
    /// Whether redirects are followed unless a request says.
    pub(super) follows: Cell<bool>,
    /// Whether the user has cookies.
    pub(super) has_cookies: Cell<bool>,
    /// What the engine said last.
    pub(super) heard: RefCell<Option<Heard>>,
    /// The answer to the last request, unless that got none.
    pub(super) last: RefCell<Option<Py<PyAnswer>>>,
    /// Requests that wait to be awaited.
    pub(super) unsent: Cell<i64>,
}

impl PyClient {
    pub(super) fn new(conversation: Py<PyAny>, ask: Py<PyAny>) -> Self {
        Self {
            conversation,
            ask,
            is_awaited: Cell::new(false),
            follows: Cell::new(false),
            has_cookies: Cell::new(false),
            heard: RefCell::new(None),
            last: RefCell::new(None),
            unsent: Cell::new(0),
        }
    }

    /// What the engine said, as a value or an error.
    fn understood<'py>(
        &self,
        py: Python<'py>,
        wish: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let heard = self.heard.borrow_mut().take();
        match heard {
            Some(Heard::Batch(all)) => {
                let answers = PyList::empty(py);
                let mut failed = None;
                let requests = wish.cast::<PyList>()?;
                for (heard, request) in all.into_iter().zip(requests.iter()) {
                    match self.one(py, heard, request.cast::<PyRequest>()?) {
                        Ok(answer) => answers.append(answer)?,
                        Err(error) => failed = failed.or(Some(error)),
                    }
                }
                match failed {
                    None => Ok(answers.into_any()),
                    Some(error) => {
                        *self.last.borrow_mut() = None;
                        Err(error)
                    }
                }
            }
            Some(heard) => {
                let request = wish.cast::<PyRequest>().ok();
                match (heard, request) {
                    (Heard::Awake, _) => Ok(py.None().into_bound(py)),
                    (heard, Some(request)) => self.one(py, heard, request),
                    (_, None) => Err(stopped(py)),
                }
            }
            None => Err(PyRuntimeError::new_err("nothing was asked for")),
        }
    }

    /// What became of one request.
    fn one<'py>(
        &self,
        py: Python<'py>,
        heard: Heard,
        request: &Bound<'py, PyRequest>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match heard {
            Heard::Answer(answer) => {
                let answer = PyAnswer::new(answer);
                let brings_cookies = answer.brings_cookies();
                let answer = Bound::new(py, answer)?;
                *self.last.borrow_mut() = Some(answer.clone().unbind());
                if brings_cookies {
                    let conversation = self.conversation.bind(py);
                    let path = request.get().0.path.as_str();
                    let kept = conversation.call_method1("keep_cookies", (&answer, path))?;
                    self.has_cookies.set(kept.is_truthy()?);
                }
                Ok(answer.into_any())
            }
            Heard::Broken { outcome, cause } => {
                let cause = cause.and_then(|cause| serde_json::to_value(cause).ok());
                let cause = cause.as_ref().and_then(serde_json::Value::as_str);
                let kind = error_class(py, &REQUEST_ERROR, "RequestError")?;
                let error = kind.call1((outcome.name(), cause))?;
                Err(PyErr::from_value(error))
            }
            Heard::Unsendable(why) => Err(PyValueError::new_err(why)),
            Heard::Stopped | Heard::Awake | Heard::Batch(_) => Err(stopped(py)),
        }
    }

    /// The request that a task wrote.
    fn written<'py>(
        &self,
        py: Python<'py>,
        method: Method,
        path: &Bound<'py, PyAny>,
        extras: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if !self.has_cookies.get()
            && let Some(simple) = PyRequest::simple(method, path, extras)
        {
            return Ok(Bound::new(py, simple)?.into_any());
        }
        let conversation = self.conversation.bind(py);
        let extras = extras.map_or_else(|| PyDict::new(py), Clone::clone);
        conversation.call_method1("request", (method.name(), path, extras))
    }

    /// Whether this request, unlike most, goes on from its answer to another.
    fn is_to_follow(&self, extras: Option<&Bound<'_, PyDict>>) -> PyResult<bool> {
        let said = match extras {
            None => None,
            Some(extras) => extras.get_item("follow_redirects")?,
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
            let how = match client.is_awaited.get() {
                true => "follow_awaited",
                false => "follow",
            };
            let conversation = client.conversation.clone_ref(py);
            let first = client.written(py, method, path, extras)?;
            drop(client);
            return conversation.bind(py).call_method1(how, (slf, first));
        }
        let wish = client.written(py, method, path, extras)?;
        drop(client);
        Self::send(slf, wish)
    }
}

#[pymethods]
impl PyClient {
    /// Sends a request, or several at a time, that are made already.
    fn send<'py>(slf: &Bound<'py, Self>, wish: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, client) = (slf.py(), slf.borrow());
        if client.is_awaited.get() {
            client.unsent.set(client.unsent.get() + 1);
            drop(client);
            let call = PyCall {
                client: slf.clone().unbind(),
                wish: wish.unbind(),
                is_sent: Cell::new(false),
            };
            return Ok(Bound::new(py, call)?.into_any());
        }
        *client.last.borrow_mut() = None;
        let ask = client.ask.clone_ref(py);
        // Whoever is moved on meanwhile may use this client, but for its own user: nothing is held.
        drop(client);
        ask.bind(py).call1((&wish,))?;
        slf.borrow().understood(py, &wish)
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
        Self::make(slf, method_of(&method)?, &path, extras.as_ref())
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
                Ok(fields) if fields.len() == 1 && !client.has_cookies.get() => fields
                    .get_item("path")?
                    .and_then(|path| PyRequest::simple(Method::Get, &path, None)),
                Ok(_) => None,
                Err(_) => {
                    let rule = "client.batch() takes dicts such as {\"path\": \"/a\"}";
                    return Err(PyTypeError::new_err(rule));
                }
            };
            match simple {
                Some(simple) => wishes.append(Bound::new(py, simple)?)?,
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

/// A request of a coroutine that is sent when it is awaited.
#[pyclass(name = "Call", module = "loadpilot._native", unsendable)]
pub(crate) struct PyCall {
    client: Py<PyClient>,
    wish: Py<PyAny>,
    is_sent: Cell<bool>,
}

#[pymethods]
impl PyCall {
    fn __await__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// First the wish; then, when it has come true, the end with its value.
    fn __next__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, call) = (slf.py(), slf.borrow());
        let client = call.client.bind(py).borrow();
        if !call.is_sent.replace(true) {
            client.unsent.set(client.unsent.get() - 1);
            *client.last.borrow_mut() = None;
            return Ok(call.wish.bind(py).clone());
        }
        let value = client.understood(py, call.wish.bind(py))?;
        Err(PyStopIteration::new_err((value.unbind(),)))
    }
}

fn method_of(name: &Bound<'_, PyAny>) -> PyResult<Method> {
    Ok(match name.extract::<&str>()? {
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        "HEAD" => Method::Head,
        "OPTIONS" => Method::Options,
        _ => Method::Get,
    })
}

static REQUEST_ERROR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static STOPPED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn error_class<'py>(
    py: Python<'py>,
    known: &'static PyOnceLock<Py<PyAny>>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let import = || Ok::<_, PyErr>(py.import(ERRORS)?.getattr(name)?.unbind());
    Ok(known.get_or_try_init(py, import)?.bind(py).clone())
}

/// The run is over: whatever a task still wants, it ends here.
pub(super) fn stopped(py: Python<'_>) -> PyErr {
    let error = error_class(py, &STOPPED, "Stopped").and_then(|kind| kind.call0());
    error.map_or_else(|error| error, PyErr::from_value)
}

/// Whether an error is that.
pub(super) fn is_stopped(py: Python<'_>, error: &PyErr) -> bool {
    error_class(py, &STOPPED, "Stopped").is_ok_and(|kind| error.is_instance(py, &kind))
}

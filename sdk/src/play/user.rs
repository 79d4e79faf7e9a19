//! One virtual user: an instance of the scenario's class, moved on from wish to wish.
//!
//! A coroutine is moved on here; anything else runs on a stack of its own (a greenlet), which is
//! switched to. Nothing that the user raises may get any further than into words.

use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use loadpilot_agent::script::{Ended, Heard, Next, Part, User};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyList, PyTuple};

use super::client::{PyClient, is_stopped, stopped};
use super::request::PyRequest;
use super::scenario::{PartOf, Parts, words};

/// What tells errors in words.
const TOLD: &str = "loadpilot.play.told";

/// One user.
pub(super) struct PyUser {
    parts: Arc<Parts>,
    instance: Py<PyAny>,
    client: Py<PyClient>,
    /// Moves to the user's own stack, as if it had got what it wished, or with an error.
    switch: Py<PyAny>,
    throw: Py<PyAny>,
    /// Whether it wished to rest, so that nothing of the client's is waited for.
    is_resting: bool,
    /// The part that it is in, and its coroutine if it is one.
    part: Part,
    coroutine: Option<Py<PyAny>>,
}

impl PyUser {
    pub(super) fn new(
        parts: Arc<Parts>,
        instance: Py<PyAny>,
        client: Py<PyClient>,
        (switch, throw): (Py<PyAny>, Py<PyAny>),
    ) -> Self {
        Self {
            parts,
            instance,
            client,
            switch,
            throw,
            is_resting: false,
            part: Part::Start,
            coroutine: None,
        }
    }

    fn part(&self) -> &PartOf {
        self.parts.of(self.part)
    }

    fn begun(&mut self, py: Python<'_>, part: Part) -> PyResult<Next> {
        self.part = part;
        let parts = Arc::clone(&self.parts);
        let of = parts.of(part);
        {
            let client = self.client.bind(py).borrow();
            *client.last.borrow_mut() = None;
            client.unsent.set(0);
            client.is_awaited.set(of.is_awaiting);
            // What prepares a user goes where a browser would.
            client.follows.set(!matches!(part, Part::Task(_)));
        }
        if !of.is_awaiting {
            let arguments = (&of.function, &self.instance, &self.client);
            let wish = self.switch.bind(py).call1(arguments)?;
            return self.wished(py, &wish);
        }
        let arguments = (&self.instance, &self.client);
        match of.function.bind(py).call1(arguments) {
            Ok(coroutine) => {
                self.coroutine = Some(coroutine.unbind());
                self.moved_on(py)
            }
            Err(error) => Ok(self.ended(py, Some(error))),
        }
    }

    fn gone_on(&mut self, py: Python<'_>, heard: Heard) -> PyResult<Next> {
        if std::mem::take(&mut self.is_resting) {
            if matches!(heard, Heard::Stopped) {
                return self.woken_for_good(py);
            }
        } else {
            *self.client.bind(py).borrow().heard.borrow_mut() = Some(heard);
        }
        if self.coroutine.is_some() {
            return self.moved_on(py);
        }
        let wish = self.switch.bind(py).call0()?;
        self.wished(py, &wish)
    }

    /// A rest ends with the run: where the user rests, it is told so.
    fn woken_for_good(&mut self, py: Python<'_>) -> PyResult<Next> {
        let error = stopped(py);
        let Some(coroutine) = &self.coroutine else {
            let wish = self.throw.bind(py).call1((error.value(py),))?;
            return self.wished(py, &wish);
        };
        let thrown = coroutine.bind(py).call_method1("throw", (error.value(py),));
        match thrown {
            Ok(wish) => self.wished(py, &wish),
            Err(error) => {
                self.coroutine = None;
                let error = Some(error).filter(|error| !is_end(py, error));
                Ok(self.ended(py, error))
            }
        }
    }

    /// Moves the coroutine on to its next wish.
    fn moved_on(&mut self, py: Python<'_>) -> PyResult<Next> {
        let coroutine = self
            .coroutine
            .as_ref()
            .map(|coroutine| coroutine.clone_ref(py));
        let Some(coroutine) = coroutine else {
            return Err(PyTypeError::new_err("no coroutine"));
        };
        let mut sent = send_none(coroutine.bind(py));
        loop {
            match sent {
                Ok(Sent::Wish(wish)) => match self.wished(py, &wish) {
                    Ok(next) => return Ok(next),
                    // It awaits what only an event loop could bring: an error at its own line.
                    Err(_) => {
                        let kind = wish.get_type().name()?;
                        let error = PyTypeError::new_err(format!(
                            "a task can await client calls and asyncio.sleep(); it awaits a \
                             {kind}, which needs an event loop"
                        ));
                        let thrown = coroutine.bind(py).call_method1("throw", (error.value(py),));
                        sent = match thrown {
                            Ok(wish) => Ok(Sent::Wish(wish)),
                            Err(error) if is_end(py, &error) => Ok(Sent::End),
                            Err(error) => Err(error),
                        };
                    }
                },
                Ok(Sent::End) => {
                    self.coroutine = None;
                    return Ok(self.ended(py, None));
                }
                Err(error) => {
                    self.coroutine = None;
                    return Ok(self.ended(py, Some(error)));
                }
            }
        }
    }

    /// What the user wants next: a request, several, a rest, or the end of the part.
    fn wished(&mut self, py: Python<'_>, wish: &Bound<'_, PyAny>) -> PyResult<Next> {
        if let Ok(request) = wish.cast::<PyRequest>() {
            return Ok(Next::Send(Arc::clone(&request.get().0)));
        }
        if let Ok(seconds) = wish.cast::<PyFloat>() {
            let time = Duration::try_from_secs_f64(seconds.value());
            self.is_resting = true;
            return Ok(Next::Sleep(time.unwrap_or(Duration::ZERO)));
        }
        if let Ok(requests) = wish.cast::<PyList>() {
            let requests = requests.iter().map(|request| {
                let request = request.cast_into::<PyRequest>()?;
                Ok(Arc::clone(&request.get().0))
            });
            return Ok(Next::Batch(requests.collect::<PyResult<_>>()?));
        }
        let (error,) = wish
            .cast::<PyTuple>()?
            .extract::<(Option<Bound<'_, PyAny>>,)>()?;
        Ok(self.ended(py, error.map(PyErr::from_value)))
    }

    /// The part is over: its check looks at the last answer, if there is one of each.
    fn ended(&self, py: Python<'_>, error: Option<PyErr>) -> Next {
        let raised = error.filter(|error| !is_stopped(py, error));
        let mut raised = raised.map(|error| self.told(py, &error));
        let client = self.client.bind(py).borrow();
        let unsent = client.unsent.get();
        if raised.is_none() && unsent > 0 {
            let what = "were made and never awaited, so never sent";
            raised = Some(format!("{unsent} requests {what}"));
        }
        let last = client.last.borrow_mut().take();
        drop(client);
        let check = match (&self.part().check, last, &raised) {
            (Some(check), Some(last), None) => {
                let looked = check.look(py, &self.instance, &last);
                Some(looked.map_err(|error| self.told(py, &error)))
            }
            _ => None,
        };
        Next::Ended(Ended { check, raised })
    }

    fn told(&self, py: Python<'_>, error: &PyErr) -> String {
        let how = match self.part {
            Part::Start | Part::Once(_) => "told_at_length",
            Part::Task(_) | Part::Stop => "told",
        };
        let told = || {
            // Taken out, it has its traceback.
            let value = error.clone_ref(py).into_value(py);
            let told = py.import(TOLD)?.call_method1(how, (value,))?;
            told.extract::<String>()
        };
        told().unwrap_or_else(|_| words(py, error))
    }
}

impl User for PyUser {
    fn begin(&mut self, part: Part) -> Next {
        Python::attach(|py| {
            let begun = self.begun(py, part);
            begun.unwrap_or_else(|error| self.ended(py, Some(error)))
        })
    }

    fn go_on(&mut self, heard: Heard) -> Next {
        Python::attach(|py| {
            let gone_on = self.gone_on(py, heard);
            gone_on.unwrap_or_else(|error| self.ended(py, Some(error)))
        })
    }
}

impl Drop for PyUser {
    fn drop(&mut self) {
        // A stack that is left in the middle holds on to itself, and to all that the user has.
        Python::attach(|py| {
            let end = py
                .import("greenlet")
                .and_then(|greenlet| greenlet.getattr("GreenletExit"))
                .and_then(|exit| self.throw.bind(py).call1((exit,)));
            if let Err(error) = end {
                tracing::debug!(%error, "a user's stack is left behind");
            }
        });
    }
}

/// What moving a coroutine on has come to.
enum Sent<'py> {
    Wish(Bound<'py, PyAny>),
    End,
}

fn send_none<'py>(coroutine: &Bound<'py, PyAny>) -> PyResult<Sent<'py>> {
    let py = coroutine.py();
    let mut result: *mut ffi::PyObject = ptr::null_mut();
    // SAFETY: all three are valid, and the interpreter is held; the result is a new reference.
    let (how, result) = unsafe {
        let how = ffi::PyIter_Send(coroutine.as_ptr(), ffi::Py_None(), &raw mut result);
        (how, Bound::from_owned_ptr_or_opt(py, result))
    };
    match (how, result) {
        (ffi::PySendResult::PYGEN_NEXT, Some(wish)) => Ok(Sent::Wish(wish)),
        (ffi::PySendResult::PYGEN_RETURN, _) => Ok(Sent::End),
        _ => Err(PyErr::fetch(py)),
    }
}

fn is_end(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<pyo3::exceptions::PyStopIteration>(py)
}

/// A check of the scenario's.
pub(super) struct Check {
    pub(super) function: Py<PyAny>,
    /// Whether it is given the answer as it is, and not its status and its JSON.
    pub(super) takes_response: bool,
}

impl Check {
    fn look(
        &self,
        py: Python<'_>,
        instance: &Py<PyAny>,
        last: &Py<super::answer::PyAnswer>,
    ) -> PyResult<()> {
        if self.takes_response {
            return self.function.call1(py, (instance, last)).map(drop);
        }
        let answer = last.bind(py).get();
        let body = match answer.json(py) {
            Ok(body) => body,
            // It is none.
            Err(error) if error.is_instance_of::<PyValueError>(py) => py.None(),
            Err(error) => return Err(error),
        };
        let status = answer.status_code();
        self.function.call1(py, (instance, status, body)).map(drop)
    }
}

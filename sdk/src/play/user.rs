//! One virtual user: an instance of the scenario's class, moved on from wish to wish.
//!
//! A coroutine is moved on here; anything else runs on a stack of its own (a greenlet), which is
//! switched to. Nothing that the user raises may get any further than into words.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use loadpilot_agent::users::script::{
    Completion, MetricSample, Occasion, Operation, Part, PartResult, User,
};
use pyo3::exceptions::{PyStopIteration, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyList, PyTuple};

use super::asyncio_bridge::Looped;
use super::client::{Moved, PyClient};
use super::current_user::Turn;
use super::in_python_flag::Moving;
use super::request::PyRequest;
use super::response::PyResponse;
use super::results::{is_stopped, understood};
use super::scenario::{PartOf, Parts, words};

/// What tells errors in words.
const TOLD: &str = "loadpilot.play.tracebacks";

/// One user.
pub(super) struct PyUser {
    parts: Arc<Parts>,
    instance: Py<PyAny>,
    client: Py<PyClient>,
    turn: Rc<Turn>,
    /// Moves to the user's own stack, as if it had got what it wished, or with an error.
    switch: Py<PyAny>,
    throw: Py<PyAny>,
    /// Whether it has a stack of its own by now.
    has_stack: bool,
    /// The part that it is in, and its coroutine if it is one.
    part: Part,
    coroutine: Option<Py<PyAny>>,
    /// What it waits for.
    wish: Option<Py<PyAny>>,
    /// The answer to its last request, unless that got none.
    last: Option<Py<PyResponse>>,
    /// Its place on the event loop, if the scenario needs one.
    looped: Option<Looped>,
    /// Where it kept the others waiting in this part.
    blocked: Option<String>,
}

impl PyUser {
    pub(super) fn new(
        parts: Arc<Parts>,
        instance: Py<PyAny>,
        client: Py<PyClient>,
        (switch, throw): (Py<PyAny>, Py<PyAny>),
        turn: Rc<Turn>,
        looped: Option<Looped>,
    ) -> Self {
        Self {
            parts,
            instance,
            client,
            turn,
            switch,
            throw,
            has_stack: false,
            part: Part::Start,
            coroutine: None,
            wish: None,
            last: None,
            looped,
            blocked: None,
        }
    }

    fn part(&self) -> &PartOf {
        self.parts.of(self.part)
    }

    fn begun(&mut self, py: Python<'_>, part: Part) -> PyResult<Operation> {
        self.part = part;
        let parts = Arc::clone(&self.parts);
        let of = parts.of(part);
        self.last = None;
        {
            let client = self.client.bind(py).borrow();
            client.unsent.set(0);
            client.moved.set(of.moved);
            // What prepares a user goes where a browser would.
            client.follows.set(!matches!(part, Part::Task(_)));
        }
        if let (Moved::Loop, Some(looped)) = (of.moved, &mut self.looped) {
            looped.begin(py, &of.function, &self.instance)?;
            return Ok(Operation::External);
        }
        if of.moved == Moved::Stack {
            let arguments = (&of.function, &self.instance, &self.client);
            let switch = || self.switch.bind(py).call1(arguments);
            let wish = match std::mem::replace(&mut self.has_stack, true) {
                true => switch(),
                false => far_down(switch),
            };
            return self.wished(py, &wish?);
        }
        let arguments = (&self.instance, &self.client);
        match of.function.bind(py).call1(arguments) {
            Ok(coroutine) => {
                let sent = send(&coroutine, &py.None().into_bound(py));
                self.coroutine = Some(coroutine.unbind());
                self.moved_on(py, sent)
            }
            Err(error) => Ok(self.ended(py, Some(error))),
        }
    }

    fn gone_on(&mut self, py: Python<'_>, heard: Completion) -> PyResult<Operation> {
        if let (Moved::Loop, Some(looped)) = (self.part().moved, &mut self.looped) {
            let client = self.client.bind(py).borrow();
            looped.hear(py, heard, &client, &mut self.last)?;
            return Ok(Operation::External);
        }
        let Some(wish) = self.wish.take() else {
            return Err(PyTypeError::new_err("nothing was wished"));
        };
        let value = {
            let client = self.client.bind(py).borrow();
            understood(py, &client, wish.bind(py), heard, &mut self.last)
        };
        let Some(coroutine) = &self.coroutine else {
            let wish = match value {
                Ok(value) => self.switch.bind(py).call1((value,))?,
                Err(error) => self.throw.bind(py).call1((error.value(py),))?,
            };
            return self.wished(py, &wish);
        };
        let sent = match value {
            Ok(value) => send(coroutine.bind(py), &value),
            Err(error) => throw(coroutine.bind(py), &error),
        };
        self.moved_on(py, sent)
    }

    /// The coroutine has been moved on: what it wants now.
    fn moved_on<'py>(&mut self, py: Python<'py>, sent: PyResult<Sent<'py>>) -> PyResult<Operation> {
        let mut sent = sent;
        loop {
            let error = match sent {
                Ok(Sent::Wish(wish)) => match self.wished(py, &wish) {
                    Ok(next) => return Ok(next),
                    // It awaits what only an event loop could bring: an error at its own line.
                    Err(_) => PyTypeError::new_err(format!(
                        "a task can await client calls and asyncio.sleep(); it awaits a {}, which \
                         needs an event loop",
                        wish.get_type().name()?
                    )),
                },
                Ok(Sent::End) => {
                    self.coroutine = None;
                    return Ok(self.ended(py, None));
                }
                Err(error) => {
                    self.coroutine = None;
                    return Ok(self.ended(py, Some(error)));
                }
            };
            sent = match &self.coroutine {
                Some(coroutine) => throw(coroutine.bind(py), &error),
                None => Err(error),
            };
        }
    }

    /// What the user wants next: a request, several, a rest, or the end of the part.
    fn wished(&mut self, py: Python<'_>, wish: &Bound<'_, PyAny>) -> PyResult<Operation> {
        let next = if let Ok(request) = wish.cast::<PyRequest>() {
            self.sends(py);
            Operation::Send(Arc::clone(&request.get().0))
        } else if let Ok(seconds) = wish.cast::<PyFloat>() {
            let time = Duration::try_from_secs_f64(seconds.value());
            Operation::Sleep(time.unwrap_or(Duration::ZERO))
        } else if let Ok(requests) = wish.cast::<PyList>() {
            let requests = requests.iter().map(|request| {
                let request = request.cast_into::<PyRequest>()?;
                Ok(Arc::clone(&request.get().0))
            });
            let requests = requests.collect::<PyResult<_>>()?;
            self.sends(py);
            Operation::Batch(requests)
        } else {
            let ended = wish.cast::<PyTuple>()?;
            let (error,) = ended.extract::<(Option<Bound<'_, PyAny>>,)>()?;
            return Ok(self.ended(py, error.map(PyErr::from_value)));
        };
        self.wish = Some(wish.clone().unbind());
        Ok(next)
    }

    /// It asks for an answer, so that the one before is not its last.
    fn sends(&mut self, py: Python<'_>) {
        self.last = None;
        if self.coroutine.is_some() {
            let client = self.client.bind(py).borrow();
            client.unsent.set(client.unsent.get() - 1);
        }
    }

    /// The part is over: its check looks at the last answer, if there is one of each.
    fn ended(&mut self, py: Python<'_>, error: Option<PyErr>) -> Operation {
        let was_called_off = self
            .looped
            .as_ref()
            .is_some_and(|looped| looped.is_called_off);
        let raised = error.filter(|error| !is_stopped(py, error) && !was_called_off);
        let mut trace = raised.as_ref().and_then(|error| trace(py, error));
        let mut raised = raised.map(|error| self.told(py, &error));
        let unsent = self.client.bind(py).borrow().unsent.get();
        if raised.is_none() && unsent > 0 {
            let what = "were made and never awaited, so never sent";
            raised = Some(format!("{unsent} requests {what}"));
        }
        let last = self.last.take();
        let check = match (&self.part().check, last, &raised) {
            (Some(check), Some(last), None) => {
                let looked = check.look(py, &self.instance, &last);
                Some(looked.map_err(|error| {
                    trace = self::trace(py, &error);
                    self.told(py, &error)
                }))
            }
            _ => None,
        };
        Operation::Ended(PartResult {
            check,
            raised,
            trace,
            blocked: None,
        })
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

/// Which lines of the user's led to an error; none for one of our own.
fn trace(py: Python<'_>, error: &PyErr) -> Option<String> {
    let value = error.clone_ref(py).into_value(py);
    let told = py.import(TOLD).ok()?.call_method1("trace", (value,)).ok()?;
    let trace: String = told.extract().ok()?;
    Some(trace).filter(|trace| !trace.is_empty())
}

impl PyUser {
    /// On the loop: the end of the part, or what it wants.
    fn wanted(&mut self, py: Python<'_>) -> PyResult<Option<Operation>> {
        let Some(looped) = &mut self.looped else {
            return Ok(Some(self.ended(py, None)));
        };
        if let Some(error) = looped.ended(py)? {
            self.blocked = looped.blocked.take();
            return Ok(Some(self.ended(py, error)));
        }
        let (next, written) = looped.wanted(py)?;
        if next.is_some() {
            self.last = None;
        }
        let client = self.client.bind(py).borrow();
        client.unsent.set(client.unsent.get() - written);
        Ok(next)
    }
}

impl PyUser {
    /// A stretch of the user's own code: it is its turn, and where it keeps the others waiting is
    /// taken down. `None`: it wants nothing yet.
    fn stretch(
        &mut self,
        code: impl FnOnce(&mut Self, Python<'_>) -> PyResult<Option<Operation>>,
    ) -> Option<Operation> {
        Python::attach(|py| {
            let moving = Moving::new();
            let turn = Rc::clone(&self.turn);
            let mut next = turn.during(|| {
                let next = code(self, py);
                next.unwrap_or_else(|error| Some(self.ended(py, Some(error))))
            });
            self.blocked = moving.end().or(self.blocked.take());
            if let Some(Operation::Ended(ended)) = &mut next {
                ended.blocked = self.blocked.take();
            }
            next
        })
    }
}

impl User for PyUser {
    fn begin(&mut self, part: Part, occasion: Occasion) -> Operation {
        self.turn.given.begin(occasion);
        self.turn.values.begin(matches!(part, Part::Task(_)));
        let next = self.stretch(|user, py| user.begun(py, part).map(Some));
        next.unwrap_or(Operation::External)
    }

    fn resume(&mut self, heard: Completion) -> Operation {
        let next = self.stretch(|user, py| user.gone_on(py, heard).map(Some));
        next.unwrap_or(Operation::External)
    }

    fn poll_external(&mut self, cx: &mut Context<'_>) -> Poll<Operation> {
        let is_stirred = Python::attach(|py| {
            let client = self.client.bind(py).borrow();
            *client.waker.borrow_mut() = Some(cx.waker().clone());
            client.stirred.replace(false)
        });
        if !is_stirred {
            return Poll::Pending;
        }
        match self.stretch(Self::wanted) {
            Some(next) => Poll::Ready(next),
            None => Poll::Pending,
        }
    }

    fn take_samples(&mut self) -> Vec<MetricSample> {
        self.turn.values.take()
    }
}

impl Drop for PyUser {
    fn drop(&mut self) {
        // A stack that is left in the middle holds on to itself, and to all that the user has.
        Python::attach(|py| {
            let left = self.looped.as_ref().map(|looped| looped.leave(py));
            if let Some(Err(error)) = left {
                tracing::debug!(%error, "a user's task is left behind");
            }
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

/// Moves a coroutine on with what it waited for.
fn send<'py>(coroutine: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<Sent<'py>> {
    let py = coroutine.py();
    let mut result: *mut ffi::PyObject = ptr::null_mut();
    // SAFETY: all three are valid, and the interpreter is held; the result is a new reference.
    let (how, result) = unsafe {
        let how = ffi::PyIter_Send(coroutine.as_ptr(), value.as_ptr(), &raw mut result);
        (how, Bound::from_owned_ptr_or_opt(py, result))
    };
    match (how, result) {
        (ffi::PySendResult::PYGEN_NEXT, Some(wish)) => Ok(Sent::Wish(wish)),
        (ffi::PySendResult::PYGEN_RETURN, _) => Ok(Sent::End),
        _ => Err(PyErr::fetch(py)),
    }
}

/// Moves a coroutine on with an error.
fn throw<'py>(coroutine: &Bound<'py, PyAny>, error: &PyErr) -> PyResult<Sent<'py>> {
    let py = coroutine.py();
    match coroutine.call_method1("throw", (error.value(py),)) {
        Ok(wish) => Ok(Sent::Wish(wish)),
        Err(error) if error.is_instance_of::<PyStopIteration>(py) => Ok(Sent::End),
        Err(error) => Err(error),
    }
}

/// Bytes between the engine's stack and those of users.
const APART: usize = 64 << 10;

/// Does `work` further down the stack. All stacks of users begin where the first part of each was
/// begun, and a switch has to save whatever of the engine's stack lies below that.
#[inline(never)]
fn far_down<T>(work: impl FnOnce() -> T) -> T {
    let mut apart = [MaybeUninit::<u8>::uninit(); APART];
    black_box(&mut apart);
    let done = work();
    black_box(&mut apart);
    done
}

/// A check of the scenario's.
pub(super) struct Check {
    pub(super) function: Py<PyAny>,
    /// Whether it is given the answer as it is, and not its status and its JSON.
    pub(super) takes_response: bool,
}

impl Check {
    fn look(&self, py: Python<'_>, instance: &Py<PyAny>, last: &Py<PyResponse>) -> PyResult<()> {
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

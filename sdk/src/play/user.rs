//! One virtual user: an instance of the scenario's class, executed from operation to operation.
//!
//! A coroutine is resumed here; any other function runs on a stack of its own (a greenlet). An
//! error that the user's code raises ends its part, as text.

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
use pyo3::exceptions::{PyStopIteration, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyList, PyTuple};

use super::asyncio_bridge::LoopUser;
use super::client::{Execution, PyClient};
use super::current_user::UserContext;
use super::error_text::{message, traceback};
use super::in_python_flag::InPython;
use super::parts::{PartFunction, Parts};
use super::request::PyRequest;
use super::response::PyResponse;
use super::results::{is_stopped, result_of};

/// One user.
pub(super) struct PyUser {
    parts: Arc<Parts>,
    instance: Py<PyAny>,
    client: Py<PyClient>,
    context: Rc<UserContext>,
    /// Switch to the user's own stack with a result, or with an error.
    switch: Py<PyAny>,
    throw: Py<PyAny>,
    /// Whether the user has a stack of its own already.
    has_stack: bool,
    /// The current part, and its coroutine if it is one.
    part: Part,
    coroutine: Option<Py<PyAny>>,
    /// The operation in flight.
    operation: Option<Py<PyAny>>,
    /// The last response, unless the last request got none.
    last: Option<Py<PyResponse>>,
    /// The user on the event loop, if the scenario needs one.
    on_loop: Option<LoopUser>,
    /// Message about code of this part that blocked the other users.
    blocked: Option<String>,
}

impl PyUser {
    pub(super) fn new(
        parts: Arc<Parts>,
        instance: Py<PyAny>,
        client: Py<PyClient>,
        (switch, throw): (Py<PyAny>, Py<PyAny>),
        context: Rc<UserContext>,
        on_loop: Option<LoopUser>,
    ) -> Self {
        Self {
            parts,
            instance,
            client,
            context,
            switch,
            throw,
            has_stack: false,
            part: Part::Start,
            coroutine: None,
            operation: None,
            last: None,
            on_loop,
            blocked: None,
        }
    }

    fn part(&self) -> &PartFunction {
        self.parts.of(self.part)
    }

    fn begin_part(&mut self, py: Python<'_>, part: Part) -> PyResult<Operation> {
        self.part = part;
        let parts = Arc::clone(&self.parts);
        let part_function = parts.of(part);
        self.last = None;
        {
            let client = self.client.bind(py).borrow();
            client.unsent.set(0);
            client.execution.set(part_function.execution);
            // Hooks follow redirects, as a browser does.
            client.follows.set(!matches!(part, Part::Task(_)));
        }
        if let (Execution::Loop, Some(on_loop)) = (part_function.execution, &mut self.on_loop) {
            let is_task = matches!(part, Part::Task(_));
            on_loop.begin(py, &part_function.function, &self.instance, is_task)?;
            return Ok(Operation::External);
        }
        if part_function.execution == Execution::Stack {
            let arguments = (&part_function.function, &self.instance, &self.client);
            let switch = || self.switch.bind(py).call1(arguments);
            let yielded = match std::mem::replace(&mut self.has_stack, true) {
                true => switch(),
                false => below_engine_stack(switch),
            };
            return self.operation_of(py, &yielded?);
        }
        let arguments = (&self.instance, &self.client);
        match part_function.function.bind(py).call1(arguments) {
            Ok(coroutine) => {
                let sent = send(&coroutine, &py.None().into_bound(py));
                self.coroutine = Some(coroutine.unbind());
                self.resumed(py, sent)
            }
            Err(error) => Ok(self.ended(py, Some(error))),
        }
    }

    fn resume_part(&mut self, py: Python<'_>, completion: Completion) -> PyResult<Operation> {
        if let (Execution::Loop, Some(on_loop)) = (self.part().execution, &mut self.on_loop) {
            let client = self.client.bind(py).borrow();
            on_loop.resume(py, completion, &client, &mut self.last)?;
            return Ok(Operation::External);
        }
        let Some(operation) = self.operation.take() else {
            return Err(PyTypeError::new_err("no operation is in flight"));
        };
        let value = {
            let client = self.client.bind(py).borrow();
            result_of(py, &client, operation.bind(py), completion, &mut self.last)
        };
        let Some(coroutine) = &self.coroutine else {
            let yielded = match value {
                Ok(value) => self.switch.bind(py).call1((value,))?,
                Err(error) => self.throw.bind(py).call1((error.value(py),))?,
            };
            return self.operation_of(py, &yielded);
        };
        let sent = match value {
            Ok(value) => send(coroutine.bind(py), &value),
            Err(error) => throw(coroutine.bind(py), &error),
        };
        self.resumed(py, sent)
    }

    /// The next operation of a coroutine that was resumed.
    fn resumed<'py>(&mut self, py: Python<'py>, sent: PyResult<Sent<'py>>) -> PyResult<Operation> {
        let mut sent = sent;
        loop {
            let error = match sent {
                Ok(Sent::Yielded(yielded)) => match self.operation_of(py, &yielded) {
                    Ok(next) => return Ok(next),
                    // The task awaits an object of an event loop: raised at the line that does.
                    Err(_) => PyTypeError::new_err(format!(
                        "a task can await client calls and asyncio.sleep(); it awaits a {}, which \
                         needs an event loop",
                        yielded.get_type().name()?
                    )),
                },
                Ok(Sent::Returned) => {
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

    /// The operation that a user's code yielded: a request, several, a sleep, or the end of the
    /// part.
    fn operation_of(&mut self, py: Python<'_>, yielded: &Bound<'_, PyAny>) -> PyResult<Operation> {
        let next = if let Ok(request) = yielded.cast::<PyRequest>() {
            self.note_request(py);
            Operation::Send(Arc::clone(&request.get().0))
        } else if let Ok(seconds) = yielded.cast::<PyFloat>() {
            let time = Duration::try_from_secs_f64(seconds.value());
            Operation::Sleep(time.unwrap_or(Duration::ZERO))
        } else if let Ok(requests) = yielded.cast::<PyList>() {
            let requests = requests.iter().map(|request| {
                let request = request.cast_into::<PyRequest>()?;
                Ok(Arc::clone(&request.get().0))
            });
            let requests = requests.collect::<PyResult<_>>()?;
            self.note_request(py);
            Operation::Batch(requests)
        } else {
            let ended = yielded.cast::<PyTuple>()?;
            let (error,) = ended.extract::<(Option<Bound<'_, PyAny>>,)>()?;
            return Ok(self.ended(py, error.map(PyErr::from_value)));
        };
        self.operation = Some(yielded.clone().unbind());
        Ok(next)
    }

    /// Forgets the last response, because the user sends another request.
    fn note_request(&mut self, py: Python<'_>) {
        self.last = None;
        if self.coroutine.is_some() {
            let client = self.client.bind(py).borrow();
            client.unsent.set(client.unsent.get() - 1);
        }
    }

    /// The part is over: runs its check on the last response, if there are both.
    fn ended(&mut self, py: Python<'_>, error: Option<PyErr>) -> Operation {
        let was_cancelled = self
            .on_loop
            .as_ref()
            .is_some_and(|on_loop| on_loop.is_cancelled);
        let raised = error.filter(|error| !is_stopped(py, error) && !was_cancelled);
        let mut trace = raised.as_ref().and_then(|error| traceback(py, error));
        let mut raised = raised.map(|error| message(py, &error, self.part));
        let (unsent, misuse) = {
            let client = self.client.bind(py).borrow();
            (client.unsent.get(), client.take_misuse())
        };
        raised = raised.or(misuse);
        if raised.is_none() && unsent > 0 {
            raised = Some(format!(
                "{unsent} requests were made and never awaited, so never sent"
            ));
        }
        let last = self.last.take();
        let check = match (&self.part().check, last, &raised) {
            (Some(check), Some(last), None) => {
                let checked = check.run(py, &self.instance, &last);
                Some(checked.map_err(|error| {
                    trace = traceback(py, &error);
                    message(py, &error, self.part)
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

    /// On the event loop: the end of the part, or its next operation, if there is one.
    fn poll_loop(&mut self, py: Python<'_>) -> PyResult<Option<Operation>> {
        let Some(on_loop) = &mut self.on_loop else {
            return Ok(Some(self.ended(py, None)));
        };
        if let Some(error) = on_loop.ended(py)? {
            self.blocked = on_loop.blocked.take();
            return Ok(Some(self.ended(py, error)));
        }
        let (next, count) = on_loop.take_operations(py)?;
        if next.is_some() {
            self.last = None;
        }
        let client = self.client.bind(py).borrow();
        client.unsent.set(client.unsent.get() - count);
        Ok(next)
    }

    /// Runs a stretch of the user's code as the current user, and stores the watchdog's message
    /// about it. `None`: no operation yet.
    fn stretch(
        &mut self,
        code: impl FnOnce(&mut Self, Python<'_>) -> PyResult<Option<Operation>>,
    ) -> Option<Operation> {
        Python::attach(|py| {
            let in_python = InPython::new();
            let context = Rc::clone(&self.context);
            let mut next = context.during(|| {
                let next = code(self, py);
                next.unwrap_or_else(|error| Some(self.ended(py, Some(error))))
            });
            self.blocked = in_python.end().or(self.blocked.take());
            if let Some(Operation::Ended(ended)) = &mut next {
                ended.blocked = self.blocked.take();
            }
            next
        })
    }
}

impl User for PyUser {
    fn begin(&mut self, part: Part, occasion: Occasion) -> Operation {
        self.context.inputs.begin(occasion);
        self.context.samples.begin(matches!(part, Part::Task(_)));
        let next = self.stretch(|user, py| user.begin_part(py, part).map(Some));
        next.unwrap_or(Operation::External)
    }

    fn resume(&mut self, completion: Completion) -> Operation {
        let next = self.stretch(|user, py| user.resume_part(py, completion).map(Some));
        next.unwrap_or(Operation::External)
    }

    fn poll_external(&mut self, cx: &mut Context<'_>) -> Poll<Operation> {
        let has_progress = Python::attach(|py| {
            let client = self.client.bind(py).borrow();
            *client.waker.borrow_mut() = Some(cx.waker().clone());
            client.has_progress.replace(false)
        });
        if !has_progress {
            return Poll::Pending;
        }
        match self.stretch(Self::poll_loop) {
            Some(next) => Poll::Ready(next),
            None => Poll::Pending,
        }
    }

    fn has_check(&self, task: u16) -> bool {
        self.parts.of(Part::Task(task)).check.is_some()
    }

    fn take_samples(&mut self) -> Vec<MetricSample> {
        self.context.samples.take()
    }
}

impl Drop for PyUser {
    fn drop(&mut self) {
        // A suspended stack refers to itself and to the user: it has to be unwound.
        Python::attach(|py| {
            let left = self.on_loop.as_ref().map(|on_loop| on_loop.leave(py));
            if let Some(Err(error)) = left {
                tracing::debug!(%error, "cannot cancel a user's task");
            }
            let end = py
                .import("greenlet")
                .and_then(|greenlet| greenlet.getattr("GreenletExit"))
                .and_then(|exit| self.throw.bind(py).call1((exit,)));
            if let Err(error) = end {
                tracing::debug!(%error, "cannot unwind a user's stack");
            }
        });
    }
}

/// Result of resuming a coroutine.
enum Sent<'py> {
    Yielded(Bound<'py, PyAny>),
    Returned,
}

/// Resumes a coroutine with a value.
fn send<'py>(coroutine: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<Sent<'py>> {
    let py = coroutine.py();
    let mut result: *mut ffi::PyObject = ptr::null_mut();
    // SAFETY: all three are valid, and the interpreter is held; the result is a new reference.
    let (how, result) = unsafe {
        let how = ffi::PyIter_Send(coroutine.as_ptr(), value.as_ptr(), &raw mut result);
        (how, Bound::from_owned_ptr_or_opt(py, result))
    };
    match (how, result) {
        (ffi::PySendResult::PYGEN_NEXT, Some(yielded)) => Ok(Sent::Yielded(yielded)),
        (ffi::PySendResult::PYGEN_RETURN, _) => Ok(Sent::Returned),
        _ => Err(PyErr::fetch(py)),
    }
}

/// Resumes a coroutine with an error.
fn throw<'py>(coroutine: &Bound<'py, PyAny>, error: &PyErr) -> PyResult<Sent<'py>> {
    let py = coroutine.py();
    match coroutine.call_method1("throw", (error.value(py),)) {
        Ok(yielded) => Ok(Sent::Yielded(yielded)),
        Err(error) if error.is_instance_of::<PyStopIteration>(py) => Ok(Sent::Returned),
        Err(error) => Err(error),
    }
}

/// Number of bytes between the engine's stack and those of users.
const STACK_GAP_BYTES: usize = 64 << 10;

/// Runs `work` further down the stack. The stack of a user begins at the depth at which its first
/// part began, and a switch saves the bytes of the engine's stack below that depth.
#[inline(never)]
fn below_engine_stack<T>(work: impl FnOnce() -> T) -> T {
    let mut gap = [MaybeUninit::<u8>::uninit(); STACK_GAP_BYTES];
    black_box(&mut gap);
    let done = work();
    black_box(&mut gap);
    done
}

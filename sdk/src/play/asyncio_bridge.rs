//! A coroutine that awaits anything but its client runs on an event loop (`loadpilot.play.loop`).
//! The firing thread runs that loop as a background task of the scenario.
//!
//! The firing thread waits for the loop's file descriptor and timers as for its own I/O. Must never
//! block in the loop while another user could continue.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::pending;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use loadpilot_agent::users::script::{Completion, Operation, Ticket};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::client::PyClient;
use super::in_python_flag::InPython;
use super::interned::Interned;
use super::request::PyRequest;
use super::response::PyResponse;
use super::results::result_of;

static LOOP_USER: Interned = Interned::new("loadpilot.play.loop", "LoopUser");

/// The event loop of a scenario.
pub(super) struct EventLoop {
    event_loop: Py<PyAny>,
    /// Notified when the loop has work: a user began a part on it, or an operation completed.
    wakeup: Rc<Notify>,
    /// Message about code that blocked the other users, reported with the next part that ends.
    blocked: Rc<Cell<Option<String>>>,
}

impl EventLoop {
    pub(super) fn new(event_loop: Py<PyAny>) -> Self {
        Self {
            event_loop,
            wakeup: Rc::default(),
            blocked: Rc::default(),
        }
    }

    /// A new user on the loop.
    pub(super) fn user(&self, py: Python<'_>, client: &Py<PyClient>) -> PyResult<LoopUser> {
        let user = LOOP_USER.of(py)?.call1((&self.event_loop, client))?;
        let ask = user.getattr("ask")?.unbind();
        client.bind(py).borrow().ask_on_loop.replace(Some(ask));
        Ok(LoopUser {
            user: user.unbind(),
            wakeup: Rc::clone(&self.wakeup),
            blocked: Rc::clone(&self.blocked),
            in_flight: BTreeMap::new(),
            next_ticket: 0,
            is_cancelled: false,
        })
    }

    /// Runs one iteration of the loop whenever it has work.
    pub(super) fn run(&self) -> impl Future<Output = ()> + use<> {
        let event_loop = Python::attach(|py| self.event_loop.clone_ref(py));
        let (wakeup, blocked) = (Rc::clone(&self.wakeup), Rc::clone(&self.blocked));
        async move {
            if let Err(error) = run(&event_loop, &wakeup, &blocked).await {
                tracing::error!(%error, "the event loop of the scenario has ended");
            }
        }
    }
}

impl Drop for EventLoop {
    fn drop(&mut self) {
        let closed = Python::attach(|py| self.event_loop.call_method0(py, "close").map(drop));
        if let Err(error) = closed {
            tracing::debug!(%error, "the event loop of the scenario was not closed");
        }
    }
}

async fn run(
    event_loop: &Py<PyAny>,
    wakeup: &Notify,
    blocked: &Cell<Option<String>>,
) -> io::Result<()> {
    let fd = Python::attach(|py| event_loop.call_method0(py, "fileno")?.extract::<RawFd>(py));
    // SAFETY: the loop keeps it open while it is referenced, which it is here.
    let fd = unsafe { BorrowedFd::borrow_raw(fd.map_err(io::Error::other)?) };
    // SAFETY: an owned descriptor, which lives as long as its registration.
    let fd =
        unsafe { AsyncFd::register_with_interest(fd.try_clone_to_owned()?, Interest::READABLE)? };
    loop {
        let in_python = InPython::new();
        let idle = Python::attach(|py| event_loop.call_method0(py, "run_once")?.extract(py));
        if let Some(message) = in_python.end() {
            blocked.set(Some(message));
        }
        let timeout: Option<f64> = idle.map_err(io::Error::other)?;
        let timeout =
            timeout.map(|secs| Duration::try_from_secs_f64(secs).unwrap_or(Duration::MAX));
        let timed_out = async {
            match timeout {
                Some(Duration::ZERO) => tokio::task::yield_now().await,
                Some(timeout) => sleep(timeout).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = wakeup.notified() => {}
            ready = fd.readable() => ready?.clear_ready(),
            () = timed_out => {}
        }
    }
}

/// A user on the event loop.
pub(super) struct LoopUser {
    user: Py<PyAny>,
    wakeup: Rc<Notify>,
    pub(super) blocked: Rc<Cell<Option<String>>>,
    /// Its operations in flight, by the ticket of their first request.
    in_flight: BTreeMap<Ticket, LoopOperation>,
    next_ticket: Ticket,
    pub(super) is_cancelled: bool,
}

/// A request, or several that the user waits for together.
struct LoopOperation {
    /// Its number on the loop.
    number: u64,
    requests: Py<PyAny>,
    /// The completion of each request; `None` while it is in flight.
    completions: Vec<Option<Completion>>,
}

impl LoopOperation {
    /// Its completion, once all of its requests have completed.
    fn completion(&mut self, py: Python<'_>) -> Option<Completion> {
        if self.completions.iter().any(Option::is_none) {
            return None;
        }
        let mut completions = self.completions.drain(..).flatten();
        match self.requests.bind(py).is_instance_of::<PyList>() {
            true => Some(Completion::Batch(completions.collect())),
            false => completions.next(),
        }
    }
}

impl LoopUser {
    /// Begins a part; `is_task`: the part is a task, not a hook.
    pub(super) fn begin(
        &mut self,
        py: Python<'_>,
        function: &Py<PyAny>,
        instance: &Py<PyAny>,
        is_task: bool,
    ) -> PyResult<()> {
        self.is_cancelled = false;
        self.in_flight.clear();
        self.next_ticket = 0;
        let user = self.user.bind(py);
        let keywords = PyDict::new(py);
        keywords.set_item(intern!(py, "is_task"), is_task)?;
        user.call_method("begin", (function, instance), Some(&keywords))?;
        self.wakeup.notify_one();
        Ok(())
    }

    /// `None` until the part has ended; then its error, if any.
    pub(super) fn ended(&self, py: Python<'_>) -> PyResult<Option<Option<PyErr>>> {
        let ended = self.user.bind(py).call_method0("ended")?;
        let Ok(ended) = ended.cast::<PyTuple>() else {
            return Ok(None);
        };
        let (error,) = ended.extract::<(Option<Bound<'_, PyAny>>,)>()?;
        Ok(Some(error.map(PyErr::from_value)))
    }

    /// The new concurrent requests of the part, if any, and the number of operations that they
    /// belong to.
    pub(super) fn take_operations(&mut self, py: Python<'_>) -> PyResult<(Option<Operation>, i64)> {
        let operations = self.user.bind(py).call_method0("take_operations")?;
        let operations: Vec<(u64, Bound<'_, PyAny>)> = operations.extract()?;
        let count = i64::try_from(operations.len()).unwrap_or(i64::MAX);
        let mut new_requests = Vec::new();
        for (number, requests) in operations {
            let first = self.next_ticket;
            each(&requests, |request| {
                new_requests.push((self.next_ticket, Arc::clone(&request.get().0)));
                self.next_ticket += 1;
            })?;
            if first == self.next_ticket {
                // An empty batch completes at once.
                let result = (number, PyList::empty(py), py.None());
                self.user.bind(py).call_method1("deliver", result)?;
                self.wakeup.notify_one();
                continue;
            }
            let operation = LoopOperation {
                number,
                requests: requests.unbind(),
                completions: (first..self.next_ticket).map(|_| None).collect(),
            };
            self.in_flight.insert(first, operation);
        }
        let is_new = !new_requests.is_empty();
        Ok((is_new.then_some(Operation::Concurrent(new_requests)), count))
    }

    /// Passes a completion to the part, or cancels it at the end of the run.
    pub(super) fn resume(
        &mut self,
        py: Python<'_>,
        completion: Completion,
        client: &PyClient,
        last: &mut Option<Py<PyResponse>>,
    ) -> PyResult<()> {
        let user = self.user.bind(py);
        let Completion::Concurrent(ticket, completion) = completion else {
            self.is_cancelled = true;
            user.call_method0("cancel")?;
            self.wakeup.notify_one();
            return Ok(());
        };
        let Some((&first, operation)) = self.in_flight.range_mut(..=ticket).next_back() else {
            return Ok(());
        };
        let index = (ticket - first) as usize;
        if let Some(slot) = operation.completions.get_mut(index) {
            *slot = Some(*completion);
        }
        let Some(completion) = operation.completion(py) else {
            return Ok(());
        };
        let requests = operation.requests.bind(py);
        let value = result_of(py, client, requests, completion, last);
        let (value, error) = match value {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(error.into_value(py))),
        };
        user.call_method1("deliver", (operation.number, value, error))?;
        self.in_flight.remove(&first);
        self.wakeup.notify_one();
        Ok(())
    }

    /// Cancels the part of an abandoned user.
    pub(super) fn leave(&self, py: Python<'_>) -> PyResult<()> {
        self.user.bind(py).call_method0("cancel")?;
        self.wakeup.notify_one();
        Ok(())
    }
}

/// Visits each request of an operation, which is one request or a list.
fn each(
    operation: &Bound<'_, PyAny>,
    mut visit: impl FnMut(&Bound<'_, PyRequest>),
) -> PyResult<()> {
    match operation.cast::<PyRequest>() {
        Ok(request) => visit(request),
        Err(_) => {
            for request in operation.cast::<PyList>()? {
                visit(request.cast::<PyRequest>()?);
            }
        }
    }
    Ok(())
}

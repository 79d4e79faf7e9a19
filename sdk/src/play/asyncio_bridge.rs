//! Coroutines that await more than their client: they run on an event loop
//! (`loadpilot.play.loop`), a guest of the firing thread that is turned here whenever there is
//! something for it to do.
//!
//! Must never wait on behalf of the loop while anything else could go on.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::pending;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use loadpilot_agent::users::script::{Completion, Operation, Ticket};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::client::PyClient;
use super::in_python_flag::Moving;
use super::interned::Known;
use super::request::PyRequest;
use super::response::PyResponse;
use super::results::understood;

static LOOPED: Known = Known::new("loadpilot.play.loop", "Looped");

/// The loop of a scenario.
pub(super) struct Guest {
    guest: Py<PyAny>,
    /// A user has begun something on it, or heard something.
    stirred: Rc<Notify>,
    /// Where one of its users kept the others waiting; told with whichever part ends next.
    blocked: Rc<Cell<Option<String>>>,
}

impl Guest {
    pub(super) fn new(guest: Py<PyAny>) -> Self {
        Self {
            guest,
            stirred: Rc::default(),
            blocked: Rc::default(),
        }
    }

    /// A user's place on the loop.
    pub(super) fn looped(&self, py: Python<'_>, client: &Py<PyClient>) -> PyResult<Looped> {
        let looped = LOOPED.of(py)?.call1((&self.guest, client))?;
        let ask = looped.getattr("ask")?.unbind();
        client.bind(py).borrow().ask_on_loop.replace(Some(ask));
        Ok(Looped {
            looped: looped.unbind(),
            stirred: Rc::clone(&self.stirred),
            blocked: Rc::clone(&self.blocked),
            under_way: BTreeMap::new(),
            next_ticket: 0,
            is_called_off: false,
        })
    }

    /// Turns the loop whenever there is something for it to do.
    pub(super) fn host(&self) -> impl Future<Output = ()> + use<> {
        let guest = Python::attach(|py| self.guest.clone_ref(py));
        let (stirred, blocked) = (Rc::clone(&self.stirred), Rc::clone(&self.blocked));
        async move {
            if let Err(error) = host(&guest, &stirred, &blocked).await {
                tracing::error!(%error, "the event loop of the scenario has ended");
            }
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let closed = Python::attach(|py| self.guest.call_method0(py, "close").map(drop));
        if let Err(error) = closed {
            tracing::debug!(%error, "the event loop of the scenario was not closed");
        }
    }
}

async fn host(
    guest: &Py<PyAny>,
    stirred: &Notify,
    blocked: &Cell<Option<String>>,
) -> io::Result<()> {
    let fd = Python::attach(|py| guest.call_method0(py, "fileno")?.extract::<RawFd>(py));
    // SAFETY: the loop keeps it open as long as there is a reference to it, which is held here.
    let fd = unsafe { BorrowedFd::borrow_raw(fd.map_err(io::Error::other)?) };
    // SAFETY: a descriptor of our own, which lives until the end of what registers it here.
    let fd =
        unsafe { AsyncFd::register_with_interest(fd.try_clone_to_owned()?, Interest::READABLE)? };
    loop {
        let moving = Moving::new();
        let turned = Python::attach(|py| guest.call_method0(py, "turn")?.extract(py));
        if let Some(words) = moving.end() {
            blocked.set(Some(words));
        }
        let rest: Option<f64> = turned.map_err(io::Error::other)?;
        let rest = rest.map(|secs| Duration::try_from_secs_f64(secs).unwrap_or(Duration::MAX));
        let rested = async {
            match rest {
                Some(Duration::ZERO) => tokio::task::yield_now().await,
                Some(rest) => sleep(rest).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = stirred.notified() => {}
            ready = fd.readable() => ready?.clear_ready(),
            () = rested => {}
        }
    }
}

/// A user's place on the loop.
pub(super) struct Looped {
    looped: Py<PyAny>,
    stirred: Rc<Notify>,
    pub(super) blocked: Rc<Cell<Option<String>>>,
    /// What it has under way, by the ticket of its first request.
    under_way: BTreeMap<Ticket, Wish>,
    next_ticket: Ticket,
    pub(super) is_called_off: bool,
}

/// A request or several that the user waits for together.
struct Wish {
    /// What the loop knows it by.
    number: u64,
    what: Py<PyAny>,
    /// What became of each request, as far as that is known.
    heard: Vec<Option<Completion>>,
}

impl Wish {
    /// What became of it, once that is known of all of it.
    fn come_true(&mut self, py: Python<'_>) -> Option<Completion> {
        if self.heard.iter().any(Option::is_none) {
            return None;
        }
        let mut heard = self.heard.drain(..).flatten();
        match self.what.bind(py).is_instance_of::<PyList>() {
            true => Some(Completion::Batch(heard.collect())),
            false => heard.next(),
        }
    }
}

impl Looped {
    /// Begins a part.
    pub(super) fn begin(
        &mut self,
        py: Python<'_>,
        function: &Py<PyAny>,
        instance: &Py<PyAny>,
    ) -> PyResult<()> {
        self.is_called_off = false;
        self.under_way.clear();
        self.next_ticket = 0;
        let looped = self.looped.bind(py);
        looped.call_method1("begin", (function, instance))?;
        self.stirred.notify_one();
        Ok(())
    }

    /// How the part ended, with an error or none, if it has ended.
    pub(super) fn ended(&self, py: Python<'_>) -> PyResult<Option<Option<PyErr>>> {
        let ended = self.looped.bind(py).call_method0("ended")?;
        let Ok(ended) = ended.cast::<PyTuple>() else {
            return Ok(None);
        };
        let (error,) = ended.extract::<(Option<Bound<'_, PyAny>>,)>()?;
        Ok(Some(error.map(PyErr::from_value)))
    }

    /// What the part wants of the engine beside what it has under way, if anything; and how many
    /// wishes were written for it.
    pub(super) fn wanted(&mut self, py: Python<'_>) -> PyResult<(Option<Operation>, i64)> {
        let wishes = self.looped.bind(py).call_method0("wishes")?;
        let wishes: Vec<(u64, Bound<'_, PyAny>)> = wishes.extract()?;
        let written = i64::try_from(wishes.len()).unwrap_or(i64::MAX);
        let mut wanted = Vec::new();
        for (number, what) in wishes {
            let first = self.next_ticket;
            each(&what, |request| {
                wanted.push((self.next_ticket, Arc::clone(&request.get().0)));
                self.next_ticket += 1;
            })?;
            if first == self.next_ticket {
                // Nothing is under way of an empty batch.
                let answers = PyList::empty(py);
                let nothing = (number, answers, py.None());
                self.looped.bind(py).call_method1("hear", nothing)?;
                self.stirred.notify_one();
                continue;
            }
            let heard = (first..self.next_ticket).map(|_| None).collect();
            let what = what.unbind();
            let wish = Wish {
                number,
                what,
                heard,
            };
            self.under_way.insert(first, wish);
        }
        let next = (!wanted.is_empty()).then_some(Operation::Concurrent(wanted));
        Ok((next, written))
    }

    /// Tells the part what became of what it wanted, or that it may wait no more.
    pub(super) fn hear(
        &mut self,
        py: Python<'_>,
        heard: Completion,
        client: &PyClient,
        last: &mut Option<Py<PyResponse>>,
    ) -> PyResult<()> {
        let looped = self.looped.bind(py);
        let Completion::Concurrent(ticket, heard) = heard else {
            self.is_called_off = true;
            looped.call_method0("cancel")?;
            self.stirred.notify_one();
            return Ok(());
        };
        let Some((&first, wish)) = self.under_way.range_mut(..=ticket).next_back() else {
            return Ok(());
        };
        if let Some(place) = wish.heard.get_mut((ticket - first) as usize) {
            *place = Some(*heard);
        }
        let Some(heard) = wish.come_true(py) else {
            return Ok(());
        };
        let value = understood(py, client, wish.what.bind(py), heard, last);
        let (value, error) = match value {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(error.into_value(py))),
        };
        looped.call_method1("hear", (wish.number, value, error))?;
        self.under_way.remove(&first);
        self.stirred.notify_one();
        Ok(())
    }

    /// Nobody waits for its part any more.
    pub(super) fn leave(&self, py: Python<'_>) -> PyResult<()> {
        self.looped.bind(py).call_method0("cancel")?;
        self.stirred.notify_one();
        Ok(())
    }
}

/// Each request of a wish, which is one or several.
fn each(wish: &Bound<'_, PyAny>, mut hear: impl FnMut(&Bound<'_, PyRequest>)) -> PyResult<()> {
    match wish.cast::<PyRequest>() {
        Ok(request) => hear(request),
        Err(_) => {
            for request in wish.cast::<PyList>()? {
                hear(request.cast::<PyRequest>()?);
            }
        }
    }
    Ok(())
}

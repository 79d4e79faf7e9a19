//! The user whose Python code the firing thread executes, and the functions with which that code
//! draws, reads feed rows and adds to metrics. There is no current user between two stretches of
//! code, or on other threads.
//!
//! Tasks of an event loop set and clear the current user themselves (`loadpilot.play.loop`).

use std::cell::RefCell;
use std::rc::Rc;

use loadpilot_engine::schedule::feed::NoRow;
use pyo3::exceptions::{PyIndexError, PyLookupError, PyRuntimeError};
use pyo3::prelude::*;

use super::inputs::Inputs;
use super::metrics::MetricSamples;

thread_local! {
    static CURRENT: RefCell<Option<Rc<UserContext>>> = const { RefCell::new(None) };
}

/// Inputs and metric samples of one user.
pub(super) struct UserContext {
    pub(super) inputs: Inputs,
    pub(super) samples: MetricSamples,
}

impl UserContext {
    pub(super) fn new(inputs: Inputs) -> Rc<Self> {
        Rc::new(Self {
            inputs,
            samples: MetricSamples::default(),
        })
    }

    /// Runs `stretch` with this user as the current one.
    pub(super) fn during<T>(self: &Rc<Self>, stretch: impl FnOnce() -> T) -> T {
        CURRENT.set(Some(Rc::clone(self)));
        let done = stretch();
        CURRENT.set(None);
        done
    }
}

fn current_inputs<T>(read: impl FnOnce(&Inputs) -> T) -> PyResult<T> {
    let no_user = || {
        PyRuntimeError::new_err(
            "only on_start, tasks, checks and on_stop can draw, take rows and ask when they are \
             due: nothing else belongs to an arrival or a user",
        )
    };
    CURRENT.with_borrow(|current| {
        let user = current.as_ref().ok_or_else(no_user)?;
        Ok(read(&user.inputs))
    })
}

/// The next value that the current part draws, uniform over 64 bits.
#[pyfunction]
pub(crate) fn drawn() -> PyResult<u64> {
    current_inputs(Inputs::next_value)
}

/// When the current part is due, in µs since 1970.
#[pyfunction]
pub(crate) fn due_us() -> PyResult<u64> {
    current_inputs(|inputs| inputs.due().0)
}

/// Row of the current part, from 0, in the feed at this index of the plan; `IndexError` when all
/// rows are used.
#[pyfunction]
pub(crate) fn row(feed: usize) -> PyResult<u64> {
    let row = current_inputs(|inputs| inputs.row(feed))?;
    row.map_err(|why| match why {
        NoRow::NotTaken => PyLookupError::new_err("this task takes no rows of it"),
        NoRow::AllUsed => PyIndexError::new_err("all rows are used"),
    })
}

/// Adds to a metric of the current user; without one it does nothing.
#[pyfunction]
pub(crate) fn measure(kind: &str, name: &str, value: f64) -> PyResult<()> {
    CURRENT.with_borrow(|current| match current {
        Some(user) => user.samples.add(kind, name, value),
        None => Ok(()),
    })
}

/// One user, for the event loop that executes its tasks.
#[pyclass(name = "CurrentUser", module = "loadpilot._native")]
pub(crate) struct PyCurrentUser(Rc<UserContext>);

// SAFETY: it is accessed only while the interpreter is held, which is one lock for all of it. One
// in a reference cycle is dropped by the thread that collects it.
unsafe impl Send for PyCurrentUser {}
// SAFETY: the same.
unsafe impl Sync for PyCurrentUser {}

#[pymethods]
impl PyCurrentUser {
    /// Makes this user the current one.
    fn begin(&self) {
        CURRENT.set(Some(Rc::clone(&self.0)));
    }

    /// Clears the current user.
    fn end(&self) {
        CURRENT.set(None);
    }
}

/// The current user, if there is one.
#[pyfunction]
pub(crate) fn get_current_user() -> Option<PyCurrentUser> {
    CURRENT.with_borrow(|current| current.clone().map(PyCurrentUser))
}

//! The user whose Python code the firing thread executes: its draws, feed rows and metrics are that
//! user's. Between two stretches of code there is no current user.
//!
//! Tasks of an event loop set and clear the current user themselves (`loadpilot.play.loop`).

use std::cell::RefCell;
use std::rc::Rc;

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

/// Calls `read` with the current user, if there is one.
pub(super) fn current<T>(read: impl FnOnce(Option<&UserContext>) -> T) -> T {
    CURRENT.with_borrow(|current| read(current.as_deref()))
}

/// One user, for the event loop that executes its tasks.
#[pyclass(name = "Turn", module = "loadpilot._native")]
pub(crate) struct PyTurn(Rc<UserContext>);

// SAFETY: it is accessed only while the interpreter is held, which is one lock for all of it. One
// in a reference cycle is dropped by the thread that collects it.
unsafe impl Send for PyTurn {}
// SAFETY: the same.
unsafe impl Sync for PyTurn {}

#[pymethods]
impl PyTurn {
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
pub(crate) fn whose_turn() -> Option<PyTurn> {
    CURRENT.with_borrow(|current| current.clone().map(PyTurn))
}

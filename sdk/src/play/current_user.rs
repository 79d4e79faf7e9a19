//! DrawScope turn it is on the firing thread: users take turns, and each turn is one stretch of Python.
//! What is drawn, taken or added meanwhile is that user's; at any other time it is nobody's.
//!
//! Tasks of an event loop begin and end their turns themselves (`loadpilot.play.loop`).

use std::cell::RefCell;
use std::rc::Rc;

use pyo3::prelude::*;

use super::inputs::Given;
use super::measuring::Values;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Turn>>> = const { RefCell::new(None) };
}

/// What belongs to one user.
pub(super) struct Turn {
    pub(super) given: Given,
    pub(super) values: Values,
}

impl Turn {
    pub(super) fn new(given: Given) -> Rc<Self> {
        Rc::new(Self {
            given,
            values: Values::default(),
        })
    }

    /// It is this user's turn, until `stretch` is done.
    pub(super) fn during<T>(self: &Rc<Self>, stretch: impl FnOnce() -> T) -> T {
        CURRENT.set(Some(Rc::clone(self)));
        let done = stretch();
        CURRENT.set(None);
        done
    }
}

/// Reads from whoever's turn it is; nobody's, that may be.
pub(super) fn current<T>(read: impl FnOnce(Option<&Turn>) -> T) -> T {
    CURRENT.with_borrow(|current| read(current.as_deref()))
}

/// One user's turn, for whoever moves tasks of that user on.
#[pyclass(name = "Turn", module = "loadpilot._native")]
pub(crate) struct PyTurn(Rc<Turn>);

// SAFETY: it is looked at with the interpreter held only, which is one lock for all of it. A turn
// in a cycle of garbage is dropped by whichever thread collects that.
unsafe impl Send for PyTurn {}
// SAFETY: the same.
unsafe impl Sync for PyTurn {}

#[pymethods]
impl PyTurn {
    /// It is this user's turn now.
    fn begin(&self) {
        CURRENT.set(Some(Rc::clone(&self.0)));
    }

    /// It is nobody's.
    fn end(&self) {
        CURRENT.set(None);
    }
}

/// DrawScope turn it is, if it is anybody's.
#[pyfunction]
pub(crate) fn whose_turn() -> Option<PyTurn> {
    CURRENT.with_borrow(|current| current.clone().map(PyTurn))
}

//! Exceptions of the native module.

use loadpilot_events::refusal::{Problem, Refusal};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::session::SessionError;

create_exception!(
    _native,
    Refused,
    PyValueError,
    "A request is refused; the user can fix it."
);
create_exception!(
    _native,
    Fault,
    PyRuntimeError,
    "A connection, a file or a process failed."
);

/// `Refused`, with the problems as JSON.
pub(crate) fn refused(py: Python<'_>, refusal: &Refusal) -> PyErr {
    let error = Refused::new_err(refusal.to_string());
    let problems = serde_json::to_string(&refusal.problems).unwrap_or_default();
    match error.value(py).setattr("problems", problems) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// `Refused` or `Fault`.
pub(super) fn failed(py: Python<'_>, error: &SessionError) -> PyErr {
    match error {
        SessionError::Refused(refusal) => refused(py, refusal),
        SessionError::NoFleet(_)
        | SessionError::Fault(_)
        | SessionError::Append(_)
        | SessionError::Write(_) => Fault::new_err(error.to_string()),
    }
}

/// `ValueError`.
pub(super) fn invalid(problem: &Problem) -> PyErr {
    PyValueError::new_err(problem.to_string())
}

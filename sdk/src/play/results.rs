//! Results of operations for Python: the value of a call, or an error that it raises.

use loadpilot_agent::users::script::Completion;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::client::PyClient;
use super::interned::Interned;
use super::request::PyRequest;
use super::response::PyResponse;

static REQUEST_ERROR: Interned = Interned::new("loadpilot.errors", "RequestError");
static STOPPED: Interned = Interned::new("loadpilot.errors", "Stopped");

/// Result of an operation; stores the last response in `last`.
pub(super) fn result_of<'py>(
    py: Python<'py>,
    client: &PyClient,
    operation: &Bound<'py, PyAny>,
    completion: Completion,
    last: &mut Option<Py<PyResponse>>,
) -> PyResult<Bound<'py, PyAny>> {
    match completion {
        Completion::Awake => Ok(py.None().into_bound(py)),
        Completion::Batch(all) => {
            let responses = PyList::empty(py);
            let mut failed = None;
            let requests = operation.cast::<PyList>()?;
            for (completion, request) in all.into_iter().zip(requests.iter()) {
                let request = request.cast_into::<PyRequest>()?;
                match one(py, client, completion, &request, last) {
                    Ok(response) => responses.append(response)?,
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            match failed {
                None => Ok(responses.into_any()),
                Some(error) => {
                    *last = None;
                    Err(error)
                }
            }
        }
        completion => match operation.cast::<PyRequest>() {
            Ok(request) => Ok(one(py, client, completion, request, last)?.into_any()),
            // A sleep, or a batch that was not sent: the run is over.
            Err(_) => Err(stopped(py)),
        },
    }
}

/// Result of one request.
fn one<'py>(
    py: Python<'py>,
    client: &PyClient,
    completion: Completion,
    request: &Bound<'py, PyRequest>,
    last: &mut Option<Py<PyResponse>>,
) -> PyResult<Bound<'py, PyResponse>> {
    match completion {
        Completion::Response(response) => {
            let response = PyResponse::new(response);
            let sets_cookies = response.sets_cookies();
            let response = Bound::new(py, response)?;
            *last = Some(response.clone().unbind());
            if sets_cookies {
                client.store_cookies(&response, request.get())?;
            }
            Ok(response)
        }
        Completion::Failed { outcome, cause } => {
            let cause = cause.and_then(|cause| serde_json::to_value(cause).ok());
            let cause = cause.as_ref().and_then(serde_json::Value::as_str);
            let error = REQUEST_ERROR.of(py)?.call1((outcome.name(), cause))?;
            Err(PyErr::from_value(error))
        }
        Completion::Unsendable(reason) => Err(PyValueError::new_err(reason)),
        Completion::Stopped
        | Completion::Awake
        | Completion::Batch(_)
        | Completion::Concurrent(..) => Err(stopped(py)),
    }
}

/// Raised by every operation after the end of the run.
pub(super) fn stopped(py: Python<'_>) -> PyErr {
    let error = STOPPED.of(py).and_then(|kind| kind.call0());
    error.map_or_else(|error| error, PyErr::from_value)
}

/// Whether an error is [`stopped`].
pub(super) fn is_stopped(py: Python<'_>, error: &PyErr) -> bool {
    STOPPED.of(py).is_ok_and(|kind| error.is_instance(py, kind))
}

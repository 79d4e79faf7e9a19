//! What the engine says, as a task in Python takes it: a value, or an error at its own line.

use loadpilot_agent::users::script::Completion;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::client::PyClient;
use super::interned::Known;
use super::request::PyRequest;
use super::response::PyResponse;

static REQUEST_ERROR: Known = Known::new("loadpilot.errors", "RequestError");
static STOPPED: Known = Known::new("loadpilot.errors", "Stopped");

/// What a user heard of its wish, and the last answer in it.
pub(super) fn understood<'py>(
    py: Python<'py>,
    client: &PyClient,
    wish: &Bound<'py, PyAny>,
    heard: Completion,
    last: &mut Option<Py<PyResponse>>,
) -> PyResult<Bound<'py, PyAny>> {
    match heard {
        Completion::Awake => Ok(py.None().into_bound(py)),
        Completion::Batch(all) => {
            let answers = PyList::empty(py);
            let mut failed = None;
            let requests = wish.cast::<PyList>()?;
            for (heard, request) in all.into_iter().zip(requests.iter()) {
                let request = request.cast_into::<PyRequest>()?;
                match one(py, client, heard, &request, last) {
                    Ok(answer) => answers.append(answer)?,
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            match failed {
                None => Ok(answers.into_any()),
                Some(error) => {
                    *last = None;
                    Err(error)
                }
            }
        }
        heard => match wish.cast::<PyRequest>() {
            Ok(request) => Ok(one(py, client, heard, request, last)?.into_any()),
            // A rest, or a batch that was not sent: the run is over.
            Err(_) => Err(stopped(py)),
        },
    }
}

/// What became of one request.
fn one<'py>(
    py: Python<'py>,
    client: &PyClient,
    heard: Completion,
    request: &Bound<'py, PyRequest>,
    last: &mut Option<Py<PyResponse>>,
) -> PyResult<Bound<'py, PyResponse>> {
    match heard {
        Completion::Response(answer) => {
            let answer = PyResponse::new(answer);
            let brings_cookies = answer.brings_cookies();
            let answer = Bound::new(py, answer)?;
            *last = Some(answer.clone().unbind());
            if brings_cookies {
                client.keep_cookies(&answer, request.get())?;
            }
            Ok(answer)
        }
        Completion::Failed { outcome, cause } => {
            let cause = cause.and_then(|cause| serde_json::to_value(cause).ok());
            let cause = cause.as_ref().and_then(serde_json::Value::as_str);
            let error = REQUEST_ERROR.of(py)?.call1((outcome.name(), cause))?;
            Err(PyErr::from_value(error))
        }
        Completion::Unsendable(why) => Err(PyValueError::new_err(why)),
        Completion::Stopped
        | Completion::Awake
        | Completion::Batch(_)
        | Completion::Concurrent(..) => Err(stopped(py)),
    }
}

/// The run is over: whatever a task still wants, it ends here.
pub(super) fn stopped(py: Python<'_>) -> PyErr {
    let error = STOPPED.of(py).and_then(|kind| kind.call0());
    error.map_or_else(|error| error, PyErr::from_value)
}

/// Whether an error is that.
pub(super) fn is_stopped(py: Python<'_>, error: &PyErr) -> bool {
    STOPPED.of(py).is_ok_and(|kind| error.is_instance(py, kind))
}

//! Requests of tasks, for Python.

use std::sync::Arc;

use bytes::Bytes;
use loadpilot_agent::users::script::Request;
use loadpilot_events::plan::{Method, Stream};
use loadpilot_script::operation::EngineCache;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

/// A request, ready to be sent.
#[pyclass(name = "Request", module = "loadpilot._native", frozen)]
pub(crate) struct PyRequest(pub(super) Arc<Request>);

#[pymethods]
impl PyRequest {
    #[new]
    #[pyo3(signature = (
        method, path, headers, body = None, timeout_us = None, name = None, *, stream = None,
        tokens_max = None, listen_us = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "by keyword, in Python")]
    fn new(
        method: &str,
        path: String,
        headers: Vec<(String, String)>,
        body: Option<PyBackedBytes>,
        timeout_us: Option<u64>,
        name: Option<String>,
        stream: Option<&str>,
        tokens_max: Option<u32>,
        listen_us: Option<u64>,
    ) -> PyResult<Self> {
        Ok(Self(Arc::new(Request {
            method: method_of(method)?,
            path,
            headers,
            body: body.map(Bytes::from_owner),
            timeout_us,
            name,
            stream: match stream {
                None => None,
                Some("sse") => Some(Stream::Sse),
                Some("lines") => Some(Stream::Lines),
                Some("chunks") => Some(Stream::Chunks),
                Some(other) => {
                    return Err(PyValueError::new_err(format!("no stream {other}")));
                }
            },
            tokens_max,
            listen_us,
            cache: EngineCache::default(),
        })))
    }

    #[getter]
    fn method(&self) -> &'static str {
        self.0.method.name()
    }

    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    #[getter]
    fn headers(&self) -> Vec<(String, String)> {
        self.0.headers.clone()
    }

    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.body.as_ref().map(|body| PyBytes::new(py, body))
    }

    /// The request that a redirect leads to: timeout and stream options stay the same.
    fn led_to(
        &self,
        method: &str,
        path: String,
        headers: Vec<(String, String)>,
        body: Option<PyBackedBytes>,
    ) -> PyResult<Self> {
        Ok(Self(Arc::new(Request {
            method: method_of(method)?,
            path,
            headers,
            body: body.map(Bytes::from_owner),
            timeout_us: self.0.timeout_us,
            name: None,
            stream: self.0.stream,
            tokens_max: self.0.tokens_max,
            listen_us: self.0.listen_us,
            cache: EngineCache::default(),
        })))
    }
}

fn method_of(method: &str) -> PyResult<Method> {
    let unknown = || PyValueError::new_err(format!("no method {method}"));
    Method::named(method).ok_or_else(unknown)
}

//! Responses, for Python. A body is copied on first use only.

use std::sync::OnceLock;

use jiter::{PythonParse, StringCacheMode};
use loadpilot_agent::users::script::Response;
use loadpilot_script::{Decoded, has_header};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;

/// Python module that reads headers, text and events.
const READING: &str = "loadpilot.play.response_text";

/// The response to one request.
#[pyclass(name = "Response", module = "loadpilot._native", frozen)]
pub(crate) struct PyResponse {
    response: Response,
    decoded: OnceLock<Result<Option<Decoded>, String>>,
    content: PyOnceLock<Py<PyBytes>>,
    headers: PyOnceLock<Py<PyAny>>,
}

impl PyResponse {
    /// Wraps a response of the load engine.
    pub(super) fn new(response: Response) -> Self {
        Self {
            response,
            decoded: OnceLock::new(),
            content: PyOnceLock::new(),
            headers: PyOnceLock::new(),
        }
    }

    /// The body without its content codings, which are decoded once.
    fn plain(&self) -> PyResult<&[u8]> {
        match self.decoded.get_or_init(|| self.response.decode()) {
            Ok(Some(decoded)) => Ok(decoded.content()),
            Ok(None) => Ok(&self.response.body),
            Err(why) => Err(PyValueError::new_err(why.clone())),
        }
    }

    /// Whether it sets cookies.
    pub(super) fn sets_cookies(&self) -> bool {
        has_header(&self.response.head, "set-cookie")
    }
}

#[pymethods]
impl PyResponse {
    #[getter]
    pub(super) fn status_code(&self) -> u16 {
        self.response.status
    }

    #[getter]
    fn ok(&self) -> bool {
        self.response.status < 400
    }

    #[getter]
    fn elapsed_ms(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a time to display")]
        let us = self.response.elapsed_us as f64;
        us / 1e3
    }

    /// The body without its content encoding.
    #[getter]
    fn content(&self, py: Python<'_>) -> PyResult<Py<PyBytes>> {
        let content = || Ok::<_, PyErr>(PyBytes::new(py, self.plain()?).unbind());
        Ok(self.content.get_or_try_init(py, content)?.clone_ref(py))
    }

    #[getter]
    fn headers(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let read = || {
            let head = PyBytes::new(py, &self.response.head);
            let headers = py.import(READING)?.call_method1("Headers", (head,))?;
            Ok::<_, PyErr>(headers.unbind())
        };
        Ok(self.headers.get_or_try_init(py, read)?.clone_ref(py))
    }

    #[getter]
    fn text(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let arguments = (self.content(py)?, self.headers(py)?);
        let text = py.import(READING)?.call_method1("text", arguments)?;
        Ok(text.unbind())
    }

    pub(super) fn json(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let plain = self.plain()?;
        let parser = PythonParse {
            allow_inf_nan: true,
            cache_mode: StringCacheMode::Keys,
            ..PythonParse::default()
        };
        match parser.python_parse(py, plain) {
            Ok(value) => Ok(value.unbind()),
            // The standard library reads other encodings too, and raises Python's own errors.
            Err(_) => {
                let json = py.import("json")?;
                Ok(json.call_method1("loads", (self.content(py)?,))?.unbind())
            }
        }
    }

    /// The events of a stream that has ended.
    fn events(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let text = (self.text(py)?,);
        let events = py.import(READING)?.call_method1("events", text)?;
        Ok(events.unbind())
    }

    /// The lines of the body, without their ends.
    fn iter_lines(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let lines = self.text(py)?.call_method0(py, "splitlines")?;
        Ok(lines.bind(py).try_iter()?.into_any().unbind())
    }

    fn raise_for_status(slf: Bound<'_, Self>) -> PyResult<()> {
        if slf.get().response.status < 400 {
            return Ok(());
        }
        let py = slf.py();
        py.import(READING)?.call_method1("refuse", (slf,)).map(drop)
    }

    fn __repr__(&self) -> String {
        format!("<Response [{}]>", self.response.status)
    }
}

//! An answer as a task in Python sees it. Must never copy a body that nobody looks at.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use jiter::{PythonParse, StringCacheMode};
use loadpilot_agent::script::Answer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;

/// What reads the parts of an answer that are made up of text.
const READING: &str = "loadpilot.play.reading";

/// Most bytes of a body when it is decoded: a few of them can stand for very many.
const DECODED_BYTES_MAX: u64 = 64 << 20;

/// The answer to one request.
#[pyclass(name = "Response", module = "loadpilot._native", frozen)]
pub(crate) struct PyAnswer {
    answer: Answer,
    content: PyOnceLock<Py<PyBytes>>,
    headers: PyOnceLock<Py<PyAny>>,
}

impl PyAnswer {
    /// Takes what the engine kept.
    pub(super) fn new(answer: Answer) -> Self {
        Self {
            answer,
            content: PyOnceLock::new(),
            headers: PyOnceLock::new(),
        }
    }

    /// Whether it brings cookies.
    pub(super) fn brings_cookies(&self) -> bool {
        has_header(&self.answer.head, "set-cookie")
    }
}

#[pymethods]
impl PyAnswer {
    #[getter]
    pub(super) fn status_code(&self) -> u16 {
        self.answer.status
    }

    #[getter]
    fn ok(&self) -> bool {
        self.answer.status < 400
    }

    #[getter]
    fn elapsed_ms(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a time for people")]
        let us = self.answer.elapsed_us as f64;
        us / 1e3
    }

    /// Decoded when the target says that it encoded it.
    #[getter]
    fn content(&self, py: Python<'_>) -> PyResult<Py<PyBytes>> {
        let content = || {
            let decoded = decoded(&self.answer).map_err(PyValueError::new_err)?;
            Ok::<_, PyErr>(PyBytes::new(py, &decoded).unbind())
        };
        Ok(self.content.get_or_try_init(py, content)?.clone_ref(py))
    }

    #[getter]
    fn headers(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let read = || {
            let head = PyBytes::new(py, &self.answer.head);
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
        let decoded = decoded(&self.answer).map_err(PyValueError::new_err)?;
        let parser = PythonParse {
            allow_inf_nan: true,
            cache_mode: StringCacheMode::Keys,
            ..PythonParse::default()
        };
        match parser.python_parse(py, &decoded) {
            Ok(value) => Ok(value.unbind()),
            // The standard library reads other encodings too, and says best what is wrong.
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

    /// Its lines, without their ends.
    fn iter_lines(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let lines = self.text(py)?.call_method0(py, "splitlines")?;
        Ok(lines.bind(py).try_iter()?.into_any().unbind())
    }

    fn raise_for_status(slf: Bound<'_, Self>) -> PyResult<()> {
        if slf.get().answer.status < 400 {
            return Ok(());
        }
        let py = slf.py();
        py.import(READING)?.call_method1("refuse", (slf,)).map(drop)
    }

    fn __repr__(&self) -> String {
        format!("<Response [{}]>", self.answer.status)
    }
}

/// The body without the encoding that the head names (RFC 9110, section 8.4).
fn decoded(answer: &Answer) -> Result<Cow<'_, [u8]>, String> {
    let body = &answer.body[..];
    if body.is_empty() {
        // Of HEAD and of 304, whatever their heads say.
        return Ok(Cow::Borrowed(body));
    }
    let coding = header(&answer.head, "content-encoding").unwrap_or_default();
    let plain: Box<dyn Read> = match coding.as_str() {
        "" | "identity" => return Ok(Cow::Borrowed(body)),
        "gzip" | "x-gzip" => Box::new(MultiGzDecoder::new(body)),
        // What is called deflate is zlib, except where it is not.
        "deflate" if ZlibDecoder::new(body).read(&mut [0]).is_ok() => {
            Box::new(ZlibDecoder::new(body))
        }
        "deflate" => Box::new(DeflateDecoder::new(body)),
        other => {
            return Err(format!(
                "the answer is encoded as {other}, which is not decoded here"
            ));
        }
    };
    let mut decoded = Vec::new();
    let read = plain.take(DECODED_BYTES_MAX + 1).read_to_end(&mut decoded);
    read.map_err(|error| format!("the answer is not {coding}: {error}"))?;
    if decoded.len() as u64 > DECODED_BYTES_MAX {
        return Err(format!(
            "the answer is longer than 64 MiB when its {coding} is decoded"
        ));
    }
    Ok(Cow::Owned(decoded))
}

/// Whether a head has a header. Most have neither of those that are asked for here, so that the
/// search looks for their colons first.
fn has_header(head: &[u8], name: &str) -> bool {
    let name = name.as_bytes();
    let mut from = 0;
    while let Some(found) = head[from..].iter().position(|&byte| byte == b':') {
        let colon = from + found;
        let begin = colon.checked_sub(name.len()).filter(|&begin| begin > 0);
        if begin
            .is_some_and(|at| head[at - 1] == b'\n' && head[at..colon].eq_ignore_ascii_case(name))
        {
            return true;
        }
        from = colon + 1;
    }
    false
}

/// The last value of a header, in lower case.
fn header(head: &[u8], name: &str) -> Option<String> {
    if !has_header(head, name) {
        return None;
    }
    let lines = head.split(|&byte| byte == b'\n').skip(1);
    let values = lines.filter_map(|line| {
        let (found, value) = line.split_at_checked(name.len())?;
        let value = value.strip_prefix(b":")?;
        let is_it = found.eq_ignore_ascii_case(name.as_bytes());
        is_it.then(|| String::from_utf8_lossy(value).trim().to_ascii_lowercase())
    });
    values.last()
}

//! The sampled calls of a run, for Python: text, or columns of numbers.

use std::sync::Arc;

use loadpilot_engine::report::samples::{SampleColumns, SampleText};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

use super::blocking::wait;
use super::errors::failed;
use super::values::json;
use crate::samples::SampleReader;

/// Size in bytes at which a piece of text is handed over.
const TEXT_BYTES: usize = 1 << 20;
/// Number of rows at which a batch of columns is handed over.
const BATCH_ROWS: usize = 1 << 16;

/// Sampled calls that are read from a log.
#[pyclass(name = "Samples", module = "loadpilot._native")]
pub(super) struct PySamples {
    runtime: Arc<Runtime>,
    state: Mutex<State>,
}

struct State {
    reader: SampleReader,
    text: SampleText,
    columns: SampleColumns,
    begun: bool,
}

/// Reads the name of a text format.
pub(super) fn form(name: &str) -> PyResult<SampleText> {
    match name {
        "table" => Ok(SampleText::Table),
        "vegeta" => Ok(SampleText::Vegeta(Default::default())),
        "json" => Ok(SampleText::JsonLines),
        _ => Err(PyValueError::new_err(format!("no such form: {name}"))),
    }
}

impl PySamples {
    pub(super) fn new(runtime: Arc<Runtime>, reader: SampleReader, text: SampleText) -> Self {
        let state = State {
            reader,
            text,
            columns: SampleColumns::default(),
            begun: false,
        };
        Self {
            runtime,
            state: Mutex::new(state),
        }
    }
}

#[pymethods]
impl PySamples {
    fn text(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let piece = wait(py, &self.runtime, async {
            let state = &mut *self.state.lock().await;
            let mut piece = String::new();
            if !state.begun {
                piece.push_str(state.text.header());
                state.begun = true;
            }
            let form = &mut state.text;
            while piece.len() < TEXT_BYTES {
                let lines = state
                    .reader
                    .next(|table, row| form.line(table, row, &mut piece));
                if !lines.await? {
                    break;
                }
            }
            Ok(piece)
        })?;
        let piece = piece.map_err(|error| failed(py, &error))?;
        Ok((!piece.is_empty()).then_some(piece))
    }

    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let batch = wait(py, &self.runtime, async {
            let state = &mut *self.state.lock().await;
            let columns = &mut state.columns;
            while columns.rows() < BATCH_ROWS {
                if !state.reader.next(|_, row| columns.add(row)).await? {
                    break;
                }
            }
            Ok(columns.take())
        })?;
        let batch = batch.map_err(|error| failed(py, &error))?;
        if batch.columns.is_empty() {
            return Ok(None);
        }
        let found = PyDict::new(py);
        for (name, values) in batch.columns {
            let bytes: Vec<u8> = values.iter().flat_map(|one| one.to_ne_bytes()).collect();
            found.set_item(name, PyBytes::new(py, &bytes))?;
        }
        let names = PyDict::new(py);
        for (name, list) in batch.names {
            names.set_item(name, list)?;
        }
        found.set_item("names", names)?;
        Ok(Some(found))
    }

    fn read(&self, py: Python<'_>) -> PyResult<String> {
        let read = async { self.state.lock().await.reader.read() };
        json(&wait(py, &self.runtime, read)?)
    }
}

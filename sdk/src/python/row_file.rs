//! Files of rows for Python: checked in one pass, read a row at a time.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use loadpilot_agent::users::row_file::{Cursor, Fault, RowFile};
use loadpilot_events::plan::script::RowForm;
use loadpilot_script::rows::{Row, RowReader};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::values::parsed;

/// A file of rows; all of them are well formed.
#[pyclass(name = "RowFile", module = "loadpilot._native", frozen)]
pub(crate) struct PyRowFile {
    file: Arc<RowFile>,
    cursor: Mutex<Cursor>,
    columns: Vec<Py<PyString>>,
}

impl PyRowFile {
    pub(crate) fn new(py: Python<'_>, file: Arc<RowFile>) -> Self {
        let columns = file.contents().columns.iter();
        Self {
            columns: columns
                .map(|name| PyString::new(py, name).unbind())
                .collect(),
            cursor: Mutex::new(Cursor::new(Arc::clone(&file))),
            file,
        }
    }
}

#[pymethods]
impl PyRowFile {
    /// Checks a file of the form `csv` or `json_lines`.
    #[new]
    fn check(py: Python<'_>, path: PathBuf, form: &str) -> PyResult<Self> {
        let form: RowForm = parsed("form", form)?;
        let file = py.detach(|| RowFile::check(File::open(&path)?, form));
        match file {
            Ok(file) => Ok(Self::new(py, Arc::new(file))),
            Err(Fault::Io(error)) => Err(error.into()),
            Err(fault) => Err(PyValueError::new_err(fault.to_string())),
        }
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.file.rows()).unwrap_or(usize::MAX)
    }

    /// The row at an index, from 0: a dict for CSV, the text of the line for JSON lines.
    fn row(&self, py: Python<'_>, place: u64) -> PyResult<Py<PyAny>> {
        let cursor = self.cursor.lock().unwrap_or_else(PoisonError::into_inner);
        match cursor.row(place).map_err(PyOSError::new_err)? {
            Row::Json(line) => Ok(PyString::new(py, &line).into_any().unbind()),
            Row::Fields(fields) => {
                let row = PyDict::new(py);
                for (name, field) in self.columns.iter().zip(fields) {
                    row.set_item(name, field)?;
                }
                Ok(row.into_any().unbind())
            }
        }
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.file.content().bytes
    }

    #[getter]
    fn sha256(&self) -> &str {
        &self.file.content().sha256
    }

    /// Why compiled code cannot represent one of the rows; `None` if it can represent all.
    #[getter]
    fn python_only(&self) -> Option<&'static str> {
        self.file.contents().python_only
    }
}

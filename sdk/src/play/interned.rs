//! Attributes of Python modules that the hot path uses, imported once.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// One attribute of a module, imported on first use.
pub(super) struct Interned {
    module: &'static str,
    name: &'static str,
    found: PyOnceLock<Py<PyAny>>,
}

impl Interned {
    pub(super) const fn new(module: &'static str, name: &'static str) -> Self {
        Self {
            module,
            name,
            found: PyOnceLock::new(),
        }
    }

    pub(super) fn of<'a, 'py>(&'a self, py: Python<'py>) -> PyResult<&'a Bound<'py, PyAny>> {
        let import = || Ok::<_, PyErr>(py.import(self.module)?.getattr(self.name)?.unbind());
        Ok(self.found.get_or_try_init(py, import)?.bind(py))
    }
}

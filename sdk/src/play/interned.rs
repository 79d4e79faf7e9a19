//! Things of Python modules that are asked for again and again.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// One thing of a module, imported when it is first asked for.
pub(super) struct Known {
    module: &'static str,
    name: &'static str,
    found: PyOnceLock<Py<PyAny>>,
}

impl Known {
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

//! What users add to metrics of the scenario's own, kept with the user that adds it.
//!
//! It is of whoever's turn it is ([`super::current_user`]). What is added when it is nobody's, or
//! on another thread, goes nowhere.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use loadpilot_agent::users::script::MetricSample;
use loadpilot_events::limits::MEASURED_MAX;
use loadpilot_events::log::metrics::{MetricValue, Millionths, Rounded};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::current_user::current;

/// What one user added in the task that it does; `None` while it does none.
#[derive(Default)]
pub(super) struct Values(RefCell<Option<Vec<MetricSample>>>);

impl Values {
    /// A part begins: only what a task adds is kept. What hooks add goes nowhere, like their
    /// requests.
    pub(super) fn begin(&self, is_task: bool) {
        *self.0.borrow_mut() = is_task.then(Vec::new);
    }

    /// What was added so far; told once.
    pub(super) fn take(&self) -> Vec<MetricSample> {
        let mut values = self.0.borrow_mut();
        values.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

thread_local! {
    /// Names that were used before, to be shared.
    static NAMES: RefCell<BTreeSet<Arc<str>>> = RefCell::default();
}

/// Adds to a metric: `kind` is `counter`, `trend` or `rate`; of a rate everything but 0 is true.
/// Outside of a task it does nothing.
#[pyfunction]
pub(crate) fn measure(kind: &str, name: &str, value: f64) -> PyResult<()> {
    current(|turn| {
        let Some(turn) = turn else {
            return Ok(());
        };
        let mut values = turn.values.0.borrow_mut();
        let Some(values) = values.as_mut() else {
            return Ok(());
        };
        if values.len() >= MEASURED_MAX {
            return Err(PyValueError::new_err(format!(
                "a task adds at most {MEASURED_MAX} values to metrics"
            )));
        }
        let value = match kind {
            "counter" => Millionths::of(value).map(MetricValue::Counter),
            "trend" => Rounded::of(value).map(MetricValue::Trend),
            "rate" => Some(MetricValue::Rate(value != 0.0)),
            _ => None,
        };
        let Some(value) = value else {
            return Err(PyValueError::new_err(format!("no value of a {kind}")));
        };
        let name = NAMES.with_borrow_mut(|names| match names.get(name) {
            Some(name) => Arc::clone(name),
            None => {
                let name = Arc::from(name);
                names.insert(Arc::clone(&name));
                name
            }
        });
        values.push(MetricSample { name, value });
        Ok(())
    })
}

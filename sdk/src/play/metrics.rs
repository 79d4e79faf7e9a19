//! Samples that users add to own metrics of the scenario.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use loadpilot_agent::users::script::MetricSample;
use loadpilot_events::limits::METRIC_VALUES_MAX;
use loadpilot_events::log::metrics::{MetricValue, Millionths, Rounded};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Samples of one user in its current task; `None` outside of tasks.
#[derive(Default)]
pub(super) struct MetricSamples(RefCell<Option<Vec<MetricSample>>>);

impl MetricSamples {
    /// Begins a part. Samples of hooks are discarded, as their requests are not counted.
    pub(super) fn begin(&self, is_task: bool) {
        *self.0.borrow_mut() = is_task.then(Vec::new);
    }

    /// Takes the samples added so far.
    pub(super) fn take(&self) -> Vec<MetricSample> {
        let mut samples = self.0.borrow_mut();
        samples.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Adds a sample: `kind` is `counter`, `trend` or `rate`; of a rate everything but 0 is true.
    /// Outside of a task it does nothing.
    pub(super) fn add(&self, kind: &str, name: &str, value: f64) -> PyResult<()> {
        let mut samples = self.0.borrow_mut();
        let Some(samples) = samples.as_mut() else {
            return Ok(());
        };
        if samples.len() >= METRIC_VALUES_MAX {
            return Err(PyValueError::new_err(format!(
                "a task adds at most {METRIC_VALUES_MAX} values to metrics"
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
        let name = shared_name(name);
        samples.push(MetricSample { name, value });
        Ok(())
    }
}

thread_local! {
    /// Names used before, shared by their samples.
    static NAMES: RefCell<BTreeSet<Arc<str>>> = RefCell::default();
}

fn shared_name(name: &str) -> Arc<str> {
    NAMES.with_borrow_mut(|names| match names.get(name) {
        Some(name) => Arc::clone(name),
        None => {
            let name = Arc::from(name);
            names.insert(Arc::clone(&name));
            name
        }
    })
}

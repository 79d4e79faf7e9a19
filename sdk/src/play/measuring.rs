//! What users add to metrics of the scenario's own, kept with the user that adds it.
//!
//! Users of one firing thread take turns, and each turn is one stretch of Python: whatever is added
//! meanwhile is that user's. What is added at any other time, or on another thread, goes nowhere.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use loadpilot_agent::script::Measured;
use loadpilot_events::metrics::{MetricValue, Millionths, Rounded};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Most values that one task adds: they are kept until it has ended.
const VALUES_MAX: usize = 100_000;

/// Where values go on this thread.
#[derive(Default)]
struct Turn {
    /// Of the user whose turn it is, if it is doing a task.
    values: Option<Vec<Measured>>,
    /// Names that were used before, to be shared.
    names: BTreeSet<Arc<str>>,
}

thread_local! {
    static TURN: RefCell<Turn> = RefCell::default();
}

/// The user of `values` has its turn: calls `play`, and keeps what is added meanwhile.
pub(super) fn measuring<T>(values: &mut Vec<Measured>, play: impl FnOnce() -> T) -> T {
    let own = std::mem::take(values);
    TURN.with_borrow_mut(|turn| turn.values = Some(own));
    let played = play();
    TURN.with_borrow_mut(|turn| *values = turn.values.take().unwrap_or_default());
    played
}

/// Adds to a metric: `kind` is `counter`, `trend` or `rate`; of a rate everything but 0 is true.
/// Outside of a task it does nothing.
#[pyfunction]
pub(crate) fn measure(kind: &str, name: &str, value: f64) -> PyResult<()> {
    TURN.with_borrow_mut(|turn| {
        let Turn { values, names } = turn;
        let Some(values) = values else {
            return Ok(());
        };
        if values.len() >= VALUES_MAX {
            return Err(PyValueError::new_err(format!(
                "a task adds at most {VALUES_MAX} values to metrics"
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
        let name = match names.get(name) {
            Some(name) => Arc::clone(name),
            None => {
                let name = Arc::from(name);
                names.insert(Arc::clone(&name));
                name
            }
        };
        values.push(Measured { name, value });
        Ok(())
    })
}

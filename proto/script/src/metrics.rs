//! What code adds to metrics of the scenario's own, as `loadpilot.metrics` takes it.

use std::rc::Rc;

use loadpilot_events::limits::METRIC_VALUES_MAX;
use loadpilot_events::log::metrics::{MetricValue, Millionths, Rounded};
use loadpilot_events::plan::code::Metric;

use super::values::exceptions::{Halt, value_error};
use super::values::operators::real_of;
use super::values::repr::repr;
use super::values::value::Value;

/// One value that was added to a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    /// What the scenario calls the metric.
    pub name: Rc<str>,
    /// What was added.
    pub value: MetricValue,
}

/// What one user added in the task that it does; `None` while it does none, when what is added is
/// looked at and goes nowhere.
#[derive(Debug, Default)]
pub(super) struct Values(Option<Vec<Measured>>);

impl Values {
    /// A part begins.
    pub(super) fn begin(&mut self, is_task: bool) {
        self.0 = is_task.then(Vec::new);
    }

    /// What was added so far; told once.
    pub(super) fn take(&mut self) -> Vec<Measured> {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Adds a value to a metric.
    pub(super) fn add(&mut self, kind: Metric, name: &Rc<str>, value: &Value) -> Result<(), Halt> {
        let value = taken(kind, name, value)?;
        let Some(values) = &mut self.0 else {
            return Ok(());
        };
        if values.len() >= METRIC_VALUES_MAX {
            let rule = format!("a task adds at most {METRIC_VALUES_MAX} values to metrics");
            return Err(value_error(rule));
        }
        values.push(Measured {
            name: Rc::clone(name),
            value,
        });
        Ok(())
    }
}

/// A value as a metric of that kind takes it.
fn taken(kind: Metric, name: &str, value: &Value) -> Result<MetricValue, Halt> {
    let called = match kind {
        Metric::Counter => "counter",
        Metric::Trend => "trend",
        Metric::Rate => return Ok(MetricValue::Rate(value.is_true())),
    };
    let wrong = |rule: &str, more: &str| {
        let shown = repr(value)?;
        let call = format!("metrics.{called}('{name}').add()");
        Ok::<_, Halt>(value_error(format!(
            "{call} takes {rule}, not {shown}{more}"
        )))
    };
    let Some(number) = real_of(value).filter(|number| number.is_finite()) else {
        return Err(wrong("a number that is finite", "")?);
    };
    let taken = match kind {
        Metric::Counter => Millionths::of(number).map(MetricValue::Counter),
        _ => Rounded::of(number).map(MetricValue::Trend),
    };
    match (taken, kind) {
        (Some(taken), _) => Ok(taken),
        (None, Metric::Counter) => Err(wrong("an amount of 0 to 1e9", "")?),
        (None, _) => Err(wrong(
            "a value of at most 1e15 on either side of 0",
            "; use a larger unit",
        )?),
    }
}

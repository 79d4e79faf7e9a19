//! Values that compiled code adds to own metrics, with the rules of `loadpilot.metrics`.

use std::sync::Arc;

use loadpilot_events::limits::MEASURED_MAX;
use loadpilot_events::log::metrics::{MetricValue, Millionths, Rounded};
use loadpilot_events::plan::code::Metric;

use super::operation::MetricSample;
use super::values::exceptions::{Exception, value_error};
use super::values::operators::real_of;
use super::values::repr::repr;
use super::values::value::Value;

/// Samples of one user in its current task. `None` in hooks, whose values are checked and
/// discarded.
#[derive(Debug, Default)]
pub(super) struct MetricSamples(Option<Vec<MetricSample>>);

impl MetricSamples {
    /// A part begins.
    pub(super) fn begin(&mut self, is_task: bool) {
        self.0 = is_task.then(Vec::new);
    }

    /// Takes the samples added so far.
    pub(super) fn take(&mut self) -> Vec<MetricSample> {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Adds a value to a metric.
    pub(super) fn add(
        &mut self,
        kind: Metric,
        name: &Arc<str>,
        value: &Value,
    ) -> Result<(), Exception> {
        let value = metric_value(kind, name, value)?;
        let Some(samples) = &mut self.0 else {
            return Ok(());
        };
        if samples.len() >= MEASURED_MAX {
            let rule = format!("a task adds at most {MEASURED_MAX} values to metrics");
            return Err(value_error(rule));
        }
        samples.push(MetricSample {
            name: Arc::clone(name),
            value,
        });
        Ok(())
    }
}

/// The value as a metric of that kind stores it.
fn metric_value(kind: Metric, name: &str, value: &Value) -> Result<MetricValue, Exception> {
    let called = match kind {
        Metric::Counter => "counter",
        Metric::Trend => "trend",
        Metric::Rate => return Ok(MetricValue::Rate(value.is_true())),
    };
    let wrong = |rule: &str, more: &str| {
        let shown = repr(value)?;
        let call = format!("metrics.{called}('{name}').add()");
        Ok::<_, Exception>(value_error(format!(
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

//! Think time within a task: `self.wait`, `time.sleep` and `asyncio.sleep`, each with its own
//! errors.

use std::time::Duration;

use loadpilot_events::plan::code::{Comparison, Pause};

use super::inputs::Inputs;
use super::values::exceptions::{Exception, type_error, unsupported, value_error};
use super::values::operators::{compare, real_of};
use super::values::repr::repr;
use super::values::value::Value;

/// Duration in µs of a pause with these arguments.
pub(super) fn sleep_us(how: Pause, times: &[Value], inputs: &Inputs) -> Result<u64, Exception> {
    let seconds = match (how, times) {
        (Pause::Wait, [least] | [least, Value::None]) => wait(least, least, inputs)?,
        (Pause::Wait, [least, most]) => wait(least, most, inputs)?,
        (Pause::TimeSleep, [time]) => {
            if compare(Comparison::Less, time, &Value::Int(0))? {
                return Err(value_error("sleep length must be non-negative"));
            }
            float(time)?
        }
        (Pause::AsyncioSleep, [time]) => {
            let seconds = float(time)?;
            // As `max(0.0, seconds)`, which returns its first argument if the second is NaN.
            if seconds > 0.0 { seconds } else { 0.0 }
        }
        _ => return Err(unsupported("a rest of something else than a time")),
    };
    let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
    Ok(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

/// `VUser.wait`
fn wait(least: &Value, most: &Value, inputs: &Inputs) -> Result<f64, Exception> {
    let real = |value: &Value| {
        let kind = value.kind();
        real_of(value).ok_or_else(|| type_error(format!("must be real number, not {kind}")))
    };
    // Python checks one after the other, up to the first invalid one.
    let from = real(least)?;
    let is_sound = |bound: f64| bound.is_finite() && bound >= 0.0;
    let to = match is_sound(from) {
        true => real(most)?,
        false => from,
    };
    if !is_sound(from) || !is_sound(to) || compare(Comparison::More, least, most)? {
        let (least, most) = (repr(least)?, repr(most)?);
        let rule = "self.wait() takes seconds from 0 on, the least first, not";
        return Err(value_error(format!("{rule} ({least}, {most})")));
    }
    match compare(Comparison::Equal, least, most)? {
        true => Ok(from),
        false => drawn(least, most, from, inputs),
    }
}

/// `least + rand.float() * (most - least)`
fn drawn(least: &Value, most: &Value, from: f64, inputs: &Inputs) -> Result<f64, Exception> {
    use loadpilot_events::plan::code::Binary;
    // The error text of this operator is the same in every version of Python.
    let span = super::values::operators::binary(Binary::Subtract, most, least, 0)?;
    let span = real_of(&span).ok_or_else(|| unsupported("a time that is no number"))?;
    Ok(from + inputs.float() * span)
}

/// `float(time)`
fn float(time: &Value) -> Result<f64, Exception> {
    let rule = "float() argument must be a string or a real number, not";
    match time {
        Value::Text(_) => Err(unsupported("a time that is text")),
        time => real_of(time).ok_or_else(|| type_error(format!("{rule} '{}'", time.kind()))),
    }
}

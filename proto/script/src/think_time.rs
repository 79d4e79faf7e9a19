//! How long a user rests that says so in words of its own: `self.wait`, `time.sleep` and
//! `asyncio.sleep`, each with its own errors.

use std::time::Duration;

use loadpilot_events::plan::code::{Comparison, Pause};

use super::inputs::Given;
use super::values::exceptions::{Halt, beyond, type_error, value_error};
use super::values::operators::{compare, real_of};
use super::values::repr::repr;
use super::values::value::Value;

/// The time in µs that `times` come to.
pub(super) fn rest_us(how: Pause, times: &[Value], given: &Given) -> Result<u64, Halt> {
    let seconds = match (how, times) {
        (Pause::Wait, [least] | [least, Value::None]) => wait(least, least, given)?,
        (Pause::Wait, [least, most]) => wait(least, most, given)?,
        (Pause::TimeSleep, [time]) => {
            if compare(Comparison::Less, time, &Value::Int(0))? {
                return Err(value_error("sleep length must be non-negative"));
            }
            float(time)?
        }
        (Pause::AsyncioSleep, [time]) => {
            let seconds = float(time)?;
            // As max(0.0, seconds): of two that do not stand in order the first.
            if seconds > 0.0 { seconds } else { 0.0 }
        }
        _ => return Err(beyond("a rest of something else than a time")),
    };
    let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
    Ok(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

/// `VUser.wait`
fn wait(least: &Value, most: &Value, given: &Given) -> Result<f64, Halt> {
    let real = |value: &Value| {
        let kind = value.kind();
        real_of(value).ok_or_else(|| type_error(format!("must be real number, not {kind}")))
    };
    // They are looked at one after the other, no further than to the first that is none.
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
        false => drawn(least, most, from, given),
    }
}

/// `least + rand.float() * (most - least)`
fn drawn(least: &Value, most: &Value, from: f64, given: &Given) -> Result<f64, Halt> {
    use loadpilot_events::plan::code::Binary;
    // The words of this operator are those of every Python.
    let span = super::values::operators::binary(Binary::Subtract, most, least, 0)?;
    let span = real_of(&span).ok_or_else(|| beyond("a time that is no number"))?;
    Ok(from + given.float() * span)
}

/// `float(time)`
fn float(time: &Value) -> Result<f64, Halt> {
    let rule = "float() argument must be a string or a real number, not";
    match time {
        Value::Text(_) => Err(beyond("a time that is text")),
        time => real_of(time).ok_or_else(|| type_error(format!("{rule} '{}'", time.kind()))),
    }
}

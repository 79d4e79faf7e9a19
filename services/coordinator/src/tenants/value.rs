//! Values of the keys of a tenant. Each error names field, rule and value.

use std::num::NonZeroU32;

use loadpilot_events::Rate;
use loadpilot_events::refusal::Problem;
use loadpilot_events::units::{parse_duration_us, parse_rate};
use toml::Value;

/// A list of texts.
pub(super) fn texts(field: &str, value: &Value) -> Result<Vec<String>, Vec<Problem>> {
    let Value::Array(values) = value else {
        let rule = "must be a list of texts";
        return Err(vec![Problem::new(field, rule, plain(value))]);
    };
    let text = |(place, value): (usize, &Value)| match value {
        Value::String(text) => Ok(text.clone()),
        other => {
            let field = format!("{field}[{place}]");
            Err(vec![Problem::new(field, "must be a text", plain(other))])
        }
    };
    values.iter().enumerate().map(text).collect()
}

/// A path of a file.
pub(super) fn path(field: &str, value: &Value) -> Result<String, Problem> {
    let text = value.as_str().filter(|text| !text.is_empty());
    let rule = "must be the path of a file, as a text";
    text.map(str::to_owned)
        .ok_or_else(|| Problem::new(field, rule, plain(value)))
}

/// A rate above 0: a number of arrivals per second, or a text such as `3000/m`.
pub(super) fn rate(field: &str, value: &Value) -> Result<Rate, Problem> {
    match parse_rate(field, &plain(value))? {
        Rate(0) => Err(Problem::new(field, "must be more than 0", plain(value))),
        rate => Ok(rate),
    }
}

/// A duration above 0, in µs: a text such as `2h`, or a number of seconds.
pub(super) fn duration_us(field: &str, value: &Value) -> Result<u64, Problem> {
    match parse_duration_us(field, &plain(value))? {
        0 => Err(Problem::new(field, "must be longer than 0", plain(value))),
        us => Ok(us),
    }
}

/// A whole number from 1 on.
pub(super) fn count(field: &str, value: &Value) -> Result<u32, Problem> {
    positive(field, value).map(NonZeroU32::get)
}

/// A whole number from 1 on.
pub(super) fn positive(field: &str, value: &Value) -> Result<NonZeroU32, Problem> {
    let number = value.as_integer().and_then(|n| u32::try_from(n).ok());
    number
        .and_then(NonZeroU32::new)
        .ok_or_else(|| Problem::new(field, "must be a whole number from 1 on", plain(value)))
}

/// A whole number, which may be negative.
pub(super) fn priority(field: &str, value: &Value) -> Result<i32, Problem> {
    let number = value.as_integer().and_then(|n| i32::try_from(n).ok());
    let rule = "must be a whole number of at most 9 digits";
    number.ok_or_else(|| Problem::new(field, rule, plain(value)))
}

/// A value as it was written, texts without quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(is) => is.to_string(),
        Value::Datetime(instant) => instant.to_string(),
        Value::Array(_) | Value::Table(_) => value.type_str().to_owned(),
    }
}

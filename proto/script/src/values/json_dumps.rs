//! `json.dumps`, as the Python client calls it.

use std::fmt::Write as _;

use super::exceptions::{Exception, unsupported};
use super::repr;
use super::value::Value;

/// `json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)`.
///
/// # Errors
/// A number has no JSON form, or the text is too long.
pub(crate) fn dumps(value: &Value) -> Result<String, Exception> {
    let mut out = String::new();
    write(value, &mut out)?;
    repr::fits(out.len())?;
    Ok(out)
}

fn write(value: &Value, out: &mut String) -> Result<(), Exception> {
    match value {
        Value::None => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Int(value) => write!(out, "{value}").expect("a String takes what is written"),
        Value::Float(value) if value.is_finite() => out.push_str(&repr::float(*value)),
        Value::Float(_) => return Err(unsupported("NaN or infinity written as JSON")),
        Value::Text(text) => string(text, out),
        Value::List(list) => {
            out.push('[');
            for (index, item) in list.items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write(item, out)?;
            }
            out.push(']');
        }
        Value::Dict(dict) => {
            out.push('{');
            for (index, (key, value)) in dict.entries().iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                string(key, out);
                out.push(':');
                write(value, out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

fn string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{c}' => out.push_str("\\f"),
            '\u{8}' => out.push_str("\\b"),
            '\0'..='\u{1f}' => {
                write!(out, "\\u{:04x}", u32::from(c)).expect("a String takes what is written");
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

//! `str()` and `repr()` of values.

use std::fmt::Write as _;

use super::exceptions::{Exception, unsupported};
use super::value::{LENGTH_MAX, Value};

/// `str(value)`.
///
/// # Errors
/// The text is too long, or its notation depends on the version of Python.
pub(crate) fn str(value: &Value) -> Result<String, Exception> {
    match value {
        Value::Text(text) => Ok(text.to_string()),
        _ => repr(value),
    }
}

/// `repr(value)`.
///
/// # Errors
/// As [`str`].
pub(crate) fn repr(value: &Value) -> Result<String, Exception> {
    let mut out = String::new();
    write(value, &mut out)?;
    Ok(out)
}

fn write(value: &Value, out: &mut String) -> Result<(), Exception> {
    match value {
        Value::None => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(value) => write!(out, "{value}").expect("a String takes what is written"),
        Value::Float(value) => out.push_str(&float(*value)),
        Value::Text(text) => quoted(text, out)?,
        Value::List(list) => {
            out.push('[');
            for (index, item) in list.items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write(item, out)?;
            }
            out.push(']');
        }
        Value::Dict(dict) => {
            out.push('{');
            for (index, (key, value)) in dict.entries().iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                quoted(key, out)?;
                out.push_str(": ");
                write(value, out)?;
            }
            out.push('}');
        }
    }
    fits(out.len())
}

/// Checks the length of a text.
pub(crate) fn fits(bytes: usize) -> Result<(), Exception> {
    match bytes > LENGTH_MAX {
        true => Err(unsupported("a text longer than 64 MiB")),
        false => Ok(()),
    }
}

/// `repr()` of a float: the shortest digits that round-trip; scientific below 1e-4 and from 1e16.
pub(crate) fn float(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = format!("{value}");
        return match plain.contains('.') {
            true => plain,
            false => format!("{plain}.0"),
        };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// `repr()` of a text.
fn quoted(text: &str, out: &mut String) -> Result<(), Exception> {
    let quote = match text.contains('\'') && !text.contains('"') {
        true => '"',
        false => '\'',
    };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            ' '..='~' => out.push(c),
            '\0'..='\u{ff}' if is_hidden(c) => {
                write!(out, "\\x{:02x}", u32::from(c)).expect("a String takes what is written");
            }
            '\u{a1}'..='\u{ff}' => out.push(c),
            // Which others are printable depends on the Unicode tables of the Python version.
            c if c.is_alphabetic() => out.push(c),
            _ => return Err(unsupported("the repr() of a text with signs beyond Latin")),
        }
    }
    out.push(quote);
    Ok(())
}

/// Characters of Latin-1 that are not printable: control characters, no-break space, soft hyphen.
fn is_hidden(c: char) -> bool {
    matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{a0}' | '\u{ad}')
}

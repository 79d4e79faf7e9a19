//! Methods of text, and formatted numbers, with CPython's error texts.
//!
//! Characters whose case depends on the Unicode version are unsupported.

use loadpilot_events::plan::code::Function;

use super::exceptions::{Exception, Kind, type_error, unsupported, value_error};
use super::operators::real_of;
use super::repr::fits;
use super::value::Value;

/// Name of a method of text; `None` of any other function.
pub(crate) fn name(function: Function) -> Option<&'static str> {
    Some(match function {
        Function::Lower => "lower",
        Function::Upper => "upper",
        Function::Strip => "strip",
        Function::Lstrip => "lstrip",
        Function::Rstrip => "rstrip",
        Function::Split => "split",
        Function::Startswith => "startswith",
        Function::Endswith => "endswith",
        Function::Replace => "replace",
        Function::Join => "join",
        _ => return None,
    })
}

/// The text of `of.method(…)`; Python looks the method up before it computes the arguments.
pub(crate) fn text<'a>(of: &'a Value, method: &str) -> Result<&'a str, Exception> {
    match of {
        Value::Text(text) => Ok(text),
        other => {
            let kind = other.kind();
            let what = format!("'{kind}' object has no attribute '{method}'");
            Err(Exception::new(Kind::AttributeError, what))
        }
    }
}

/// `text.method(to)`
pub(crate) fn method(function: Function, text: &str, to: &[Value]) -> Result<Value, Exception> {
    match (function, to) {
        (Function::Lower, []) => Ok(Value::text(&cased(text)?.to_lowercase())),
        (Function::Upper, []) => Ok(Value::text(&cased(text)?.to_uppercase())),
        (Function::Strip | Function::Lstrip | Function::Rstrip, _) => {
            stripped(function, text, to.first().unwrap_or(&Value::None))
        }
        (Function::Split, _) => split(text, to.first().unwrap_or(&Value::None)),
        (Function::Startswith | Function::Endswith, [part]) => is_part(function, text, part),
        (Function::Replace, [old, new]) => replaced(text, old, new),
        (Function::Join, [parts]) => joined(text, parts),
        _ => Err(unsupported("a method called with what it does not take")),
    }
}

/// Text whose case mapping is the same in every version of Unicode.
fn cased(text: &str) -> Result<&str, Exception> {
    match text.chars().all(|sign| sign < '\u{180}') {
        true => Ok(text),
        false => Err(unsupported("the case of signs beyond Latin")),
    }
}

/// `sign.isspace()`
fn is_space(sign: char) -> bool {
    sign.is_whitespace() || matches!(sign, '\u{1c}'..='\u{1f}')
}

fn stripped(function: Function, text: &str, signs: &Value) -> Result<Value, Exception> {
    let is_off: Box<dyn Fn(char) -> bool> = match signs {
        Value::None => Box::new(is_space),
        Value::Text(signs) => Box::new(|sign| signs.contains(sign)),
        _ => {
            let method = name(function).unwrap_or_default();
            return Err(type_error(format!("{method} arg must be None or str")));
        }
    };
    Ok(Value::text(match function {
        Function::Lstrip => text.trim_start_matches(is_off),
        Function::Rstrip => text.trim_end_matches(is_off),
        _ => text.trim_matches(is_off),
    }))
}

fn split(text: &str, separator: &Value) -> Result<Value, Exception> {
    let parts: Vec<&str> = match separator {
        Value::None => {
            let parts = text.split(is_space);
            parts.filter(|part| !part.is_empty()).collect()
        }
        Value::Text(separator) if separator.is_empty() => {
            return Err(value_error("empty separator"));
        }
        Value::Text(separator) => text.split(&**separator).collect(),
        other => {
            let kind = other.kind();
            return Err(type_error(format!("must be str or None, not {kind}")));
        }
    };
    Value::list(parts.into_iter().map(Value::text).collect())
}

fn is_part(function: Function, text: &str, part: &Value) -> Result<Value, Exception> {
    let Value::Text(part) = part else {
        let (method, kind) = (name(function).unwrap_or_default(), part.kind());
        let rule = "first arg must be str or a tuple of str, not";
        return Err(type_error(format!("{method} {rule} {kind}")));
    };
    Ok(Value::Bool(match function {
        Function::Startswith => text.starts_with(&**part),
        _ => text.ends_with(&**part),
    }))
}

fn replaced(text: &str, old: &Value, new: &Value) -> Result<Value, Exception> {
    let argument = |index: u8, value: &'_ Value| match value {
        Value::Text(text) => Ok(std::rc::Rc::clone(text)),
        other => {
            let kind = match other {
                Value::None => "None",
                other => other.kind(),
            };
            let rule = format!("replace() argument {index} must be str, not {kind}");
            Err(type_error(rule))
        }
    };
    let (old, new) = (argument(1, old)?, argument(2, new)?);
    let times = text.matches(&*old).count();
    fits(text.len().saturating_add(times.saturating_mul(new.len())))?;
    Ok(Value::text(&text.replace(&*old, &new)))
}

fn joined(text: &str, parts: &Value) -> Result<Value, Exception> {
    let mut out = String::new();
    let mut add = |index: usize, part: &str| {
        out.push_str(if index == 0 { "" } else { text });
        out.push_str(part);
        fits(out.len())
    };
    match parts {
        Value::List(list) => {
            // Python checks all items before it joins any.
            for (index, part) in list.items.iter().enumerate() {
                let Value::Text(_) = part else {
                    let rule = format!("sequence item {index}: expected str instance,");
                    return Err(type_error(format!("{rule} {} found", part.kind())));
                };
            }
            for (index, part) in list.items.iter().enumerate() {
                if let Value::Text(part) = part {
                    add(index, part)?;
                }
            }
        }
        Value::Dict(dict) => {
            for (index, (key, _)) in dict.entries().iter().enumerate() {
                add(index, key)?;
            }
        }
        Value::Text(signs) => {
            for (index, sign) in signs.chars().enumerate() {
                add(index, sign.encode_utf8(&mut [0; 4]))?;
            }
        }
        _ => return Err(type_error("can only join an iterable")),
    }
    Ok(Value::text(&out))
}

/// `format(of, "04d")`, `format(of, "8.2f")`: without `digits` a whole number.
pub(crate) fn formatted(
    of: &Value,
    digits: Option<u8>,
    width: u8,
    zeros: bool,
) -> Result<Value, Exception> {
    let bare = match (of, digits) {
        (Value::Int(value), None) => value.to_string(),
        (Value::Bool(value), None) => i128::from(*value).to_string(),
        (Value::Int(_) | Value::Bool(_) | Value::Float(_), Some(digits)) => {
            fixed(real_of(of).unwrap_or(f64::NAN), digits)
        }
        (Value::Float(_) | Value::Text(_), _) => {
            let (code, kind) = (if digits.is_some() { 'f' } else { 'd' }, of.kind());
            let rule = format!("Unknown format code '{code}' for object of type '{kind}'");
            return Err(value_error(rule));
        }
        (other, _) => {
            let kind = other.kind();
            let rule = "unsupported format string passed to";
            return Err(type_error(format!("{rule} {kind}.__format__")));
        }
    };
    let missing = usize::from(width).saturating_sub(bare.len());
    let (sign, rest) = match bare.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", &*bare),
    };
    Ok(Value::text(&match zeros {
        true => format!("{sign}{}{rest}", "0".repeat(missing)),
        false => format!("{}{bare}", " ".repeat(missing)),
    }))
}

/// Exact decimals, half to even, as in both languages.
fn fixed(value: f64, digits: u8) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    format!("{value:.*}", usize::from(digits))
}

/// `of[from:to]`
pub(crate) fn slice(of: &Value, from: &Value, to: &Value) -> Result<Value, Exception> {
    let length = match of {
        Value::Text(_) | Value::List(_) => of.length()?,
        Value::Dict(_) => return Err(unsupported("a slice of a dict")),
        other => {
            let kind = other.kind();
            return Err(type_error(format!("'{kind}' object is not subscriptable")));
        }
    };
    let index = |value: &Value, otherwise: usize| {
        let index = match value {
            Value::None => return Ok(otherwise),
            Value::Int(index) => *index,
            Value::Bool(index) => i128::from(*index),
            _ => {
                let rule = "slice indices must be integers or None or have an __index__ method";
                return Err(type_error(rule));
            }
        };
        let length = i128::try_from(length).unwrap_or(i128::MAX);
        let index = if index < 0 {
            index.saturating_add(length)
        } else {
            index
        };
        Ok(usize::try_from(index.clamp(0, length)).unwrap_or(0))
    };
    let (from, to) = (index(from, 0)?, index(to, length)?);
    let count = to.saturating_sub(from);
    match of {
        Value::List(list) => {
            let items = list.items.iter().skip(from).take(count);
            Value::list(items.cloned().collect())
        }
        Value::Text(text) => {
            let signs = text.chars().skip(from).take(count);
            Ok(Value::text(&signs.collect::<String>()))
        }
        _ => Err(unsupported("a slice of something else")),
    }
}

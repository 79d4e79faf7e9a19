//! Python's built-in functions, with CPython's error texts.

use loadpilot_events::plan::code::{Function, Kind as Type};

use super::exceptions::{Exception, Kind, type_error, unsupported, value_error};
use super::repr::{repr, str};
use super::value::Value;

/// Result of a built-in function; `None` for other functions.
pub(crate) fn builtin(function: Function, to: &[Value]) -> Option<Result<Value, Exception>> {
    let [of] = to else {
        return None;
    };
    Some(match function {
        Function::Len => of
            .length()
            .map(|length| Value::Int(i128::try_from(length).unwrap_or(i128::MAX))),
        Function::Str => str(of).map(|text| Value::Text(text.into())),
        Function::Repr => repr(of).map(|text| Value::Text(text.into())),
        Function::Bool => Ok(Value::Bool(of.is_true())),
        Function::Int => int(of),
        Function::Get => Err(unsupported("get() called as a function")),
        _ => return None,
    })
}

/// `int(of)`.
fn int(of: &Value) -> Result<Value, Exception> {
    match of {
        Value::Int(value) => Ok(Value::Int(*value)),
        Value::Bool(value) => Ok(Value::Int(i128::from(*value))),
        Value::Float(value) if value.is_nan() => {
            Err(value_error("cannot convert float NaN to integer"))
        }
        Value::Float(value) if value.is_infinite() => {
            let text = "cannot convert float infinity to integer";
            Err(Exception::new(Kind::OverflowError, text))
        }
        Value::Float(value) if value.abs() < 1e38 => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "it fits, and is cut as in Python"
            )]
            let whole = value.trunc() as i128;
            Ok(Value::Int(whole))
        }
        Value::Float(_) => Err(unsupported("a whole number of more than 128 bits")),
        Value::Text(text) => digits(text),
        other => {
            let kind = other.kind();
            let rule = "int() argument must be a string, a bytes-like object or a real number, not";
            Err(type_error(format!("{rule} '{kind}'")))
        }
    }
}

/// `int(text)`
pub(crate) fn digits(text: &str) -> Result<Value, Exception> {
    if !text.is_ascii() {
        return Err(unsupported("int() of text beyond ASCII"));
    }
    let is_blank = |c: char| matches!(c, '\t'..='\r' | '\u{1c}'..=' ');
    let trimmed = text.trim_matches(is_blank);
    let (is_negative, bare) = match trimmed.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    // Underscores are valid between digits only.
    let groups = || bare.split('_');
    let is_sound = |group: &str| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit());
    if !groups().all(is_sound) {
        let shown: String = repr(&Value::text(text))?.chars().take(200).collect();
        let rule = "invalid literal for int() with base 10";
        return Err(value_error(format!("{rule}: {shown}")));
    }
    let whole: String = groups().collect();
    let value = whole.parse::<i128>();
    let value = value.map_err(|_| unsupported("a whole number of more than 128 bits"))?;
    Ok(Value::Int(if is_negative { -value } else { value }))
}

/// `isinstance(value, kind)`
pub(crate) fn is_of(value: &Value, kind: Type) -> bool {
    match value {
        Value::None => false,
        // `bool` is a subclass of `int`.
        Value::Bool(_) => matches!(kind, Type::Bool | Type::Int),
        Value::Int(_) => kind == Type::Int,
        Value::Float(_) => kind == Type::Float,
        Value::Text(_) => kind == Type::Str,
        Value::List(_) => kind == Type::List,
        Value::Dict(_) => kind == Type::Dict,
    }
}

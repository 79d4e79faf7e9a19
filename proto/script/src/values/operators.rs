//! Python's operators on values, with CPython's error texts.

use std::cmp::Ordering;

use loadpilot_events::plan::code::{Binary, Comparison};

use super::division::{by_zero, divided, floor_divided, modulo, quotient};
use super::exceptions::{Exception, Kind, type_error, unsupported};
use super::repr::{fits, repr};
use super::value::{LENGTH_MAX, Value, real};

/// A number in arithmetic: booleans are 0 and 1.
enum Number {
    Int(i128),
    Float(f64),
}

fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Bool(value) => Some(Number::Int(i128::from(*value))),
        Value::Int(value) => Some(Number::Int(*value)),
        Value::Float(value) => Some(Number::Float(*value)),
        _ => None,
    }
}

/// A number as a float, rounded as `float()` does; `None` of any other value.
pub(crate) fn real_of(value: &Value) -> Option<f64> {
    match number(value)? {
        Number::Int(value) => Some(real(value)),
        Number::Float(value) => Some(value),
    }
}

fn too_large() -> Exception {
    unsupported("a whole number of more than 128 bits")
}

/// `left operator right`; errors have the text of Python 3.`minor`.
///
/// # Errors
/// The same as in Python.
pub(crate) fn binary(
    operator: Binary,
    left: &Value,
    right: &Value,
    minor: u8,
) -> Result<Value, Exception> {
    if let (Some(left), Some(right)) = (number(left), number(right)) {
        return arithmetic(operator, left, right, minor);
    }
    match operator {
        Binary::Add => add(left, right),
        Binary::AddInPlace => add_in_place(left, right),
        Binary::Multiply => multiply(left, right),
        Binary::Modulo if matches!(left, Value::Text(_)) => {
            Err(unsupported("text formatted with %"))
        }
        Binary::Subtract | Binary::FloorDivide | Binary::Modulo | Binary::Divide => {
            Err(operand_error(operator, left, right))
        }
    }
}

fn operand_error(operator: Binary, left: &Value, right: &Value) -> Exception {
    let sign = match operator {
        Binary::Add => "+",
        Binary::AddInPlace => "+=",
        Binary::Subtract => "-",
        Binary::Multiply => "*",
        Binary::FloorDivide => "//",
        Binary::Modulo => "%",
        Binary::Divide => "/",
    };
    let (left, right) = (left.kind(), right.kind());
    type_error(format!(
        "unsupported operand type(s) for {sign}: '{left}' and '{right}'"
    ))
}

fn add(left: &Value, right: &Value) -> Result<Value, Exception> {
    let other = right.kind();
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => {
            fits(left.len() + right.len())?;
            Ok(Value::Text(format!("{left}{right}").into()))
        }
        (Value::Text(_), _) => Err(type_error(format!(
            "can only concatenate str (not \"{other}\") to str"
        ))),
        (Value::List(left), Value::List(right)) => {
            let items = left.items.iter().chain(&right.items);
            Value::list(items.cloned().collect())
        }
        (Value::List(_), _) => Err(type_error(format!(
            "can only concatenate list (not \"{other}\") to list"
        ))),
        _ => Err(operand_error(Binary::Add, left, right)),
    }
}

/// `left += right`. Unsupported for lists, which it would change for all references.
fn add_in_place(left: &Value, right: &Value) -> Result<Value, Exception> {
    match (left, right) {
        (Value::List(_), Value::Text(_) | Value::List(_) | Value::Dict(_)) => {
            Err(unsupported("a list that grows in place"))
        }
        (Value::List(_), other) => {
            let kind = other.kind();
            Err(type_error(format!("'{kind}' object is not iterable")))
        }
        (Value::Text(_), _) => add(left, right),
        _ => Err(operand_error(Binary::AddInPlace, left, right)),
    }
}

fn multiply(left: &Value, right: &Value) -> Result<Value, Exception> {
    let is_sequence = |value: &Value| matches!(value, Value::Text(_) | Value::List(_));
    let (sequence, times) = match (is_sequence(left), is_sequence(right)) {
        (true, _) => (left, right),
        (false, true) => (right, left),
        (false, false) => return Err(operand_error(Binary::Multiply, left, right)),
    };
    let times = match times {
        Value::Int(times) => *times,
        Value::Bool(times) => i128::from(*times),
        other => {
            let kind = other.kind();
            let rule = format!("can't multiply sequence by non-int of type '{kind}'");
            return Err(type_error(rule));
        }
    };
    let length = match sequence {
        Value::Text(text) => text.len(),
        Value::List(list) => list.items.len(),
        _ => 0,
    };
    let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
    let times = if length == 0 { 0 } else { times };
    if length.saturating_mul(times) > LENGTH_MAX {
        return Err(unsupported("a text or list longer than 64 MiB"));
    }
    match sequence {
        Value::Text(text) => Ok(Value::Text(text.repeat(times).into())),
        Value::List(list) => {
            let items = std::iter::repeat_n(&list.items, times).flatten();
            Value::list(items.cloned().collect())
        }
        other => Ok(other.clone()),
    }
}

fn arithmetic(
    operator: Binary,
    left: Number,
    right: Number,
    minor: u8,
) -> Result<Value, Exception> {
    let (left, right) = match (left, right) {
        (Number::Int(left), Number::Int(right)) => return whole(operator, left, right, minor),
        (Number::Int(left), Number::Float(right)) => (real(left), right),
        (Number::Float(left), Number::Int(right)) => (left, real(right)),
        (Number::Float(left), Number::Float(right)) => (left, right),
    };
    let value = match operator {
        Binary::Add | Binary::AddInPlace => left + right,
        Binary::Subtract => left - right,
        Binary::Multiply => left * right,
        Binary::FloorDivide | Binary::Modulo | Binary::Divide if right == 0.0 => {
            return Err(by_zero(operator, false, minor));
        }
        Binary::FloorDivide => divided(left, right).0,
        Binary::Modulo => divided(left, right).1,
        Binary::Divide => left / right,
    };
    Ok(Value::Float(value))
}

fn whole(operator: Binary, left: i128, right: i128, minor: u8) -> Result<Value, Exception> {
    let value = match operator {
        Binary::Add | Binary::AddInPlace => left.checked_add(right),
        Binary::Subtract => left.checked_sub(right),
        Binary::Multiply => left.checked_mul(right),
        Binary::FloorDivide | Binary::Modulo | Binary::Divide if right == 0 => {
            return Err(by_zero(operator, true, minor));
        }
        Binary::Divide => return quotient(left, right),
        Binary::FloorDivide => floor_divided(left, right),
        Binary::Modulo => modulo(left, right),
    };
    value.map(Value::Int).ok_or_else(too_large)
}

/// `-value`.
///
/// # Errors
/// The same as in Python.
pub(crate) fn negate(value: &Value) -> Result<Value, Exception> {
    match number(value) {
        Some(Number::Int(value)) => value.checked_neg().map(Value::Int).ok_or_else(too_large),
        Some(Number::Float(value)) => Ok(Value::Float(-value)),
        None => {
            let kind = value.kind();
            Err(type_error(format!(
                "bad operand type for unary -: '{kind}'"
            )))
        }
    }
}

/// `left how right`.
///
/// # Errors
/// The same as in Python.
pub(crate) fn compare(how: Comparison, left: &Value, right: &Value) -> Result<bool, Exception> {
    match how {
        Comparison::Equal => equal(left, right),
        Comparison::Unequal => Ok(!equal(left, right)?),
        Comparison::Less => ordered(left, right, "<", Ordering::is_lt),
        Comparison::AtMost => ordered(left, right, "<=", Ordering::is_le),
        Comparison::More => ordered(left, right, ">", Ordering::is_gt),
        Comparison::AtLeast => ordered(left, right, ">=", Ordering::is_ge),
        Comparison::In => contains(left, right),
        Comparison::NotIn => Ok(!contains(left, right)?),
        Comparison::Is => Ok(is(left, right)),
        Comparison::IsNot => Ok(!is(left, right)),
    }
}

/// `left is right`, where the right side is a singleton (`None`, `True`, `False`).
fn is(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::None, Value::None) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        _ => false,
    }
}

/// `left == right`.
///
/// # Errors
/// The result depends on the identity of a NaN.
pub(crate) fn equal(left: &Value, right: &Value) -> Result<bool, Exception> {
    if let (Some(left), Some(right)) = (number(left), number(right)) {
        return Ok(numbers(&left, &right) == Some(Ordering::Equal));
    }
    match (left, right) {
        (Value::None, Value::None) => Ok(true),
        (Value::Text(left), Value::Text(right)) => Ok(left == right),
        (Value::List(left), Value::List(right)) => {
            if left.items.len() != right.items.len() {
                return Ok(false);
            }
            for (left, right) in left.items.iter().zip(&right.items) {
                if !same(left, right)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Dict(left), Value::Dict(right)) => {
            if left.entries().len() != right.entries().len() {
                return Ok(false);
            }
            for (key, value) in left.entries() {
                match right.get(key) {
                    Some(other) if same(value, other)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Whether two items of containers are identical or equal.
fn same(left: &Value, right: &Value) -> Result<bool, Exception> {
    let is_nan = |value: &Value| matches!(value, Value::Float(value) if value.is_nan());
    match is_nan(left) && is_nan(right) {
        true => Err(unsupported("NaN compared inside of lists")),
        false => equal(left, right),
    }
}

/// Exact order of two numbers; `None` with a NaN.
fn numbers(left: &Number, right: &Number) -> Option<Ordering> {
    match (left, right) {
        (Number::Int(left), Number::Int(right)) => Some(left.cmp(right)),
        (Number::Float(left), Number::Float(right)) => left.partial_cmp(right),
        (Number::Int(left), Number::Float(right)) => whole_to_real(*left, *right),
        (Number::Float(left), Number::Int(right)) => {
            whole_to_real(*right, *left).map(Ordering::reverse)
        }
    }
}

fn whole_to_real(left: i128, right: f64) -> Option<Ordering> {
    const EDGE: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0; // 2^127
    if right.is_nan() {
        return None;
    }
    if right >= EDGE {
        return Some(Ordering::Less);
    }
    if right < -EDGE {
        return Some(Ordering::Greater);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is whole, and inside the range"
    )]
    let floor = right.floor() as i128;
    let above = if right > right.floor() {
        Ordering::Less
    } else {
        Ordering::Equal
    };
    Some(left.cmp(&floor).then(above))
}

fn ordered(
    left: &Value,
    right: &Value,
    sign: &str,
    holds: fn(Ordering) -> bool,
) -> Result<bool, Exception> {
    if let (Some(left), Some(right)) = (number(left), number(right)) {
        return Ok(numbers(&left, &right).is_some_and(holds));
    }
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => Ok(holds(left.cmp(right))),
        (Value::List(left), Value::List(right)) => {
            for (left, right) in left.items.iter().zip(&right.items) {
                if !same(left, right)? {
                    return ordered(left, right, sign, holds);
                }
            }
            Ok(holds(left.items.len().cmp(&right.items.len())))
        }
        _ => {
            let (left, right) = (left.kind(), right.kind());
            Err(type_error(format!(
                "'{sign}' not supported between instances of '{left}' and '{right}'"
            )))
        }
    }
}

/// `left in right`.
fn contains(left: &Value, right: &Value) -> Result<bool, Exception> {
    match right {
        Value::List(list) => {
            for item in &list.items {
                if same(item, left)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Value::Text(text) => match left {
            Value::Text(part) => Ok(text.contains(&**part)),
            other => {
                let kind = other.kind();
                let rule = "'in <string>' requires string as left operand, not";
                Err(type_error(format!("{rule} {kind}")))
            }
        },
        Value::Dict(dict) => match hashed(left)? {
            Some(key) => Ok(dict.get(key).is_some()),
            None => Ok(false),
        },
        other => {
            let kind = other.kind();
            Err(type_error(format!(
                "argument of type '{kind}' is not iterable"
            )))
        }
    }
}

/// A value as a key of a dict whose keys are all text; `None` if it equals no text.
pub(crate) fn hashed(key: &Value) -> Result<Option<&str>, Exception> {
    match key {
        Value::Text(key) => Ok(Some(key)),
        Value::List(_) | Value::Dict(_) => {
            let kind = key.kind();
            Err(type_error(format!("unhashable type: '{kind}'")))
        }
        _ => Ok(None),
    }
}

/// `of[key]`.
///
/// # Errors
/// The same as in Python.
pub(crate) fn item(of: &Value, key: &Value) -> Result<Value, Exception> {
    let index = |length: usize| {
        let index = match key {
            Value::Int(index) => *index,
            Value::Bool(index) => i128::from(*index),
            _ => return None,
        };
        if i64::try_from(index).is_err() {
            return Some(Err(unsupported("an index of more than 64 bits")));
        }
        let length = i128::try_from(length).unwrap_or(i128::MAX);
        let index = if index < 0 { index + length } else { index };
        let is_inside = (0..length).contains(&index);
        Some(Ok(usize::try_from(index).ok().filter(|_| is_inside)))
    };
    match of {
        Value::Dict(dict) => {
            let found = hashed(key)?.and_then(|key| dict.get(key));
            match found {
                Some(value) => Ok(value.clone()),
                None => Err(Exception::new(Kind::KeyError, repr(key)?)),
            }
        }
        Value::List(list) => match index(list.items.len()) {
            Some(index) => match index? {
                Some(index) => Ok(list.items[index].clone()),
                None => Err(Exception::new(Kind::IndexError, "list index out of range")),
            },
            None => {
                let kind = key.kind();
                let rule = "list indices must be integers or slices, not";
                Err(type_error(format!("{rule} {kind}")))
            }
        },
        Value::Text(text) => match index(text.chars().count()) {
            Some(index) => match index?.and_then(|index| text.chars().nth(index)) {
                Some(c) => Ok(Value::text(c.encode_utf8(&mut [0; 4]))),
                None => Err(Exception::new(
                    Kind::IndexError,
                    "string index out of range",
                )),
            },
            None => {
                let kind = key.kind();
                Err(type_error(format!(
                    "string indices must be integers, not '{kind}'"
                )))
            }
        },
        other => {
            let kind = other.kind();
            Err(type_error(format!("'{kind}' object is not subscriptable")))
        }
    }
}

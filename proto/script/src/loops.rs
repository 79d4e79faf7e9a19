//! Loops, as far as they have come.

use std::rc::Rc;

use super::expression::Slot;
use super::requests::response::Answer;
use super::values::exceptions::{Halt, Kind};
use super::values::value::{Dict, List, Value};

/// Where a loop is.
#[derive(Debug)]
pub(super) enum Loop {
    Items(Rc<List>, usize),
    Keys(Rc<Dict>, usize),
    Signs(Rc<str>, usize),
    Count(u32, u32),
    Answers(Rc<Vec<Rc<Answer>>>, usize),
}

impl Loop {
    /// The loop over a value.
    ///
    /// # Errors
    /// That it cannot be looped over.
    pub(super) fn over(value: &Value) -> Result<Self, Halt> {
        match value {
            Value::List(list) => Ok(Self::Items(Rc::clone(list), 0)),
            Value::Dict(dict) => Ok(Self::Keys(Rc::clone(dict), 0)),
            Value::Text(text) => Ok(Self::Signs(Rc::clone(text), 0)),
            other => {
                let text = format!("'{}' object is not iterable", other.kind());
                Err(Halt::new(Kind::TypeError, text))
            }
        }
    }

    /// The next value; None at its end, and of loops over answers.
    pub(super) fn next(&mut self) -> Option<Value> {
        match self {
            Self::Items(list, at) => {
                *at += 1;
                list.items.get(*at - 1).cloned()
            }
            Self::Keys(dict, at) => {
                *at += 1;
                let entry = dict.entries().get(*at - 1);
                entry.map(|(key, _)| Value::Text(Rc::clone(key)))
            }
            Self::Signs(text, at) => {
                let sign = text[*at..].chars().next()?;
                *at += sign.len_utf8();
                Some(Value::text(sign.encode_utf8(&mut [0; 4])))
            }
            Self::Answers(..) => None,
            Self::Count(at, times) => {
                let is_left = *at < *times;
                *at += 1;
                is_left.then(|| Value::Int(i128::from(*at - 1)))
            }
        }
    }

    /// What a loop of statements gives its variable next.
    pub(super) fn next_slot(&mut self) -> Option<Slot> {
        match self {
            Self::Answers(answers, at) => {
                *at += 1;
                answers.get(*at - 1).cloned().map(Slot::Answer)
            }
            other => other.next().map(Slot::Value),
        }
    }
}

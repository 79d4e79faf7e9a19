//! State of `for` loops and comprehensions.

use std::rc::Rc;

use super::context::Slot;
use super::requests::response::ResponseView;
use super::values::exceptions::{Exception, Kind};
use super::values::value::{Dict, List, Value};

/// A loop and its position.
#[derive(Debug)]
pub(super) enum Loop {
    Items(Rc<List>, usize),
    Keys(Rc<Dict>, usize),
    Characters(Rc<str>, usize),
    Count(u32, u32),
    Responses(Rc<Vec<Rc<ResponseView>>>, usize),
}

impl Loop {
    /// The loop over a value.
    ///
    /// # Errors
    /// It is not iterable.
    pub(super) fn over(value: &Value) -> Result<Self, Exception> {
        match value {
            Value::List(list) => Ok(Self::Items(Rc::clone(list), 0)),
            Value::Dict(dict) => Ok(Self::Keys(Rc::clone(dict), 0)),
            Value::Text(text) => Ok(Self::Characters(Rc::clone(text), 0)),
            other => {
                let text = format!("'{}' object is not iterable", other.kind());
                Err(Exception::new(Kind::TypeError, text))
            }
        }
    }

    /// The next value; `None` at the end, and for loops over responses.
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
            Self::Characters(text, at) => {
                let character = text[*at..].chars().next()?;
                *at += character.len_utf8();
                Some(Value::text(character.encode_utf8(&mut [0; 4])))
            }
            Self::Responses(..) => None,
            Self::Count(at, times) => {
                let is_left = *at < *times;
                *at += 1;
                is_left.then(|| Value::Int(i128::from(*at - 1)))
            }
        }
    }

    /// The next content of the loop variable.
    pub(super) fn next_slot(&mut self) -> Option<Slot> {
        match self {
            Self::Responses(responses, at) => {
                *at += 1;
                responses.get(*at - 1).cloned().map(Slot::Response)
            }
            other => other.next().map(Slot::Value),
        }
    }
}

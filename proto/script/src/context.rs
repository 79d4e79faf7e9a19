//! Context of an expression: local variables, attributes of the user, inputs of the part.

use std::rc::Rc;

use super::inputs::Inputs;
use super::requests::response::ResponseView;
use super::values::exceptions::{Exception, Kind, unsupported};
use super::values::value::Value;

/// Content of a local variable.
#[derive(Debug, Clone)]
pub(super) enum Slot {
    Unset,
    Value(Value),
    Response(Rc<ResponseView>),
    /// The responses of a batch.
    Responses(Rc<Vec<Rc<ResponseView>>>),
    /// The JSON of a response, or `None` if its body is not JSON.
    Body(Rc<ResponseView>),
}

/// Variable of a comprehension, and those of the comprehensions around it.
pub(super) struct Bound<'a> {
    pub(super) local: u16,
    pub(super) value: Value,
    pub(super) around: Option<&'a Bound<'a>>,
}

/// Context in which an expression is computed.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) slots: &'a [Slot],
    pub(super) names: &'a [String],
    /// Attribute of the user or its class by name.
    pub(super) own: &'a dyn Fn(&str) -> Option<Value>,
    pub(super) class: &'a str,
    /// Inputs of the part; `None` while constants are folded.
    pub(super) inputs: Option<&'a Inputs>,
    /// Variables of the comprehensions around the expression.
    pub(super) bound: Option<&'a Bound<'a>>,
    /// Minor version of Python 3 whose error texts apply.
    pub(super) minor: u8,
}

impl<'a> Scope<'a> {
    /// Scope of constants.
    pub(super) const CONSTANT: Self = Self {
        slots: &[],
        names: &[],
        own: &|_| None,
        class: "",
        inputs: None,
        bound: None,
        minor: 0,
    };

    pub(super) fn inputs(&self) -> Result<&'a Inputs, Exception> {
        self.inputs
            .ok_or_else(|| unsupported("a draw outside of a part"))
    }

    fn unset(&self, local: u16, line: u32) -> Exception {
        let name = self
            .names
            .get(usize::from(local))
            .map_or("", String::as_str);
        let rule = "where it is not associated with a value";
        let text = format!("cannot access local variable '{name}' {rule}");
        Exception::new(Kind::UnboundLocalError, text).at(line)
    }

    pub(super) fn value(&self, local: u16, line: u32) -> Result<Value, Exception> {
        let mut bound = self.bound;
        while let Some(one) = bound {
            if one.local == local {
                return Ok(one.value.clone());
            }
            bound = one.around;
        }
        match &self.slots[usize::from(local)] {
            Slot::Value(value) => Ok(value.clone()),
            Slot::Unset => Err(self.unset(local, line)),
            Slot::Body(response) => match response.json(self.minor) {
                Err(error) if error.kind.is_value_error() => Ok(Value::None),
                read => read.map_err(|error| error.at(line)),
            },
            Slot::Response(_) | Slot::Responses(_) => {
                Err(unsupported("a response used as a value").at(line))
            }
        }
    }

    pub(super) fn response(&self, local: u16, line: u32) -> Result<&'a ResponseView, Exception> {
        match &self.slots[usize::from(local)] {
            Slot::Response(response) => Ok(response),
            Slot::Unset => Err(self.unset(local, line)),
            _ => Err(unsupported("a value used as a response").at(line)),
        }
    }

    pub(super) fn responses(
        &self,
        local: u16,
        line: u32,
    ) -> Result<&'a Rc<Vec<Rc<ResponseView>>>, Exception> {
        match &self.slots[usize::from(local)] {
            Slot::Responses(responses) => Ok(responses),
            Slot::Unset => Err(self.unset(local, line)),
            _ => Err(unsupported("another value used as responses").at(line)),
        }
    }
}

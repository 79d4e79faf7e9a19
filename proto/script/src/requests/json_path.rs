//! A path of constant subscripts into the JSON of a response, the most frequent access of tasks and
//! checks. The rest of the JSON is not parsed into values.

use std::rc::Rc;

use loadpilot_events::plan::code::{Function, Part};

use crate::context::{Scope, Slot};
// Circle: a path into JSON contains the expression that it replaces.
use crate::expression::Term;
use crate::values::exceptions::Exception;
use crate::values::json::Step;
use crate::values::value::Value;

/// `response.json()["items"][0]`
#[derive(Debug)]
pub(crate) struct JsonPath {
    /// The variable of the response, or of its JSON.
    local: u16,
    is_response: bool,
    path: Vec<Step>,
    /// The same expression without the shortcut.
    whole: Term,
}

impl JsonPath {
    /// `of[key]`
    pub(crate) fn item(of: Term, key: Term, line: u32) -> Term {
        match step(&key) {
            Some(step) => Self::within(of, step, |of| Term::Item(Box::new((of, key)), line)),
            None => Term::Item(Box::new((of, key)), line),
        }
    }

    /// `of.get(key, otherwise)`; `to` are its operands.
    pub(crate) fn get(mut to: Vec<Term>, line: u32) -> Term {
        let step = to.get(1).and_then(step);
        // The default is computed first, and that may raise or draw a value.
        let is_ready = to
            .get(2)
            .is_none_or(|otherwise| otherwise.constant().is_some());
        match step {
            Some(key @ Step::Key(_)) if is_ready => {
                let of = to.remove(0);
                let whole = |of| {
                    to.insert(0, of);
                    Term::Call(Function::Get, to, line)
                };
                Self::within(of, key, whole)
            }
            _ => Term::Call(Function::Get, to, line),
        }
    }

    /// One step into `of`; `whole` makes the expression without the shortcut.
    fn within(of: Term, step: Step, whole: impl FnOnce(Term) -> Term) -> Term {
        let json_path = match of {
            Term::JsonPath(inner) => Self {
                path: inner.path.into_iter().chain([step]).collect(),
                whole: whole(inner.whole),
                ..*inner
            },
            Term::Local(local, _) | Term::Response(local, Part::Json, _) => Self {
                local,
                is_response: matches!(of, Term::Response(..)),
                path: vec![step],
                whole: whole(of),
            },
            other => return whole(other),
        };
        Term::JsonPath(Box::new(json_path))
    }

    /// Computes it.
    pub(crate) fn compute(&self, scope: &Scope<'_>) -> Result<Value, Exception> {
        let response = match scope.slots.get(usize::from(self.local)) {
            Some(Slot::Response(response)) if self.is_response => Some(response),
            // Variables of comprehensions shadow others.
            Some(Slot::Body(response)) if !self.is_response && scope.bound.is_none() => {
                Some(response)
            }
            _ => None,
        };
        match response.and_then(|response| response.json_at(&self.path, scope.minor)) {
            Some(value) => Ok(value),
            None => self.whole.compute(scope),
        }
    }
}

/// A constant subscript.
fn step(key: &Term) -> Option<Step> {
    match key.constant()? {
        Value::Text(key) => Some(Step::Key(Rc::clone(key))),
        Value::Int(index) => Some(Step::Index(usize::try_from(*index).ok()?)),
        _ => None,
    }
}

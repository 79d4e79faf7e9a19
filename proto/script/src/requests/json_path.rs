//! A place in the JSON of an answer that constant subscripts lead to: most of what tasks and checks
//! ask of an answer. Nothing is made of the rest of it.

use std::rc::Rc;

use loadpilot_events::plan::code::{Function, Part};

use crate::expression::{Scope, Slot, Term};
use crate::values::exceptions::Halt;
use crate::values::json::Step;
use crate::values::value::Value;

/// `response.json()["items"][0]`
#[derive(Debug)]
pub(crate) struct InJson {
    /// The answer, or what stands for its JSON.
    local: u16,
    is_answer: bool,
    way: Vec<Step>,
    /// The same, step by step.
    whole: Term,
}

impl InJson {
    /// `of[key]`
    pub(crate) fn item(of: Term, key: Term, line: u32) -> Term {
        match step(&key) {
            Some(step) => Self::within(of, step, |of| Term::Item(Box::new((of, key)), line)),
            None => Term::Item(Box::new((of, key)), line),
        }
    }

    /// `of.get(key, otherwise)`; `to` are these.
    pub(crate) fn get(mut to: Vec<Term>, line: u32) -> Term {
        let step = to.get(1).and_then(step);
        // What stands for it is computed first, and that may be an error or a draw.
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

    /// One step on from `of`, which `whole` makes too; in JSON without making what nobody wants.
    fn within(of: Term, step: Step, whole: impl FnOnce(Term) -> Term) -> Term {
        let in_json = match of {
            Term::InJson(inner) => Self {
                way: inner.way.into_iter().chain([step]).collect(),
                whole: whole(inner.whole),
                ..*inner
            },
            Term::Local(local, _) | Term::Answer(local, Part::Json, _) => Self {
                local,
                is_answer: matches!(of, Term::Answer(..)),
                way: vec![step],
                whole: whole(of),
            },
            other => return whole(other),
        };
        Term::InJson(Box::new(in_json))
    }

    /// Computes it.
    pub(crate) fn compute(&self, scope: &Scope<'_>) -> Result<Value, Halt> {
        let answer = match scope.slots.get(usize::from(self.local)) {
            Some(Slot::Answer(answer)) if self.is_answer => Some(answer),
            // Variables of comprehensions hide others.
            Some(Slot::Body(answer)) if !self.is_answer && scope.bound.is_none() => Some(answer),
            _ => None,
        };
        match answer.and_then(|answer| answer.json_at(&self.way, scope.minor)) {
            Some(value) => Ok(value),
            None => self.whole.compute(scope),
        }
    }
}

/// A subscript that says the same whatever is computed.
fn step(key: &Term) -> Option<Step> {
    match key.constant()? {
        Value::Text(key) => Some(Step::Key(Rc::clone(key))),
        Value::Int(place) => Some(Step::Place(usize::try_from(*place).ok()?)),
        _ => None,
    }
}

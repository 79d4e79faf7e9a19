//! Expressions of a program; constant ones are folded into values.

use std::rc::Rc;

use loadpilot_events::plan::code::{Binary, Comparison, Expression, Function, Kind as Type, Part};

use super::context::{Bound, Scope};
use super::loops::Loop;
// Circle: a path into JSON contains the expression that it replaces.
use super::requests::json_path::JsonPath;
use super::requests::response::ResponseView;
use super::values::exceptions::{Exception, Kind};
use super::values::functions::{builtin, is_of};
use super::values::operators::{binary, compare, hashed, item, negate};
use super::values::repr::{fits, repr, str};
use super::values::str_methods;
use super::values::value::Value;

/// An expression.
#[derive(Debug)]
pub(super) enum Term {
    Value(Value),
    Local(u16, u32),
    Own(String, u32),
    List(Vec<Term>),
    Dict(Vec<(Rc<str>, Term)>),
    Join(Vec<Term>),
    Binary(Binary, Box<(Term, Term)>, u32),
    Negate(Box<Term>, u32),
    Not(Box<Term>),
    Compare(Box<Term>, Vec<(Comparison, Term)>, u32),
    And(Vec<Term>),
    Or(Vec<Term>),
    Choose(Box<(Term, Term, Term)>),
    Item(Box<(Term, Term)>, u32),
    JsonPath(Box<JsonPath>),
    Slice(Box<(Term, Term, Term)>, u32),
    Format(Box<Term>, Option<u8>, (u8, bool), u32),
    Comprehension(Box<Comprehension>),
    Call(Function, Vec<Term>, u32),
    IsInstance(Box<Term>, Vec<Type>),
    Response(u16, Part, u32),
    Row(u16),
    Header(u16, String, Option<Box<Term>>, u32),
}

/// `[item for local in over if test]`
#[derive(Debug)]
pub(super) struct Comprehension {
    local: u16,
    over: Term,
    test: Option<Term>,
    item: Term,
    line: u32,
}

impl Term {
    /// Converts a checked expression of the plan.
    pub(super) fn new(of: &Expression) -> Result<Self, Exception> {
        let all = |all: &[Expression]| all.iter().map(Self::new).collect::<Result<Vec<_>, _>>();
        let boxed = |of: &Expression| Ok::<_, Exception>(Box::new(Self::new(of)?));
        let two = |one: &Expression, other: &Expression| {
            Ok::<_, Exception>(Box::new((Self::new(one)?, Self::new(other)?)))
        };
        let three = |one: &Expression, other: &Expression, last: &Expression| {
            Ok::<_, Exception>(Box::new((
                Self::new(one)?,
                Self::new(other)?,
                Self::new(last)?,
            )))
        };
        Ok(match of {
            Expression::Literal(literal) => Self::Value(Value::of(literal)?),
            Expression::Local { local, line } => Self::Local(*local, *line),
            Expression::Own { name, line } => Self::Own(name.clone(), *line),
            Expression::List(items) => Self::List(all(items)?).folded()?,
            Expression::Dict(entries) => {
                let entries = entries
                    .iter()
                    .map(|entry| Ok((entry.key.as_str().into(), Self::new(&entry.value)?)));
                Self::Dict(entries.collect::<Result<_, Exception>>()?).folded()?
            }
            Expression::Join(parts) => Self::Join(all(parts)?).folded()?,
            Expression::Binary {
                operator,
                left,
                right,
                line,
            } => Self::Binary(*operator, two(left, right)?, *line),
            Expression::Negate { of, line } => Self::Negate(boxed(of)?, *line),
            Expression::Not(of) => Self::Not(boxed(of)?),
            Expression::Compare {
                first,
                others,
                line,
            } => {
                let others = others
                    .iter()
                    .map(|next| Ok((next.how, Self::new(&next.to)?)));
                let others = others.collect::<Result<_, Exception>>()?;
                Self::Compare(boxed(first)?, others, *line)
            }
            Expression::And(parts) => Self::And(all(parts)?),
            Expression::Or(parts) => Self::Or(all(parts)?),
            Expression::Choose {
                test,
                then,
                otherwise,
            } => Self::Choose(three(test, then, otherwise)?),
            Expression::Item { of, key, line } => {
                JsonPath::item(Self::new(of)?, Self::new(key)?, *line)
            }
            Expression::Slice { of, from, to, line } => Self::Slice(three(of, from, to)?, *line),
            Expression::Format {
                of,
                digits,
                width,
                zeros,
                line,
            } => Self::Format(boxed(of)?, *digits, (*width, *zeros), *line),
            Expression::Comprehension {
                local,
                over,
                test,
                item,
                line,
            } => Self::Comprehension(Box::new(Comprehension {
                local: *local,
                over: Self::new(over)?,
                test: test.as_deref().map(Self::new).transpose()?,
                item: Self::new(item)?,
                line: *line,
            })),
            Expression::Call { function, to, line } => match function {
                Function::Get => JsonPath::get(all(to)?, *line),
                _ => Self::Call(*function, all(to)?, *line),
            },
            Expression::IsInstance { of, kinds } => Self::IsInstance(boxed(of)?, kinds.clone()),
            Expression::Answer { local, part, line } => Self::Response(*local, *part, *line),
            Expression::Row { feed } => Self::Row(*feed),
            Expression::Header {
                local,
                name,
                otherwise,
                line,
            } => {
                let otherwise = otherwise.as_deref().map(boxed).transpose()?;
                Self::Header(*local, name.to_ascii_lowercase(), otherwise, *line)
            }
        })
    }

    /// Folds it into a value if all of its parts are values.
    fn folded(self) -> Result<Self, Exception> {
        let parts: Vec<&Self> = match &self {
            Self::List(parts) | Self::Join(parts) => parts.iter().collect(),
            Self::Dict(entries) => entries.iter().map(|(_, value)| value).collect(),
            _ => return Ok(self),
        };
        if !parts.iter().all(|part| matches!(part, Self::Value(_))) {
            return Ok(self);
        }
        // An invalid constant raises its error where it is used.
        Ok(match self.compute(&Scope::CONSTANT) {
            Ok(value) => Self::Value(value),
            Err(_) => self,
        })
    }

    /// Its value, if constant.
    pub(super) fn constant(&self) -> Option<&Value> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Text of an error that is raised with this argument; empty without one.
    pub(super) fn message(says: Option<&Self>, scope: &Scope<'_>) -> Result<String, Exception> {
        says.map_or(Ok(String::new()), |says| str(&says.compute(scope)?))
    }

    /// Computes it.
    pub(super) fn compute(&self, scope: &Scope<'_>) -> Result<Value, Exception> {
        match self {
            Self::Value(value) => Ok(value.clone()),
            Self::Local(local, line) => scope.value(*local, *line),
            Self::Own(name, line) => (scope.own)(name).ok_or_else(|| {
                let text = format!("'{}' object has no attribute '{name}'", scope.class);
                Exception::new(Kind::AttributeError, text).at(*line)
            }),
            Self::List(items) => Value::list(computed(items, scope)?),
            Self::Dict(entries) => {
                let entries = entries.iter();
                let entries = entries.map(|(key, value)| Ok((key.clone(), value.compute(scope)?)));
                Value::dict(entries.collect::<Result<_, Exception>>()?)
            }
            Self::Join(parts) => join(parts, scope),
            Self::Binary(operator, sides, line) => {
                let (left, right) = (sides.0.compute(scope)?, sides.1.compute(scope)?);
                binary(*operator, &left, &right, scope.minor).map_err(|error| error.at(*line))
            }
            Self::Negate(of, line) => negate(&of.compute(scope)?).map_err(|error| error.at(*line)),
            Self::Not(of) => Ok(Value::Bool(!of.compute(scope)?.is_true())),
            Self::Compare(first, others, line) => compared(first, others, scope)
                .map(Value::Bool)
                .map_err(|error| error.at(*line)),
            Self::And(parts) => first(parts, scope, false),
            Self::Or(parts) => first(parts, scope, true),
            Self::Choose(ways) => match ways.0.compute(scope)?.is_true() {
                true => ways.1.compute(scope),
                false => ways.2.compute(scope),
            },
            Self::Item(sides, line) => {
                let (of, key) = (sides.0.compute(scope)?, sides.1.compute(scope)?);
                item(&of, &key).map_err(|error| error.at(*line))
            }
            Self::JsonPath(of) => of.compute(scope),
            Self::Slice(parts, line) => {
                let of = parts.0.compute(scope)?;
                let (from, to) = (parts.1.compute(scope)?, parts.2.compute(scope)?);
                str_methods::slice(&of, &from, &to).map_err(|error| error.at(*line))
            }
            Self::Format(of, digits, (width, zeros), line) => {
                let value = of.compute(scope)?;
                let text = str_methods::formatted(&value, *digits, *width, *zeros);
                text.map_err(|error| error.at(*line))
            }
            Self::Comprehension(of) => of.compute(scope),
            Self::Call(function, to, line) => {
                call(*function, to, scope).map_err(|error| error.at(*line))
            }
            Self::IsInstance(of, kinds) => {
                let value = of.compute(scope)?;
                Ok(Value::Bool(kinds.iter().any(|kind| is_of(&value, *kind))))
            }
            Self::Response(local, part, line) => {
                let response = scope.response(*local, *line)?;
                response_part(response, *part, scope.minor).map_err(|error| error.at(*line))
            }
            Self::Row(feed) => scope.inputs()?.row(*feed),
            Self::Header(local, name, otherwise, line) => {
                let response = scope.response(*local, *line)?;
                header(response, name, otherwise.as_deref(), scope).map_err(|error| error.at(*line))
            }
        }
    }
}

impl Comprehension {
    fn compute(&self, scope: &Scope<'_>) -> Result<Value, Exception> {
        let over = Loop::over(&self.over.compute(scope)?);
        let mut over = over.map_err(|error| error.at(self.line))?;
        let inside = |error: Exception| match scope.minor < 12 {
            // Before 3.12 a comprehension is a function of its own.
            true => error.via(self.line),
            false => error,
        };
        let mut items = Vec::new();
        while let Some(value) = over.next() {
            scope.inputs()?.step()?;
            let bound = Bound {
                local: self.local,
                value,
                around: scope.bound,
            };
            let inner = Scope {
                bound: Some(&bound),
                ..*scope
            };
            let is_taken = self.test.as_ref().map(|test| test.compute(&inner));
            let is_taken = is_taken.transpose().map_err(inside)?;
            if is_taken.is_none_or(|test| test.is_true()) {
                items.push(self.item.compute(&inner).map_err(inside)?);
            }
        }
        Value::list(items)
    }
}

fn compared(
    first: &Term,
    others: &[(Comparison, Term)],
    scope: &Scope<'_>,
) -> Result<bool, Exception> {
    let mut left = first.compute(scope)?;
    for (how, term) in others {
        let right = term.compute(scope)?;
        if !compare(*how, &left, &right)? {
            return Ok(false);
        }
        left = right;
    }
    Ok(true)
}

/// The first whose truth is `wanted`, else the last.
fn first(parts: &[Term], scope: &Scope<'_>, wanted: bool) -> Result<Value, Exception> {
    let mut value = Value::None;
    for part in parts {
        value = part.compute(scope)?;
        if value.is_true() == wanted {
            break;
        }
    }
    Ok(value)
}

fn computed(terms: &[Term], scope: &Scope<'_>) -> Result<Vec<Value>, Exception> {
    terms.iter().map(|term| term.compute(scope)).collect()
}

/// Parts of an f-string, joined.
fn join(parts: &[Term], scope: &Scope<'_>) -> Result<Value, Exception> {
    let mut out = String::new();
    for part in parts {
        out.push_str(&str(&part.compute(scope)?)?);
        fits(out.len())?;
    }
    Ok(Value::Text(out.into()))
}

/// Calls a method of dict or str, a built-in function or one of `loadpilot`.
fn call(function: Function, to: &[Term], scope: &Scope<'_>) -> Result<Value, Exception> {
    if function == Function::Get {
        return get(to, scope);
    }
    if let Some(method) = str_methods::name(function) {
        let of = to[0].compute(scope)?;
        let text = str_methods::text(&of, method)?;
        return str_methods::method(function, text, &computed(&to[1..], scope)?);
    }
    let values = computed(to, scope)?;
    match builtin(function, &values) {
        Some(result) => result,
        None => scope.inputs()?.called(function, &values),
    }
}

/// `a.get(key, otherwise)`; Python looks the method up before it computes the arguments.
fn get(to: &[Term], scope: &Scope<'_>) -> Result<Value, Exception> {
    let of = to[0].compute(scope)?;
    let Value::Dict(dict) = &of else {
        let text = format!("'{}' object has no attribute 'get'", of.kind());
        return Err(Exception::new(Kind::AttributeError, text));
    };
    let key = to[1].compute(scope)?;
    let otherwise = to.get(2).map(|term| term.compute(scope)).transpose()?;
    let found = hashed(&key)?.and_then(|key| dict.get(key)).cloned();
    Ok(found.or(otherwise).unwrap_or(Value::None))
}

/// `response.headers[name]` or `response.headers.get(name, otherwise)`.
fn header(
    response: &ResponseView,
    name: &str,
    otherwise: Option<&Term>,
    scope: &Scope<'_>,
) -> Result<Value, Exception> {
    // Python computes the default before the lookup.
    let otherwise = otherwise.map(|term| term.compute(scope)).transpose()?;
    match response.header(name) {
        Some(value) => Ok(Value::text(&value)),
        None => match otherwise {
            Some(otherwise) => Ok(otherwise),
            None => Err(Exception::new(Kind::KeyError, repr(&Value::text(name))?)),
        },
    }
}

fn response_part(response: &ResponseView, part: Part, minor: u8) -> Result<Value, Exception> {
    match part {
        Part::StatusCode => Ok(Value::Int(response.status().into())),
        Part::Ok => Ok(Value::Bool(response.status() < 400)),
        Part::Text => response.text(),
        Part::Json => response.json(minor),
        Part::ElapsedMs => {
            #[expect(clippy::cast_precision_loss, reason = "a time for people")]
            let us = response.elapsed_us() as f64;
            Ok(Value::Float(us / 1e3))
        }
    }
}

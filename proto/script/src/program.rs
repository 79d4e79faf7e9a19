//! Code made ready: statements as a list of operations with jumps, so that it can be left at a
//! request and gone on with there.

use std::any::Any;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use loadpilot_events::plan::Method;
use loadpilot_events::plan::code::{Code, Extra, Metric, Pause, Routine, Send, Statement, Takes};

use super::expression::{Scope, Term};
use super::requests::encode;
use super::values::exceptions::{Halt, Kind};
use super::values::value::Value;

/// A scenario, ready to be played.
#[derive(Debug)]
pub struct Program {
    pub(super) class: String,
    pub(super) file: String,
    pub(super) minor: u8,
    pub(super) constants: BTreeMap<String, Value>,
    pub(super) lines: BTreeMap<u32, String>,
    pub(super) on_start: Body,
    pub(super) on_stop: Body,
    pub(super) tasks: Vec<(Body, Option<(Takes, Body)>)>,
}

/// One function.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) names: Vec<String>,
    pub(super) operations: Vec<Operation>,
    /// How many loops it has.
    pub(super) loops: usize,
    /// Functions that were called: from where to where their operations are, and the line of the
    /// call; the inner ones first.
    pub(super) calls: Vec<(Range<usize>, u32)>,
    /// Of those that are being added the jumps to their ends.
    returns: Vec<Vec<usize>>,
}

/// One operation.
#[derive(Debug)]
pub(super) enum Operation {
    Send(Box<Sending>),
    Sleep(u64),
    Rest(Pause, Vec<Term>, u32),
    Measure(Metric, Rc<str>, Term, u32),
    Set(u16, Term),
    Keep(Rc<str>, Term),
    Do(Term),
    Jump(usize),
    JumpUnless(Term, usize),
    /// Begins a loop over what a term is; its number and its line.
    Over(usize, Term, u32),
    /// Begins a loop that counts.
    Count(usize, u32),
    /// Goes on with a loop: its number, its variable, and where its end is.
    Next(usize, u16, usize),
    Assert(Term, Option<Term>, u32),
    Raise(Kind, Option<Term>, u32),
    RaiseForStatus(u16, u32),
    /// Asks for several requests: which, their steps, what gets the answers, its line.
    Batch(Term, String, Option<u16>, u32),
    /// Takes one of several answers.
    Pick(u16, i64, u16, u32),
    /// Begins a loop over several answers.
    OverAnswers(usize, u16),
    Return,
}

/// Writes the user's cookies for a path.
pub(super) type Cookies<'a> = dyn Fn(&str) -> Result<Option<String>, Halt> + 'a;

/// A request that is asked for.
#[derive(Debug)]
pub(super) struct Sending {
    /// Its place among all of the program.
    pub(super) number: usize,
    pub(super) method: Method,
    pub(super) path: Term,
    pub(super) given: Vec<(Extra, Term)>,
    pub(super) timeout_us: Option<u64>,
    pub(super) follows: bool,
    pub(super) steps: String,
    pub(super) answer: Option<u16>,
    pub(super) line: u32,
    /// The request, when nothing of it is computed.
    pub(super) constant: Option<Rc<Wish>>,
}

/// A request that code asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Its method.
    pub method: Method,
    /// Path with query, encoded.
    pub path: String,
    /// Headers in order.
    pub headers: Vec<(String, String)>,
    /// The body; `None` is not the same as an empty one.
    pub body: Option<Vec<u8>>,
    /// Instead of the plan's time-out, in µs.
    pub timeout_us: Option<u64>,
    /// What it is called in reports, unless by method and path.
    pub name: Option<String>,
    /// Room for whoever sends it to keep what it made of it.
    pub kept: Keep,
}

/// What somebody made of a [`Wish`]. Says nothing about the wish: two that say the same are equal.
#[derive(Debug, Clone, Default)]
pub struct Keep(OnceCell<Rc<dyn Any>>);

impl Keep {
    /// What was kept, or else what `make` makes, from now on. Whoever keeps something must be the
    /// only one to do so.
    pub fn get_or<T: Clone + 'static>(&self, make: impl Fn() -> T) -> T {
        let kept = self.0.get_or_init(|| Rc::new(make()));
        kept.downcast_ref().cloned().unwrap_or_else(make)
    }
}

impl PartialEq for Keep {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Keep {}

impl Program {
    /// Makes `code` ready, which was checked, of the scenario that is called `class`.
    ///
    /// # Errors
    /// When a literal of it has no value here.
    pub fn new(code: &Code, class: &str) -> Result<Self, Halt> {
        let lines = code.lines.iter();
        let lines = lines.map(|line| (line.number, line.text.clone()));
        let constants = code.constants.iter();
        let constants = constants.map(|(name, value)| Ok((name.clone(), Value::of(value)?)));
        let hook = |routine: &Option<Routine>| {
            let body = routine.as_ref().map(Body::new);
            let nothing = || Body {
                operations: vec![Operation::Return],
                ..Body::default()
            };
            Ok::<_, Halt>(body.transpose()?.unwrap_or_else(nothing))
        };
        let tasks = code.tasks.iter().map(|task| {
            let check = task.check.as_ref();
            let check = check.map(|check| Ok((check.takes, Body::new(&check.body)?)));
            Ok((Body::new(&task.body)?, check.transpose()?))
        });
        let mut program = Self {
            class: class.to_owned(),
            file: code.file.clone(),
            minor: code.python_minor,
            constants: constants.collect::<Result<_, Halt>>()?,
            lines: lines.collect(),
            on_start: hook(&code.on_start)?,
            on_stop: hook(&code.on_stop)?,
            tasks: tasks.collect::<Result<_, Halt>>()?,
        };
        program.number_requests();
        Ok(program)
    }

    fn number_requests(&mut self) {
        let tasks = self.tasks.iter_mut().map(|(body, _)| body);
        let bodies = [&mut self.on_start, &mut self.on_stop]
            .into_iter()
            .chain(tasks);
        let operations = bodies.flat_map(|body| &mut body.operations);
        let sends = operations.filter_map(|operation| match operation {
            Operation::Send(send) => Some(send),
            _ => None,
        });
        for (number, send) in sends.enumerate() {
            send.number = number;
        }
    }
}

impl Body {
    fn new(routine: &Routine) -> Result<Self, Halt> {
        let mut body = Self {
            names: routine.locals.clone(),
            ..Self::default()
        };
        body.block(&routine.does, &mut Vec::new())?;
        body.operations.push(Operation::Return);
        Ok(body)
    }

    fn here(&self) -> usize {
        self.operations.len()
    }

    /// Adds statements; `leaves` are the jumps out of the loop that they stand in, with the place
    /// to go on at.
    fn block(&mut self, does: &[Statement], leaves: &mut Vec<Leaves>) -> Result<(), Halt> {
        for statement in does {
            self.statement(statement, leaves)?;
        }
        Ok(())
    }

    fn statement(&mut self, statement: &Statement, leaves: &mut Vec<Leaves>) -> Result<(), Halt> {
        let operation = match statement {
            Statement::Send(send) => Operation::Send(Box::new(Sending::new(send)?)),
            Statement::Sleep { us } => Operation::Sleep(*us),
            Statement::Rest { how, times, line } => {
                let times = times.iter().map(Term::new);
                Operation::Rest(*how, times.collect::<Result<_, _>>()?, *line)
            }
            Statement::Measure {
                kind,
                name,
                value,
                line,
            } => {
                let value = value.as_ref().map(Term::new).transpose()?;
                let value = value.unwrap_or(Term::Value(Value::Int(1)));
                Operation::Measure(*kind, name.as_str().into(), value, *line)
            }
            Statement::Set { local, to } => Operation::Set(*local, Term::new(to)?),
            Statement::Keep { name, value } => {
                Operation::Keep(name.as_str().into(), Term::new(value)?)
            }
            Statement::Do(value) => Operation::Do(Term::new(value)?),
            Statement::If { ways, otherwise } => {
                let mut ends = Vec::new();
                for way in ways {
                    let test = self.here();
                    self.operations
                        .push(Operation::JumpUnless(Term::new(&way.test)?, 0));
                    self.block(&way.does, leaves)?;
                    ends.push(self.here());
                    self.operations.push(Operation::Jump(0));
                    self.lead(test, self.here());
                }
                self.block(otherwise, leaves)?;
                for end in ends {
                    self.lead(end, self.here());
                }
                return Ok(());
            }
            Statement::For {
                local,
                over,
                does,
                line,
            } => {
                let begin = Operation::Over(self.loops, Term::new(over)?, *line);
                return self.repeat(begin, *local, does, leaves);
            }
            Statement::Repeat { local, times, does } => {
                let begin = Operation::Count(self.loops, *times);
                return self.repeat(begin, *local, does, leaves);
            }
            Statement::Each { answer, from, does } => {
                let begin = Operation::OverAnswers(self.loops, *from);
                return self.repeat(begin, *answer, does, leaves);
            }
            Statement::While { test, does } => {
                let next = self.here();
                self.operations
                    .push(Operation::JumpUnless(Term::new(test)?, 0));
                return self.round(next, does, leaves);
            }
            Statement::Batch {
                requests,
                steps,
                answers,
                line,
            } => Operation::Batch(Term::new(requests)?, steps.clone(), *answers, *line),
            Statement::Pick {
                from,
                place,
                answer,
                line,
            } => Operation::Pick(*from, *place, *answer, *line),
            Statement::Within { does, line } => {
                let begin = self.here();
                self.returns.push(Vec::new());
                self.block(does, &mut Vec::new())?;
                for jump in self.returns.pop().unwrap_or_default() {
                    self.lead(jump, self.here());
                }
                self.calls.push((begin..self.here(), *line));
                return Ok(());
            }
            Statement::Break => {
                if let Some(inner) = leaves.last_mut() {
                    inner.breaks.push(self.operations.len());
                }
                Operation::Jump(0)
            }
            Statement::Continue => Operation::Jump(leaves.last().map_or(0, |inner| inner.next)),
            Statement::Assert { test, says, line } => {
                let says = says.as_ref().map(Term::new).transpose()?;
                Operation::Assert(Term::new(test)?, says, *line)
            }
            Statement::Raise { kind, says, line } => {
                let says = says.as_ref().map(Term::new).transpose()?;
                Operation::Raise(Kind::from(*kind), says, *line)
            }
            Statement::RaiseForStatus { local, line } => Operation::RaiseForStatus(*local, *line),
            Statement::Return => match self.returns.last_mut() {
                Some(ends) => {
                    ends.push(self.operations.len());
                    Operation::Jump(0)
                }
                None => Operation::Return,
            },
        };
        self.operations.push(operation);
        Ok(())
    }

    fn repeat(
        &mut self,
        begin: Operation,
        local: u16,
        does: &[Statement],
        leaves: &mut Vec<Leaves>,
    ) -> Result<(), Halt> {
        let number = self.loops;
        self.loops += 1;
        self.operations.push(begin);
        let next = self.here();
        self.operations.push(Operation::Next(number, local, 0));
        self.round(next, does, leaves)
    }

    /// The round of a loop, whose test is the last operation.
    fn round(
        &mut self,
        next: usize,
        does: &[Statement],
        leaves: &mut Vec<Leaves>,
    ) -> Result<(), Halt> {
        leaves.push(Leaves {
            next,
            breaks: Vec::new(),
        });
        self.block(does, leaves)?;
        self.operations.push(Operation::Jump(next));
        let breaks = leaves.pop().map_or_else(Vec::new, |inner| inner.breaks);
        for jump in breaks.into_iter().chain([next]) {
            self.lead(jump, self.here());
        }
        Ok(())
    }

    /// Lets the jump at `from` lead to `to`.
    fn lead(&mut self, from: usize, to: usize) {
        match &mut self.operations[from] {
            Operation::Jump(end) | Operation::JumpUnless(_, end) | Operation::Next(_, _, end) => {
                *end = to;
            }
            _ => {}
        }
    }
}

/// Ways out of a loop.
struct Leaves {
    next: usize,
    breaks: Vec<usize>,
}

impl Sending {
    fn new(send: &Send) -> Result<Self, Halt> {
        let given = send.given.iter();
        let given = given.map(|given| Ok((given.what, Term::new(&given.value)?)));
        let mut sending = Self {
            number: 0,
            method: send.method,
            path: Term::new(&send.path)?,
            given: given.collect::<Result<_, Halt>>()?,
            timeout_us: send.timeout_us,
            follows: send.follows,
            steps: send.steps.clone(),
            answer: send.answer,
            line: send.line,
            constant: None,
        };
        let given = &sending.given;
        let is_constant = sending.path.constant().is_some()
            && given.iter().all(|(_, term)| term.constant().is_some());
        if is_constant {
            let nobody = Scope {
                slots: &[],
                names: &[],
                own: &|_| None,
                class: "",
                given: None,
                bound: None,
                minor: 0,
            };
            let mut given = Vec::new();
            // What cannot be sent is told when it is.
            let made = sending.given(&nobody, &mut given);
            let made = made.and_then(|()| sending.wish(&given, None));
            sending.constant = made.ok().map(|(wish, _)| Rc::new(wish));
        }
        Ok(sending)
    }

    /// Computes what the request is made of: its path, then what is given beside, in order.
    pub(super) fn given(&self, scope: &Scope<'_>, values: &mut Vec<Value>) -> Result<(), Halt> {
        values.clear();
        values.push(self.path.compute(scope)?);
        for (_, term) in &self.given {
            values.push(term.compute(scope)?);
        }
        Ok(())
    }

    /// Makes the request of that, and says what cookie it got; `cookies` writes the user's header
    /// for a path.
    pub(super) fn wish(
        &self,
        values: &[Value],
        cookies: Option<&Cookies<'_>>,
    ) -> Result<(Wish, Option<String>), Halt> {
        let (path, values) = values.split_first().unwrap_or((&Value::None, &[]));
        let get = |what: Extra| {
            let place = self.given.iter().position(|(known, _)| *known == what);
            place.and_then(|place| values.get(place))
        };
        let asked = (self.method, path);
        made(asked, &get, &self.steps, self.timeout_us, cookies).map_err(|halt| halt.at(self.line))
    }
}

/// A request with a method and a path, and what else was given for it; and what cookie it got.
pub(super) fn made<'a>(
    (method, path): (Method, &Value),
    get: &dyn Fn(Extra) -> Option<&'a Value>,
    steps: &str,
    timeout_us: Option<u64>,
    cookies: Option<&Cookies<'_>>,
) -> Result<(Wish, Option<String>), Halt> {
    let (json, data, content) = (get(Extra::Json), get(Extra::Data), get(Extra::Content));
    let body = encode::body(json, data, content)?;
    let path = encode::path(path, get(Extra::Params))?;
    let mut headers = encode::headers(get(Extra::Headers))?;
    let has = |headers: &[(String, String)], wanted: &str| {
        headers
            .iter()
            .any(|(name, _)| name.to_lowercase() == wanted)
    };
    let (has_cookie, has_type) = (has(&headers, "cookie"), has(&headers, "content-type"));
    let cookie = cookies.map(|cookies| cookies(&path)).transpose()?.flatten();
    if let Some(cookie) = cookie.as_ref().filter(|_| !has_cookie) {
        headers.push(("Cookie".to_owned(), cookie.clone()));
    }
    if let Some((_, Some(kind))) = body
        && !has_type
    {
        headers.push(("Content-Type".to_owned(), kind.to_owned()));
    }
    let name = encode::name(get(Extra::Name))?;
    let name = match steps.is_empty() {
        true => name,
        false => {
            let named = name.filter(|name| !name.is_empty());
            let bare = path.split('?').next().unwrap_or_default();
            let named = named.unwrap_or_else(|| format!("{} {bare}", method.name()));
            Some(format!("{steps}{named}"))
        }
    };
    let wish = Wish {
        method,
        path,
        headers,
        body: body.map(|(content, _)| content),
        timeout_us,
        name,
        kept: Keep::default(),
    };
    Ok((wish, cookie))
}

//! One virtual user that plays code: moved on from request to request.
//!
//! Must never do anything but compute: whoever holds it sends, waits and says what time it is.

use std::collections::BTreeMap;
use std::rc::Rc;

use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::plan::code::Takes;

use super::expression::{Scope, Slot};
use super::inputs::{Given, Sources};
use super::loops::Loop;
use super::metrics::{Measured, Values};
use super::program::{Body, Cookies, Operation, Program, Sending, Wish};
use super::requests::batch;
use super::requests::cookies::{Clock, Jar};
use super::requests::redirect::{self, HOPS_MAX};
use super::requests::request_cache::Again;
use super::requests::response::{Answer, has_header};
use super::think_time::rest_us;
use super::values::exceptions::{Halt, Kind, beyond, broken, value_error};
use super::values::value::Value;
use loadpilot_engine::schedule::random::DrawScope;

/// Most operations between two requests: a loop must not keep a thread for itself.
pub(super) const OPERATIONS_MAX: u32 = 10_000_000;

/// A part of a user's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Its preparation.
    Start,
    /// A task, by its place in the plan.
    Task(u16),
    /// Its clean-up.
    Stop,
}

/// What a user hears.
#[derive(Debug)]
pub enum Heard {
    /// The answer to its request.
    Answer(Answer),
    /// There was no complete answer.
    Broken(Outcome, Option<Cause>),
    /// The request cannot be sent, and why.
    Unsendable(String),
    /// What became of the requests of a batch.
    Batch(Vec<Heard>),
    /// Its rest is over.
    Awake,
    /// The run is over.
    Stopped,
}

/// What a user wants next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// To send a request and hear its answer.
    Send(Rc<Wish>),
    /// To send several at a time and hear all of their answers.
    Batch(Vec<Rc<Wish>>),
    /// To rest, so many µs.
    Sleep(u64),
    /// Nothing: its part is over.
    Ended {
        /// What the check said of the last answer; `None`: it was not asked.
        check: Option<Result<(), String>>,
        /// What the part itself raised.
        raised: Option<String>,
    },
}

/// One virtual user.
#[derive(Debug)]
pub struct User {
    program: Rc<Program>,
    own: BTreeMap<Rc<str>, Value>,
    jar: Jar,
    again: Again,
    given: Given,
    values: Values,
    act: Act,
    frame: Frame,
    /// The answer to the last request, unless that got none.
    last: Option<Rc<Answer>>,
    /// Its last request, while it waits for the answer, and how many redirects led there.
    asked: Option<(Rc<Wish>, u32)>,
    /// Its last batch, while it waits for the answers.
    batch: Option<Vec<Rc<Wish>>>,
}

/// Where a function is.
#[derive(Debug, Default)]
struct Frame {
    at: usize,
    slots: Vec<Slot>,
    loops: Vec<Option<Loop>>,
}

/// Why a function stands still.
enum Still {
    Asks(Rc<Wish>),
    AsksAll(Vec<Rc<Wish>>),
    Rests(u64),
    Over,
}

impl User {
    /// A user that has done nothing yet; `target` is where its requests go, it is given what is in
    /// `sources`, and `clock` is asked only where there are cookies.
    #[must_use]
    pub fn new(program: Rc<Program>, target: &str, sources: Rc<Sources>, clock: Clock) -> Self {
        Self {
            program,
            own: BTreeMap::new(),
            jar: Jar::new(target, clock),
            again: Again::default(),
            given: Given::new(sources),
            values: Values::default(),
            act: Act::Start,
            frame: Frame::default(),
            last: None,
            asked: None,
            batch: None,
        }
    }

    /// Begins a part, whose it is and when it is due, in µs of the Unix epoch.
    pub fn begin(&mut self, act: Act, (whose, due_us): (DrawScope, u64)) -> Turn {
        let program = Rc::clone(&self.program);
        self.given.begin(whose, due_us);
        self.values.begin(matches!(act, Act::Task(_)));
        self.act = act;
        self.last = None;
        self.asked = None;
        self.batch = None;
        self.frame.enter(program.body(act));
        self.go()
    }

    /// What it added to metrics in the task that it did last. Told once.
    pub fn measured(&mut self) -> Vec<Measured> {
        self.values.take()
    }

    /// Goes on with what it wanted.
    pub fn go_on(&mut self, heard: Heard) -> Turn {
        let program = Rc::clone(&self.program);
        if let Some(wishes) = self.batch.take() {
            return match heard {
                Heard::Batch(heard) => self.all_answered(&wishes, heard),
                _ => self.ended(None),
            };
        }
        let asked = self.asked.take();
        let Some((wish, hops)) = asked else {
            return match heard {
                Heard::Awake => self.go(),
                // A rest ends with the run, and with it the task.
                _ => self.ended(None),
            };
        };
        let Operation::Send(send) = &program.body(self.act).operations[self.frame.at] else {
            return self.ended(None);
        };
        let answer = match heard {
            Heard::Answer(answer) => Rc::new(answer),
            Heard::Broken(outcome, cause) => {
                let text = broken(outcome, cause);
                let halt = Halt::new(Kind::RequestError, text);
                return self.ended(Some(halt.at(send.line)));
            }
            Heard::Unsendable(why) => return self.ended(Some(value_error(why).at(send.line))),
            Heard::Awake | Heard::Stopped | Heard::Batch(_) => return self.ended(None),
        };
        match self.answered(send, &wish, hops, &answer) {
            Ok(Some(turn)) => turn,
            Ok(None) => self.go(),
            Err(halt) => self.ended(Some(halt.at(send.line))),
        }
    }

    /// Takes in what became of a batch. All of it is looked at, whatever failed first.
    fn all_answered(&mut self, wishes: &[Rc<Wish>], heard: Vec<Heard>) -> Turn {
        let program = Rc::clone(&self.program);
        let Operation::Batch(_, _, local, line) = &program.body(self.act).operations[self.frame.at]
        else {
            return self.ended(None);
        };
        let mut answers = Vec::with_capacity(wishes.len());
        let mut failed = None;
        for (heard, wish) in heard.into_iter().zip(wishes) {
            let why = match heard {
                Heard::Answer(answer) => {
                    let answer = Rc::new(answer);
                    self.last = Some(Rc::clone(&answer));
                    let brings = has_header(&answer.head, "set-cookie");
                    let kept = brings.then(|| self.jar.take(&answer, &wish.path));
                    answers.push(answer);
                    match kept {
                        Some(Err(halt)) => Some(halt),
                        _ => continue,
                    }
                }
                Heard::Broken(outcome, cause) => {
                    Some(Halt::new(Kind::RequestError, broken(outcome, cause)))
                }
                Heard::Unsendable(why) => Some(value_error(why)),
                // The run is over, which is no error of the task's.
                Heard::Awake | Heard::Stopped | Heard::Batch(_) => None,
            };
            failed = failed.or(Some(why));
        }
        if let Some(why) = failed {
            self.last = None;
            return self.ended(why.map(|halt| halt.at(*line)));
        }
        if let Some(local) = local {
            self.frame.slots[usize::from(*local)] = Slot::Answers(Rc::new(answers));
        }
        self.frame.at += 1;
        self.go()
    }

    /// Takes an answer in; the next wish if it leads on.
    fn answered(
        &mut self,
        send: &Sending,
        wish: &Rc<Wish>,
        hops: u32,
        answer: &Rc<Answer>,
    ) -> Result<Option<Turn>, Halt> {
        self.last = Some(Rc::clone(answer));
        if has_header(&answer.head, "set-cookie") {
            self.jar.take(answer, &wish.path)?;
        }
        if send.follows
            && let Some(location) = redirect::leads_on(answer)
        {
            if hops + 1 >= HOPS_MAX {
                // The last answer was looked at, and leads somewhere, too.
                let further = self.further(wish, answer.status, &location)?;
                let text = format!("more than 20 redirects, the last one to {}", further.path);
                return Err(Halt::new(Kind::RedirectError, text));
            }
            let further = Rc::new(self.further(wish, answer.status, &location)?);
            self.asked = Some((Rc::clone(&further), hops + 1));
            self.last = None;
            return Ok(Some(Turn::Send(further)));
        }
        if let Some(local) = send.answer {
            self.frame.slots[usize::from(local)] = Slot::Answer(Rc::clone(answer));
        }
        self.frame.at += 1;
        Ok(None)
    }

    fn further(&self, wish: &Wish, status: u16, location: &str) -> Result<Wish, Halt> {
        let target = self.jar.target();
        let mut further = redirect::further(target, wish, status, location)?;
        if let Some(cookie) = self.jar.header(&further.path)? {
            further.headers.push(("Cookie".to_owned(), cookie));
        }
        Ok(further)
    }

    /// Goes on until it wants something.
    fn go(&mut self) -> Turn {
        let program = Rc::clone(&self.program);
        let body = program.body(self.act);
        let mut frame = std::mem::take(&mut self.frame);
        let still = self.run(body, &mut frame);
        self.frame = frame;
        match still {
            Ok(Still::Asks(wish)) => {
                self.last = None;
                self.asked = Some((Rc::clone(&wish), 0));
                Turn::Send(wish)
            }
            Ok(Still::AsksAll(wishes)) => {
                self.last = None;
                self.batch = Some(wishes.clone());
                Turn::Batch(wishes)
            }
            Ok(Still::Rests(us)) => Turn::Sleep(us),
            Ok(Still::Over) => self.ended(None),
            Err(halt) => self.ended(Some(halt)),
        }
    }

    /// The part is over: its check looks at the last answer, if there is one of each.
    fn ended(&mut self, halt: Option<Halt>) -> Turn {
        let raised =
            halt.map(|halt| self.told(&halt, !matches!(self.act, Act::Task(_) | Act::Stop)));
        let program = Rc::clone(&self.program);
        let check = match (self.last.take(), self.act, &raised) {
            (Some(answer), Act::Task(task), None) => {
                let check = program.tasks[usize::from(task)].1.as_ref();
                check.map(|(takes, body)| {
                    let mut frame = std::mem::take(&mut self.frame);
                    frame.enter(body);
                    match takes {
                        Takes::Answer => frame.slots[0] = Slot::Answer(answer),
                        Takes::StatusAndBody => {
                            frame.slots[0] = Slot::Value(Value::Int(answer.status.into()));
                            frame.slots[1] = Slot::Body(answer);
                        }
                    }
                    let looked = self.run(body, &mut frame);
                    self.frame = frame;
                    looked.map(drop).map_err(|halt| self.told(&halt, false))
                })
            }
            _ => None,
        };
        self.frame.leave();
        Turn::Ended { check, raised }
    }

    /// An error as `loadpilot.play.tracebacks` tells it.
    fn told(&self, halt: &Halt, at_length: bool) -> String {
        let program = &*self.program;
        let line = program.lines.get(&halt.line).map_or("", String::as_str);
        let what = match halt.text.is_empty() {
            true => line,
            false => &halt.text,
        };
        let kind = halt.kind.name();
        let shown = |line: u32| {
            let text = program.lines.get(&line).map_or("", String::as_str);
            format!("\n    {}:{line}: {text}", program.file)
        };
        let place = format!("{}:{}", program.file, halt.line);
        let told = match what.is_empty() {
            true => format!("{kind} ({place})"),
            false => format!("{kind}: {what} ({place})"),
        };
        match at_length {
            true => {
                let at = self.frame.at;
                let calls = program.body(self.act).calls.iter().rev();
                let calls = calls.filter(|(range, _)| range.contains(&at));
                let lines = calls.map(|(_, line)| *line);
                let lines = lines.chain(halt.via.iter().rev().copied());
                let lines = lines.chain([halt.line]).map(shown);
                format!("{told}{}", lines.collect::<String>())
            }
            false => told,
        }
    }

    fn run(&mut self, body: &Body, frame: &mut Frame) -> Result<Still, Halt> {
        let program = Rc::clone(&self.program);
        self.given.rounds.set(0);
        for _ in 0..OPERATIONS_MAX {
            let scope = Scope {
                slots: &frame.slots,
                names: &body.names,
                own: &|name| {
                    let own = self.own.get(name);
                    own.or_else(|| program.constants.get(name)).cloned()
                },
                class: &program.class,
                given: Some(&self.given),
                bound: None,
                minor: program.minor,
            };
            let mut next = frame.at + 1;
            match &body.operations[frame.at] {
                Operation::Send(send) => {
                    let cookies = |path: &str| self.jar.header(path);
                    let cookies: Option<&Cookies<'_>> = match self.jar.is_empty() {
                        true => None,
                        false => Some(&cookies),
                    };
                    return self.again.wish(send, &scope, cookies).map(Still::Asks);
                }
                Operation::Sleep(us) => {
                    frame.at = next;
                    return Ok(Still::Rests(*us));
                }
                Operation::Rest(how, times, line) => {
                    let times = times.iter().map(|time| time.compute(&scope));
                    let times = times.collect::<Result<Vec<_>, _>>()?;
                    let us = rest_us(*how, &times, &self.given).map_err(|halt| halt.at(*line))?;
                    frame.at = next;
                    return Ok(Still::Rests(us));
                }
                Operation::Measure(kind, name, term, line) => {
                    let value = term.compute(&scope)?;
                    let added = self.values.add(*kind, name, &value);
                    added.map_err(|halt| halt.at(*line))?;
                }
                Operation::Set(local, term) => {
                    let value = term.compute(&scope)?;
                    frame.slots[usize::from(*local)] = Slot::Value(value);
                }
                Operation::Keep(name, term) => {
                    let value = term.compute(&scope)?;
                    self.own.insert(Rc::clone(name), value);
                }
                Operation::Do(term) => drop(term.compute(&scope)?),
                Operation::Jump(to) => next = *to,
                Operation::JumpUnless(test, to) => {
                    if !test.compute(&scope)?.is_true() {
                        next = *to;
                    }
                }
                Operation::Over(number, term, line) => {
                    let over = Loop::over(&term.compute(&scope)?);
                    frame.loops[*number] = Some(over.map_err(|halt| halt.at(*line))?);
                }
                Operation::Count(number, times) => {
                    frame.loops[*number] = Some(Loop::Count(0, *times));
                }
                Operation::Next(number, local, end) => {
                    match frame.loops[*number].as_mut().and_then(Loop::next_slot) {
                        Some(slot) => frame.slots[usize::from(*local)] = slot,
                        None => {
                            frame.loops[*number] = None;
                            next = *end;
                        }
                    }
                }
                Operation::Assert(test, says, line) => {
                    if !test.compute(&scope)?.is_true() {
                        let text = scope.said(says.as_ref())?;
                        return Err(Halt::new(Kind::AssertionError, text).at(*line));
                    }
                }
                Operation::Raise(kind, says, line) => {
                    let text = scope.said(says.as_ref())?;
                    return Err(Halt::new(*kind, text).at(*line));
                }
                Operation::RaiseForStatus(local, line) => {
                    let answer = scope.answer(*local, *line)?;
                    answer.raise_for_status().map_err(|halt| halt.at(*line))?;
                }
                Operation::Batch(term, steps, _, line) => {
                    let requests = term.compute(&scope)?;
                    let cookies = |path: &str| self.jar.header(path);
                    let make = || batch::wishes(&requests, steps, &cookies);
                    let wishes = match self.jar.is_empty() {
                        true => self.again.batch((self.act, frame.at), &requests, make),
                        false => make(),
                    };
                    return Ok(Still::AsksAll(wishes.map_err(|halt| halt.at(*line))?));
                }
                Operation::Pick(from, place, answer, line) => {
                    let picked = batch::picked(scope.answers(*from, *line)?, *place);
                    let picked = picked.map_err(|halt| halt.at(*line))?;
                    frame.slots[usize::from(*answer)] = Slot::Answer(picked);
                }
                Operation::OverAnswers(number, from) => {
                    let answers = Rc::clone(scope.answers(*from, 0)?);
                    frame.loops[*number] = Some(Loop::Answers(answers, 0));
                }
                Operation::Return => return Ok(Still::Over),
            }
            frame.at = next;
        }
        Err(beyond("a loop of more than 10 million steps"))
    }
}

impl Program {
    fn body(&self, act: Act) -> &Body {
        match act {
            Act::Start => &self.on_start,
            Act::Stop => &self.on_stop,
            Act::Task(task) => &self.tasks[usize::from(task)].0,
        }
    }
}

impl Frame {
    /// Goes to the beginning of a function; what room there is from the one before is used again.
    fn enter(&mut self, body: &Body) {
        self.leave();
        self.slots.resize(body.names.len(), Slot::Unset);
        self.loops.resize_with(body.loops, || None);
    }

    /// Lets go of everything in it.
    fn leave(&mut self) {
        self.at = 0;
        self.slots.clear();
        self.loops.clear();
    }
}

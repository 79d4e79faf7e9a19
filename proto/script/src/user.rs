//! One virtual user that plays compiled code, from operation to operation.
//!
//! Pure: the caller performs each [`Operation`] and provides the time.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use loadpilot_events::plan::code::Takes;

use super::context::{Scope, Slot};
use super::expression::Term;
use super::inputs::{INSTRUCTIONS_MAX, Inputs, Sources};
use super::loops::Loop;
use super::metrics::MetricSamples;
use super::operation::{Completion, MetricSample, Occasion, Operation, Part, PartResult, Request};
use super::program::{Body, Instruction, Program};
use super::requests::batch;
use super::requests::cookies::{Clock, CookieJar, Cookies};
use super::requests::redirect::{self, HOPS_MAX};
use super::requests::request_cache::RequestCache;
use super::requests::response::ResponseView;
use super::requests::template::RequestTemplate;
use super::think_time::sleep_us;
use super::values::exceptions::{Exception, Kind, request_error, unsupported, value_error};
use super::values::value::Value;

/// One virtual user of a compiled scenario.
#[derive(Debug)]
pub struct CompiledUser {
    program: Rc<Program>,
    /// Attributes of `self` that the user has set.
    attributes: BTreeMap<Arc<str>, Value>,
    jar: CookieJar,
    cache: RequestCache,
    inputs: Inputs,
    samples: MetricSamples,
    part: Part,
    frame: Frame,
    /// The last response, unless the last request got none.
    last: Option<Rc<ResponseView>>,
    /// The request in flight, and the number of redirects that led to it.
    in_flight: Option<(Arc<Request>, u32)>,
    /// The batch in flight.
    batch: Option<Vec<Arc<Request>>>,
}

/// State of a function between two operations.
#[derive(Debug, Default)]
struct Frame {
    /// Index of the next instruction.
    at: usize,
    slots: Vec<Slot>,
    loops: Vec<Option<Loop>>,
}

/// Why a function is suspended.
enum Suspended {
    Send(Arc<Request>),
    Batch(Vec<Arc<Request>>),
    Sleep(u64),
    Returned,
}

impl CompiledUser {
    /// A new user. Its requests go to `target`; `clock` is called only if there are cookies.
    #[must_use]
    pub fn new(program: Rc<Program>, target: &str, sources: Rc<Sources>, clock: Clock) -> Self {
        Self {
            program,
            attributes: BTreeMap::new(),
            jar: CookieJar::new(target, clock),
            cache: RequestCache::default(),
            inputs: Inputs::new(sources),
            samples: MetricSamples::default(),
            part: Part::Start,
            frame: Frame::default(),
            last: None,
            in_flight: None,
            batch: None,
        }
    }

    /// Begins a part; the part before has ended.
    pub fn begin(&mut self, part: Part, occasion: Occasion) -> Operation {
        let program = Rc::clone(&self.program);
        self.inputs.begin(occasion);
        self.samples.begin(matches!(part, Part::Task(_)));
        self.part = part;
        self.last = None;
        self.in_flight = None;
        self.batch = None;
        self.frame.enter(program.body(part));
        self.advance()
    }

    /// Whether a check examines the last answer of a task.
    #[must_use]
    pub fn has_check(&self, task: u16) -> bool {
        self.program.tasks[usize::from(task)].1.is_some()
    }

    /// Takes the samples that the last task added to own metrics.
    pub fn take_samples(&mut self) -> Vec<MetricSample> {
        self.samples.take()
    }

    /// Resumes the user after its operation completed.
    pub fn resume(&mut self, completion: Completion) -> Operation {
        let program = Rc::clone(&self.program);
        if let Some(requests) = self.batch.take() {
            return match completion {
                Completion::Batch(completions) => self.batch_completed(&requests, completions),
                _ => self.end_part(None),
            };
        }
        let Some((request, hops)) = self.in_flight.take() else {
            return match completion {
                Completion::Awake => self.advance(),
                // The run ended during a sleep, and the task ends with it.
                _ => self.end_part(None),
            };
        };
        let Instruction::Send(template) = &program.body(self.part).instructions[self.frame.at]
        else {
            return self.end_part(None);
        };
        let line = template.line;
        let response = match completion {
            Completion::Response(response) => Rc::new(ResponseView::new(response)),
            Completion::Failed { outcome, cause } => {
                return self.end_part(Some(request_error(outcome, cause).at(line)));
            }
            Completion::Unsendable(why) => return self.end_part(Some(value_error(why).at(line))),
            Completion::Awake
            | Completion::Stopped
            | Completion::Batch(_)
            | Completion::Concurrent(..) => return self.end_part(None),
        };
        match self.responded(template, &request, hops, &response) {
            Ok(Some(redirected)) => Operation::Send(redirected),
            Ok(None) => self.advance(),
            Err(error) => self.end_part(Some(error.at(line))),
        }
    }

    /// Takes the completions of a batch: all of them, even after the first failure.
    fn batch_completed(
        &mut self,
        requests: &[Arc<Request>],
        completions: Vec<Completion>,
    ) -> Operation {
        let program = Rc::clone(&self.program);
        let instruction = &program.body(self.part).instructions[self.frame.at];
        let Instruction::Batch(_, _, local, line) = instruction else {
            return self.end_part(None);
        };
        let mut responses = Vec::with_capacity(requests.len());
        let mut failed = None;
        for (completion, request) in completions.into_iter().zip(requests) {
            let error = match completion {
                Completion::Response(response) => {
                    let response = Rc::new(ResponseView::new(response));
                    self.last = Some(Rc::clone(&response));
                    let taken = match response.sets_cookies() {
                        true => self.jar.take(&response, &request.path),
                        false => Ok(()),
                    };
                    responses.push(response);
                    match taken {
                        Err(error) => Some(error),
                        Ok(()) => continue,
                    }
                }
                Completion::Failed { outcome, cause } => Some(request_error(outcome, cause)),
                Completion::Unsendable(why) => Some(value_error(why)),
                // The run is over; this is not an error of the task.
                Completion::Awake
                | Completion::Stopped
                | Completion::Batch(_)
                | Completion::Concurrent(..) => None,
            };
            failed = failed.or(Some(error));
        }
        if let Some(error) = failed {
            self.last = None;
            return self.end_part(error.map(|error| error.at(*line)));
        }
        if let Some(local) = local {
            self.frame.slots[usize::from(*local)] = Slot::Responses(Rc::new(responses));
        }
        self.frame.at += 1;
        self.advance()
    }

    /// Takes a response; returns the next request if the response is a redirect to follow.
    fn responded(
        &mut self,
        template: &RequestTemplate,
        request: &Request,
        hops: u32,
        response: &Rc<ResponseView>,
    ) -> Result<Option<Arc<Request>>, Exception> {
        self.last = Some(Rc::clone(response));
        if response.sets_cookies() {
            self.jar.take(response, &request.path)?;
        }
        if template.follows
            && let Some(location) = redirect::location(response)
        {
            let redirected = self.redirected(request, response.status(), &location)?;
            if hops + 1 >= HOPS_MAX {
                let text = format!(
                    "more than 20 redirects, the last one to {}",
                    redirected.path
                );
                return Err(Exception::new(Kind::RedirectError, text));
            }
            let redirected = Arc::new(redirected);
            self.in_flight = Some((Arc::clone(&redirected), hops + 1));
            self.last = None;
            return Ok(Some(redirected));
        }
        if let Some(local) = template.response {
            self.frame.slots[usize::from(local)] = Slot::Response(Rc::clone(response));
        }
        self.frame.at += 1;
        Ok(None)
    }

    fn redirected(
        &self,
        request: &Request,
        status: u16,
        location: &str,
    ) -> Result<Request, Exception> {
        let target = self.jar.target();
        let mut redirected = redirect::redirected(target, request, status, location)?;
        if let Some(cookie) = self.jar.header(&redirected.path)? {
            redirected.headers.push(("Cookie".to_owned(), cookie));
        }
        Ok(redirected)
    }

    /// Runs until the next operation.
    fn advance(&mut self) -> Operation {
        let program = Rc::clone(&self.program);
        let body = program.body(self.part);
        let mut frame = std::mem::take(&mut self.frame);
        let suspended = self.run(body, &mut frame);
        self.frame = frame;
        match suspended {
            Ok(Suspended::Send(request)) => {
                self.last = None;
                self.in_flight = Some((Arc::clone(&request), 0));
                Operation::Send(request)
            }
            Ok(Suspended::Batch(requests)) => {
                self.last = None;
                self.batch = Some(requests.clone());
                Operation::Batch(requests)
            }
            Ok(Suspended::Sleep(us)) => Operation::Sleep(Duration::from_micros(us)),
            Ok(Suspended::Returned) => self.end_part(None),
            Err(error) => self.end_part(Some(error)),
        }
    }

    /// Ends the part: runs the check of a task on its last response.
    fn end_part(&mut self, error: Option<Exception>) -> Operation {
        let with_stack = !matches!(self.part, Part::Task(_) | Part::Stop);
        let raised = error.map(|error| self.message(&error, with_stack));
        let program = Rc::clone(&self.program);
        let check = match (self.last.take(), self.part, &raised) {
            (Some(response), Part::Task(task), None) => {
                let check = program.tasks[usize::from(task)].1.as_ref();
                check.map(|(takes, body)| {
                    let mut frame = std::mem::take(&mut self.frame);
                    frame.enter(body);
                    match takes {
                        Takes::Answer => frame.slots[0] = Slot::Response(response),
                        Takes::StatusAndBody => {
                            frame.slots[0] = Slot::Value(Value::Int(response.status().into()));
                            frame.slots[1] = Slot::Body(response);
                        }
                    }
                    let checked = self.run(body, &mut frame);
                    self.frame = frame;
                    checked
                        .map(drop)
                        .map_err(|error| self.message(&error, false))
                })
            }
            _ => None,
        };
        self.frame.leave();
        Operation::Ended(PartResult {
            check,
            raised,
            ..PartResult::default()
        })
    }

    /// An error in the format of `loadpilot.play.tracebacks`, with or without the lines that led to
    /// it.
    fn message(&self, error: &Exception, with_stack: bool) -> String {
        let program = &*self.program;
        let line = program.lines.get(&error.line).map_or("", String::as_str);
        let text = match error.text.is_empty() {
            true => line,
            false => &error.text,
        };
        let kind = error.kind.name();
        let place = format!("{}:{}", program.file, error.line);
        let message = match text.is_empty() {
            true => format!("{kind} ({place})"),
            false => format!("{kind}: {text} ({place})"),
        };
        if !with_stack {
            return message;
        }
        let at = self.frame.at;
        let calls = program.body(self.part).calls.iter().rev();
        let calls = calls.filter(|(range, _)| range.contains(&at));
        let lines = calls.map(|(_, line)| *line);
        let lines = lines.chain(error.via.iter().rev().copied());
        let lines = lines.chain([error.line]).map(|line| {
            let text = program.lines.get(&line).map_or("", String::as_str);
            format!("\n    {}:{line}: {text}", program.file)
        });
        format!("{message}{}", lines.collect::<String>())
    }

    /// Executes instructions until the next operation or the end of the body.
    fn run(&mut self, body: &Body, frame: &mut Frame) -> Result<Suspended, Exception> {
        let program = Rc::clone(&self.program);
        self.inputs.iterations.set(0);
        for _ in 0..INSTRUCTIONS_MAX {
            let scope = Scope {
                slots: &frame.slots,
                names: &body.names,
                own: &|name| {
                    let own = self.attributes.get(name);
                    own.or_else(|| program.constants.get(name)).cloned()
                },
                class: &program.class,
                inputs: Some(&self.inputs),
                bound: None,
                minor: program.minor,
            };
            let mut next = frame.at + 1;
            match &body.instructions[frame.at] {
                Instruction::Send(template) => {
                    let cookies = |path: &str| self.jar.header(path);
                    let cookies: Option<&Cookies<'_>> = match self.jar.is_empty() {
                        true => None,
                        false => Some(&cookies),
                    };
                    let request = self.cache.request(template, &scope, cookies);
                    return request.map(Suspended::Send);
                }
                Instruction::Sleep(us) => {
                    frame.at = next;
                    return Ok(Suspended::Sleep(*us));
                }
                Instruction::Rest(how, times, line) => {
                    let times = times.iter().map(|time| time.compute(&scope));
                    let times = times.collect::<Result<Vec<_>, _>>()?;
                    let us =
                        sleep_us(*how, &times, &self.inputs).map_err(|error| error.at(*line))?;
                    frame.at = next;
                    return Ok(Suspended::Sleep(us));
                }
                Instruction::Measure(kind, name, term, line) => {
                    let value = term.compute(&scope)?;
                    let added = self.samples.add(*kind, name, &value);
                    added.map_err(|error| error.at(*line))?;
                }
                Instruction::Set(local, term) => {
                    let value = term.compute(&scope)?;
                    frame.slots[usize::from(*local)] = Slot::Value(value);
                }
                Instruction::Keep(name, term) => {
                    let value = term.compute(&scope)?;
                    self.attributes.insert(Arc::clone(name), value);
                }
                Instruction::Do(term) => drop(term.compute(&scope)?),
                Instruction::Jump(to) => next = *to,
                Instruction::JumpUnless(test, to) => {
                    if !test.compute(&scope)?.is_true() {
                        next = *to;
                    }
                }
                Instruction::Over(number, term, line) => {
                    let over = Loop::over(&term.compute(&scope)?);
                    frame.loops[*number] = Some(over.map_err(|error| error.at(*line))?);
                }
                Instruction::Count(number, times) => {
                    frame.loops[*number] = Some(Loop::Count(0, *times));
                }
                Instruction::Next(number, local, end) => {
                    match frame.loops[*number].as_mut().and_then(Loop::next_slot) {
                        Some(slot) => frame.slots[usize::from(*local)] = slot,
                        None => {
                            frame.loops[*number] = None;
                            next = *end;
                        }
                    }
                }
                Instruction::Assert(test, message, line) => {
                    if !test.compute(&scope)?.is_true() {
                        let text = Term::message(message.as_ref(), &scope)?;
                        return Err(Exception::new(Kind::AssertionError, text).at(*line));
                    }
                }
                Instruction::Raise(kind, message, line) => {
                    let text = Term::message(message.as_ref(), &scope)?;
                    return Err(Exception::new(*kind, text).at(*line));
                }
                Instruction::RaiseForStatus(local, line) => {
                    let response = scope.response(*local, *line)?;
                    response
                        .raise_for_status()
                        .map_err(|error| error.at(*line))?;
                }
                Instruction::Batch(term, steps, _, line) => {
                    let list = term.compute(&scope)?;
                    let cookies = |path: &str| self.jar.header(path);
                    let make = || batch::requests(&list, steps, &cookies);
                    let requests = match self.jar.is_empty() {
                        true => self.cache.batch((self.part, frame.at), &list, make),
                        false => make(),
                    };
                    let requests = requests.map_err(|error| error.at(*line));
                    return requests.map(Suspended::Batch);
                }
                Instruction::Pick(from, place, local, line) => {
                    let picked = batch::picked(scope.responses(*from, *line)?, *place);
                    let picked = picked.map_err(|error| error.at(*line))?;
                    frame.slots[usize::from(*local)] = Slot::Response(picked);
                }
                Instruction::OverResponses(number, from) => {
                    let responses = Rc::clone(scope.responses(*from, 0)?);
                    frame.loops[*number] = Some(Loop::Responses(responses, 0));
                }
                Instruction::Return => return Ok(Suspended::Returned),
            }
            frame.at = next;
        }
        Err(unsupported("a loop of more than 10 million steps"))
    }
}

impl Frame {
    /// Goes to the beginning of a function; the buffers are reused.
    fn enter(&mut self, body: &Body) {
        self.leave();
        self.slots.resize(body.names.len(), Slot::Unset);
        self.loops.resize_with(body.loops, || None);
    }

    /// Drops all values.
    fn leave(&mut self) {
        self.at = 0;
        self.slots.clear();
        self.loops.clear();
    }
}

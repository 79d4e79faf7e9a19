//! A compiled scenario as lists of instructions with jumps, so that execution can be suspended at a
//! request and resumed there.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use loadpilot_events::plan::code::{Code, Metric, Pause, Routine, Statement, Takes, Way};

use super::expression::Term;
use super::operation::Part;
use super::requests::template::RequestTemplate;
use super::values::exceptions::{Exception, Kind};
use super::values::value::Value;

/// A compiled scenario, ready to be played.
#[derive(Debug)]
pub struct Program {
    pub(super) class: String,
    pub(super) file: String,
    pub(super) minor: u8,
    pub(super) constants: BTreeMap<String, Value>,
    pub(super) lines: BTreeMap<u32, String>,
    on_start: Body,
    on_stop: Body,
    /// The tasks with their checks, in the order of the plan.
    pub(super) tasks: Vec<(Body, Option<(Takes, Body)>)>,
    /// A body that does nothing.
    nothing: Body,
}

/// The body of one function.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) names: Vec<String>,
    pub(super) instructions: Vec<Instruction>,
    /// Number of loops.
    pub(super) loops: usize,
    /// Inlined calls: the range of their instructions and the line of the call, inner ones first.
    pub(super) calls: Vec<(Range<usize>, u32)>,
    /// Jumps to the end of each inlined call that is being added.
    returns: Vec<Vec<usize>>,
}

/// One instruction. A `u32` at the end is the line of the scenario.
#[derive(Debug)]
pub(super) enum Instruction {
    Send(Box<RequestTemplate>),
    Sleep(u64),
    Rest(Pause, Vec<Term>, u32),
    Measure(Metric, Arc<str>, Term, u32),
    Set(u16, Term),
    Keep(Arc<str>, Term),
    Do(Term),
    Jump(usize),
    JumpUnless(Term, usize),
    /// Begins a loop over the value of a term: number of the loop, term.
    Over(usize, Term, u32),
    /// Begins a loop that counts: number of the loop, iterations.
    Count(usize, u32),
    /// Continues a loop: its number, its variable, and the instruction after its end.
    Next(usize, u16, usize),
    Assert(Term, Option<Term>, u32),
    Raise(Kind, Option<Term>, u32),
    RaiseForStatus(u16, u32),
    /// Sends several requests: the list, their step name, the variable for the responses.
    Batch(Term, String, Option<u16>, u32),
    /// Picks one of several responses: the list, its index, the variable.
    Pick(u16, i64, u16, u32),
    /// Begins a loop over several responses: number of the loop, the list.
    OverResponses(usize, u16),
    Return,
}

impl Program {
    /// Prepares checked `code` of the scenario class `class`.
    ///
    /// # Errors
    /// A literal has no representation in compiled code.
    pub fn new(code: &Code, class: &str) -> Result<Self, Exception> {
        let lines = code.lines.iter();
        let lines = lines.map(|line| (line.number, line.text.clone()));
        let constants = code.constants.iter();
        let constants = constants.map(|(name, value)| Ok((name.clone(), Value::of(value)?)));
        let hook = |routine: &Option<Routine>| {
            let body = routine.as_ref().map(Body::new);
            Ok::<_, Exception>(body.transpose()?.unwrap_or_else(Body::nothing))
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
            constants: constants.collect::<Result<_, Exception>>()?,
            lines: lines.collect(),
            on_start: hook(&code.on_start)?,
            on_stop: hook(&code.on_stop)?,
            tasks: tasks.collect::<Result<_, Exception>>()?,
            nothing: Body::nothing(),
        };
        program.number_requests();
        Ok(program)
    }

    /// The body of a part; hooks that happen once per run are never compiled.
    pub(super) fn body(&self, part: Part) -> &Body {
        match part {
            Part::Start => &self.on_start,
            Part::Stop => &self.on_stop,
            Part::Task(task) => &self.tasks[usize::from(task)].0,
            Part::Once(_) => &self.nothing,
        }
    }

    fn number_requests(&mut self) {
        let tasks = self.tasks.iter_mut().map(|(body, _)| body);
        let bodies = [&mut self.on_start, &mut self.on_stop]
            .into_iter()
            .chain(tasks);
        let instructions = bodies.flat_map(|body| &mut body.instructions);
        let sends = instructions.filter_map(|instruction| match instruction {
            Instruction::Send(send) => Some(send),
            _ => None,
        });
        for (number, send) in sends.enumerate() {
            send.number = number;
        }
    }
}

impl Body {
    fn new(routine: &Routine) -> Result<Self, Exception> {
        let mut body = Self {
            names: routine.locals.clone(),
            ..Self::default()
        };
        body.block(&routine.does, &mut Vec::new())?;
        body.instructions.push(Instruction::Return);
        Ok(body)
    }

    fn nothing() -> Self {
        Self {
            instructions: vec![Instruction::Return],
            ..Self::default()
        }
    }

    fn here(&self) -> usize {
        self.instructions.len()
    }

    /// Adds statements; `leaves` are the loops around them.
    fn block(&mut self, does: &[Statement], leaves: &mut Vec<Leaves>) -> Result<(), Exception> {
        for statement in does {
            self.statement(statement, leaves)?;
        }
        Ok(())
    }

    fn statement(
        &mut self,
        statement: &Statement,
        leaves: &mut Vec<Leaves>,
    ) -> Result<(), Exception> {
        let instruction = match statement {
            Statement::Send(send) => Instruction::Send(Box::new(RequestTemplate::new(send)?)),
            Statement::Sleep { us } => Instruction::Sleep(*us),
            Statement::Rest { how, times, line } => {
                let times = times.iter().map(Term::new);
                Instruction::Rest(*how, times.collect::<Result<_, _>>()?, *line)
            }
            Statement::Measure {
                kind,
                name,
                value,
                line,
            } => {
                let value = value.as_ref().map(Term::new).transpose()?;
                let value = value.unwrap_or(Term::Value(Value::Int(1)));
                Instruction::Measure(*kind, name.as_str().into(), value, *line)
            }
            Statement::Set { local, to } => Instruction::Set(*local, Term::new(to)?),
            Statement::Keep { name, value } => {
                Instruction::Keep(name.as_str().into(), Term::new(value)?)
            }
            Statement::Do(value) => Instruction::Do(Term::new(value)?),
            Statement::If { ways, otherwise } => return self.branch(ways, otherwise, leaves),
            Statement::For {
                local,
                over,
                does,
                line,
            } => {
                let begin = Instruction::Over(self.loops, Term::new(over)?, *line);
                return self.repeat(begin, *local, does, leaves);
            }
            Statement::Repeat { local, times, does } => {
                let begin = Instruction::Count(self.loops, *times);
                return self.repeat(begin, *local, does, leaves);
            }
            Statement::Each { answer, from, does } => {
                let begin = Instruction::OverResponses(self.loops, *from);
                return self.repeat(begin, *answer, does, leaves);
            }
            Statement::While { test, does } => {
                let next = self.here();
                self.instructions
                    .push(Instruction::JumpUnless(Term::new(test)?, 0));
                return self.loop_body(next, does, leaves);
            }
            Statement::Batch {
                requests,
                steps,
                answers,
                line,
            } => Instruction::Batch(Term::new(requests)?, steps.clone(), *answers, *line),
            Statement::Pick {
                from,
                place,
                answer,
                line,
            } => Instruction::Pick(*from, *place, *answer, *line),
            Statement::Within { does, line } => return self.inline(does, *line),
            Statement::Break => {
                if let Some(inner) = leaves.last_mut() {
                    inner.breaks.push(self.instructions.len());
                }
                Instruction::Jump(0)
            }
            Statement::Continue => Instruction::Jump(leaves.last().map_or(0, |inner| inner.next)),
            Statement::Assert { test, says, line } => {
                let says = says.as_ref().map(Term::new).transpose()?;
                Instruction::Assert(Term::new(test)?, says, *line)
            }
            Statement::Raise { kind, says, line } => {
                let says = says.as_ref().map(Term::new).transpose()?;
                Instruction::Raise(Kind::from(*kind), says, *line)
            }
            Statement::RaiseForStatus { local, line } => Instruction::RaiseForStatus(*local, *line),
            Statement::Return => match self.returns.last_mut() {
                Some(ends) => {
                    ends.push(self.instructions.len());
                    Instruction::Jump(0)
                }
                None => Instruction::Return,
            },
        };
        self.instructions.push(instruction);
        Ok(())
    }

    fn branch(
        &mut self,
        ways: &[Way],
        otherwise: &[Statement],
        leaves: &mut Vec<Leaves>,
    ) -> Result<(), Exception> {
        let mut ends = Vec::new();
        for way in ways {
            let test = self.here();
            self.instructions
                .push(Instruction::JumpUnless(Term::new(&way.test)?, 0));
            self.block(&way.does, leaves)?;
            ends.push(self.here());
            self.instructions.push(Instruction::Jump(0));
            self.set_target(test, self.here());
        }
        self.block(otherwise, leaves)?;
        for end in ends {
            self.set_target(end, self.here());
        }
        Ok(())
    }

    /// Adds the body of a function that is called at this line.
    fn inline(&mut self, does: &[Statement], line: u32) -> Result<(), Exception> {
        let begin = self.here();
        self.returns.push(Vec::new());
        self.block(does, &mut Vec::new())?;
        for jump in self.returns.pop().unwrap_or_default() {
            self.set_target(jump, self.here());
        }
        self.calls.push((begin..self.here(), line));
        Ok(())
    }

    fn repeat(
        &mut self,
        begin: Instruction,
        local: u16,
        does: &[Statement],
        leaves: &mut Vec<Leaves>,
    ) -> Result<(), Exception> {
        let number = self.loops;
        self.loops += 1;
        self.instructions.push(begin);
        let next = self.here();
        self.instructions.push(Instruction::Next(number, local, 0));
        self.loop_body(next, does, leaves)
    }

    /// Adds the body of a loop whose test is the last instruction.
    fn loop_body(
        &mut self,
        next: usize,
        does: &[Statement],
        leaves: &mut Vec<Leaves>,
    ) -> Result<(), Exception> {
        leaves.push(Leaves {
            next,
            breaks: Vec::new(),
        });
        self.block(does, leaves)?;
        self.instructions.push(Instruction::Jump(next));
        let breaks = leaves.pop().map_or_else(Vec::new, |inner| inner.breaks);
        for jump in breaks.into_iter().chain([next]) {
            self.set_target(jump, self.here());
        }
        Ok(())
    }

    /// Sets the target of the jump at `from` to `to`.
    fn set_target(&mut self, from: usize, to: usize) {
        match &mut self.instructions[from] {
            Instruction::Jump(end)
            | Instruction::JumpUnless(_, end)
            | Instruction::Next(_, _, end) => {
                *end = to;
            }
            _ => {}
        }
    }
}

/// A loop that is being added: its next iteration and the jumps to its end.
struct Leaves {
    next: usize,
    breaks: Vec<usize>,
}

//! Scenarios in Python, as the agent sees them: the seam behind which an interpreter sits.
//!
//! A firing thread that runs a scenario owns the interpreter: it gives it up only while it waits
//! for I/O. What is here knows no Python, so that the plain binary needs none. A user must never
//! block: it says what it wants next, and is gone on with when that is there.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use loadpilot_events::cause::Cause;
use loadpilot_events::outcome::Outcome;
use loadpilot_events::plan::{Method, Stream};

use crate::states::States;

/// An interpreter.
pub trait Scripting: Debug + Send + Sync {
    /// The calling thread runs a scenario from now on, until it ends.
    fn enter(&self);

    /// That thread is about to wait: others may have the interpreter.
    fn park(&self);

    /// It has waited.
    fn unpark(&self);

    /// It runs none any more.
    fn leave(&self);

    /// A part is over, and nothing is to be done at once.
    fn tidy(&self) {}

    /// Loads a scenario on the calling thread, which has entered. May block.
    ///
    /// # Errors
    /// Why it cannot be loaded, for whoever wrote it.
    fn load(&self, source: &Source<'_>) -> Result<Box<dyn Scenario>, String>;
}

/// Where a scenario comes from.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// A zip archive of its files.
    pub bundle: &'a [u8],
    /// The file in it that defines the scenario.
    pub file: &'a str,
    /// The name of its class.
    pub scenario: &'a str,
    /// The names of its tasks, in the order of the plan.
    pub tasks: &'a [String],
    /// Where the load goes: `http://host[:port]`.
    pub target: &'a str,
    /// What its users are made from, when that was prepared elsewhere.
    pub states: Option<&'a States>,
}

/// A scenario that is loaded; it stays on its thread.
pub trait Scenario {
    /// A new user of it, by its number among all users of the run, or [`NOBODY`].
    ///
    /// # Errors
    /// What its making raised.
    fn user(&self, number: u32) -> Result<Box<dyn User>, String>;
}

/// One virtual user: does one part at a time, step by step.
pub trait User {
    /// Begins a part; the last one has ended.
    fn begin(&mut self, part: Part) -> Next;

    /// Goes on with what it wanted.
    fn go_on(&mut self, heard: Heard) -> Next;
}

/// The number of one who serves no arrival, and is there for what happens once per run.
pub const NOBODY: u32 = u32::MAX;

/// A part of a user's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Its preparation, before the run starts.
    Start,
    /// A task, by its place in the plan.
    Task(u16),
    /// Its clean-up, after the run.
    Stop,
    /// What happens once per run, by its place among all such parts of the scenario.
    Once(u16),
}

/// What a user wants next.
#[derive(Debug)]
pub enum Next {
    /// To send a request and hear its answer.
    Send(Arc<Request>),
    /// To send several at a time and hear all of their answers.
    Batch(Vec<Arc<Request>>),
    /// To do nothing for a while.
    Sleep(Duration),
    /// Nothing: the part is over.
    Ended(Ended),
}

/// A request that a user made up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Request {
    /// Its method.
    pub method: Method,
    /// Path with query, starting with `/`.
    pub path: String,
    /// Headers in order.
    pub headers: Vec<(String, String)>,
    /// The body; `None` is not the same as an empty one.
    pub body: Option<Bytes>,
    /// Instead of the plan's time-out, in µs from dispatch.
    pub timeout_us: Option<u64>,
    /// What it is called in reports, unless by method and path.
    pub name: Option<String>,
    /// The answer is a stream of tokens, whose times are taken.
    pub stream: Option<Stream>,
}

/// What a user hears.
#[derive(Debug)]
pub enum Heard {
    /// The answer to its request.
    Answer(Answer),
    /// There was no complete answer: what happened, in one word, and why.
    Broken {
        /// How it ended.
        outcome: Outcome,
        /// What is behind it, where that is known.
        cause: Option<Cause>,
    },
    /// The request cannot be sent: why, for whoever wrote it.
    Unsendable(String),
    /// What became of the requests of a batch, in their order.
    Batch(Vec<Heard>),
    /// Time is up, of a sleep.
    Awake,
    /// The run is over: nothing may be sent any more.
    Stopped,
}

/// An answer, whole.
#[derive(Debug)]
pub struct Answer {
    /// Its status code.
    pub status: u16,
    /// Its head as it came, of HTTP/2 in the form of HTTP/1.1.
    pub head: Vec<u8>,
    /// Its body as it came.
    pub body: Vec<u8>,
    /// From dispatch to the last byte, in µs.
    pub elapsed_us: u64,
}

/// How a part ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ended {
    /// What its check said of the last answer; `None`: it has none, or there was no answer.
    pub check: Option<Result<(), String>>,
    /// What the part itself raised: the kind of the error, its message and its place.
    pub raised: Option<String>,
}

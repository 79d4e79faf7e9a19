//! Scenarios in Python, as the agent sees them: the seam behind which an interpreter sits.
//!
//! A firing thread that runs a scenario owns the interpreter: it gives it up only while it waits
//! for I/O. What is here knows no Python, so that the plain binary needs none. A user must never
//! block: it says what it wants next, and is gone on with when that is there.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use loadpilot_engine::schedule::random::DrawScope;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::Timestamp;
use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::metrics::MetricValue;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::plan::script::Feed;
use loadpilot_events::plan::{Method, Stream};
use loadpilot_script::requests::response::Counted;

use crate::fire::CompiledCalls;
use crate::users::prepared_users::States;

/// An interpreter.
pub trait Scripting: Debug + Send + Sync {
    /// Does `work` on the calling thread, which has the interpreter meanwhile.
    fn inside(&self, work: Box<dyn FnOnce() + '_>);

    /// That thread is about to wait: others may have the interpreter.
    fn park(&self);

    /// It has waited.
    fn unpark(&self);

    /// A part is over, and nothing is to be done at once.
    fn tidy(&self) {}

    /// Whether the users of a scenario may be spread over several threads, each with a scenario of
    /// its own. More threads under one interpreter would only wait for each other.
    fn is_spread(&self) -> bool {
        false
    }

    /// Loads a scenario on the calling thread, which is inside. May block.
    ///
    /// # Errors
    /// Why it cannot be loaded, for whoever wrote it.
    fn load(&self, source: &Source<'_>) -> Result<Box<dyn Scenario>, String>;
}

/// Where a scenario comes from.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// A zip archive of its files; of code the rows of its feeds.
    pub bundle: &'a [u8],
    /// The file in it that defines the scenario.
    pub file: &'a str,
    /// The name of its class.
    pub scenario: &'a str,
    /// The names of its tasks, in the order of the plan.
    pub tasks: &'a [String],
    /// Where the load goes: `http://host[:port][/path]`.
    pub target: &'a str,
    /// What it was given by name when it was submitted, secrets included.
    pub parameters: &'a BTreeMap<String, String>,
    /// The data that it takes rows of.
    pub feeds: &'a [Feed],
    /// What its arrivals are.
    pub workload: &'a Arc<Workload>,
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

    /// Work of its own, for users that wait for something outside: done on the scenario's thread
    /// beside everything else, as long as the scenario is there.
    fn beside(&self) -> Option<Pin<Box<dyn Future<Output = ()>>>> {
        None
    }
}

/// One virtual user: does one part at a time, step by step.
pub trait User {
    /// Begins a part; the last one has ended.
    fn begin(&mut self, part: Part, occasion: Occasion) -> Next;

    /// Goes on with what it wanted.
    fn go_on(&mut self, heard: Heard) -> Next;

    /// After [`Next::Outside`]: what it wants next, once it wants anything; wakes whoever polls it.
    /// To call such a wait off, [`User::go_on`] is told [`Heard::Stopped`].
    fn poll_outside(&mut self, _cx: &mut Context<'_>) -> Poll<Next> {
        Poll::Ready(Next::Ended(Ended::default()))
    }

    /// What it added to metrics of the scenario's own in the task that it did last, whether that
    /// has ended or was given up. Told once.
    fn measured(&mut self) -> Vec<Measured> {
        Vec::new()
    }
}

/// One value that a user added to a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    /// What the scenario calls the metric.
    pub name: Arc<str>,
    /// What was added.
    pub value: MetricValue,
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

/// Whose a part is and when it is due: with the seed, all that fixes what a scenario draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occasion {
    /// Whose.
    pub whose: DrawScope,
    /// When the arrival is due, by the coordinator's clock; of what no arrival asked for: when it
    /// begins, by the agent's.
    pub due: Timestamp,
}

/// What a user knows a request by that it has under way.
pub type Ticket = u32;

/// What a user wants next.
#[derive(Debug)]
pub enum Next {
    /// To send a request and hear its answer.
    Send(Arc<Request>),
    /// To send several at a time and hear all of their answers.
    Batch(Vec<Arc<Request>>),
    /// To do nothing for a while.
    Sleep(Duration),
    /// To wait for something that the engine does not bring, or for what it has under way.
    Outside,
    /// To send requests beside whatever it has under way, and to hear of each as it ends, by its
    /// number; meanwhile to wait as with [`Next::Outside`].
    Beside(Vec<(Ticket, Arc<Request>)>),
    /// Nothing: the part is over.
    Ended(Ended),
}

/// A request that a user made up. One that is made again is best the same object: the engine keeps
/// in it what it made of it. It stays with the scenario that made it.
#[derive(Debug, PartialEq, Eq)]
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
    /// After so many of them the client hangs up, and the answer counts as whole.
    pub tokens_max: Option<u32>,
    /// It hangs up so many µs after dispatch, and an answer that has begun counts as whole.
    pub listen_us: Option<u64>,
    /// What the engine made of it, of which nobody else knows anything.
    pub composed: CompiledCalls,
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
    /// What became of one of the requests that it has under way.
    One(Ticket, Box<Heard>),
    /// Time is up, of a sleep.
    Awake,
    /// The run is over: nothing may be sent any more.
    Stopped,
}

impl Heard {
    /// Whether it says that something was not done since the run is over.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Stopped => true,
            Self::One(_, one) => one.is_refusal(),
            _ => false,
        }
    }
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
    /// What the body takes of what the tasks of a process may hold.
    pub counted: Counted,
}

/// How a part ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ended {
    /// What its check said of the last answer; `None`: it has none, or there was no answer.
    pub check: Option<Result<(), String>>,
    /// What the part itself raised: the kind of the error, its message and its place.
    pub raised: Option<String>,
    /// Which lines of the user's led to what was raised, if that is known: `shop.py:40 in buy`,
    /// each on a line of its own.
    pub trace: Option<String>,
    /// Where it kept every other user waiting, in words.
    pub blocked: Option<String>,
}

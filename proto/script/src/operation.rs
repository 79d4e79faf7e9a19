//! Operations: what a virtual user waits for, and how each operation completes.
//!
//! The types between a user and the load engine. A user in Python or in compiled code returns an
//! [`Operation`]; the load engine performs it and resumes the user with a [`Completion`]. Data
//! only: the agent adds the traits of users and scenarios (`users::script`).

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use loadpilot_engine::schedule::random::DrawScope;
use loadpilot_events::Timestamp;
use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::metrics::MetricValue;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::plan::{Method, Stream};

/// Maximum bytes of bodies that tasks of a process hold at a time, incomplete ones included.
pub const BODIES_BYTES_MAX: usize = 512 << 20;

/// A part of a user's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Its preparation (`on_start`), before the run starts.
    Start,
    /// A task, by its index in the plan.
    Task(u16),
    /// Its clean-up (`on_stop`), after the run.
    Stop,
    /// A setup or teardown of the run, by its index among those of the scenario.
    Once(u16),
}

/// Owner and due time of a part: with the seed, all that fixes the draws and feed rows of a
/// scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occasion {
    /// Arrival, iteration or hook that the part belongs to.
    pub whose: DrawScope,
    /// When the arrival is due, by the coordinator's clock; of a hook: when it begins, by the
    /// agent's clock.
    pub due: Timestamp,
}

/// Number by which a user knows one of its concurrent requests.
pub type Ticket = u32;

/// The operation that a user waits for next.
#[derive(Debug)]
pub enum Operation {
    /// One request.
    Send(Arc<Request>),
    /// Several requests at a time, all of which have to complete.
    Batch(Vec<Arc<Request>>),
    /// A stretch of think time.
    Sleep(Duration),
    /// Something that the load engine does not provide, or a concurrent request.
    External,
    /// Requests to send beside those in flight. The user then waits as for
    /// [`Operation::External`]; each request completes by itself, under its ticket.
    Concurrent(Vec<(Ticket, Arc<Request>)>),
    /// Nothing: the part is over.
    Ended(PartResult),
}

/// A request that a user makes. A request that is made again should be the same object, since the
/// load engine caches its compiled form in it.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// Its method.
    pub method: Method,
    /// Path with query, percent-encoded, starting with `/`.
    pub path: String,
    /// Headers in order.
    pub headers: Vec<(String, String)>,
    /// The body; `None` differs from an empty one.
    pub body: Option<Bytes>,
    /// Timeout in place of the plan's, in µs from dispatch.
    pub timeout_us: Option<u64>,
    /// Name in reports; without one, method and path.
    pub name: Option<String>,
    /// The kind of token stream that the response is, whose token times are measured.
    pub stream: Option<Stream>,
    /// Number of tokens after which the client hangs up; the response counts as complete.
    pub tokens_max: Option<u32>,
    /// Time in µs from dispatch after which the client hangs up; a response that has begun counts
    /// as complete.
    pub listen_us: Option<u64>,
    /// Cache of the load engine.
    pub cache: EngineCache,
}

impl Request {
    /// A request with this method and path, and nothing else.
    #[must_use]
    pub fn new(method: Method, path: String) -> Self {
        Self {
            method,
            path,
            headers: Vec::new(),
            body: None,
            timeout_us: None,
            name: None,
            stream: None,
            tokens_max: None,
            listen_us: None,
            cache: EngineCache::default(),
        }
    }
}

/// One value of a type that only the load engine knows. All caches are equal, so that two requests
/// compare by their content only.
#[derive(Debug, Default)]
pub struct EngineCache(OnceLock<Box<dyn Any + Send + Sync>>);

impl EngineCache {
    /// The value, created on first use. `None` if the cache holds a value of another type.
    #[must_use]
    pub fn get<T: Any + Default + Send + Sync>(&self) -> Option<&T> {
        self.0.get_or_init(|| Box::new(T::default())).downcast_ref()
    }
}

impl PartialEq for EngineCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for EngineCache {}

/// How an operation completed.
#[derive(Debug)]
pub enum Completion {
    /// The response to a request.
    Response(Response),
    /// A request got no complete response.
    Failed {
        /// How the call ended.
        outcome: Outcome,
        /// Its cause, if known.
        cause: Option<Cause>,
    },
    /// A request cannot be sent, or its response cannot be read: the reason, for the author of the
    /// scenario.
    Unsendable(String),
    /// How the requests of a batch completed, in their order.
    Batch(Vec<Completion>),
    /// How a concurrent request completed.
    Concurrent(Ticket, Box<Completion>),
    /// A sleep is over.
    Awake,
    /// The run is over: nothing may be sent any more.
    Stopped,
}

impl Completion {
    /// Whether an operation was not performed because the run is over.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        match self {
            Self::Stopped => true,
            Self::Concurrent(_, one) => one.is_stopped(),
            _ => false,
        }
    }
}

/// A complete response.
#[derive(Debug)]
pub struct Response {
    /// Its status code.
    pub status: u16,
    /// Its head as received; of HTTP/2 in the form of HTTP/1.1.
    pub head: Vec<u8>,
    /// Its body as received, still encoded.
    pub body: Vec<u8>,
    /// Time from dispatch to the last byte, in µs.
    pub elapsed_us: u64,
    /// Memory that the body takes of the limit for responses held by tasks.
    pub counted: Counted,
}

/// Bytes that count against a total until this is dropped.
#[derive(Debug, Default)]
pub struct Counted {
    total: Option<&'static AtomicUsize>,
    bytes: usize,
}

impl Counted {
    /// Adds bytes that the total already contains.
    pub fn add(&mut self, total: &'static AtomicUsize, bytes: usize) {
        self.total = Some(total);
        self.bytes += bytes;
    }

    /// Takes more bytes of the same total.
    ///
    /// # Errors
    /// There are not that many left.
    pub fn more(&self, bytes: usize) -> Result<Self, &'static str> {
        let mut more = Self::default();
        if let Some(total) = self.total {
            reserve(total, bytes)?;
            more.add(total, bytes);
        }
        Ok(more)
    }
}

/// Adds bytes of a body to the total of all bodies that tasks hold.
///
/// # Errors
/// The total would be more than [`BODIES_BYTES_MAX`].
pub fn reserve(total: &AtomicUsize, bytes: usize) -> Result<(), &'static str> {
    let room = |held: usize| Some(held + bytes).filter(|&held| held <= BODIES_BYTES_MAX);
    let found = total.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room);
    found.map_err(|_| "the answers that tasks hold on this agent are 512 MiB, its limit")?;
    Ok(())
}

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(total) = self.total {
            total.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

/// How a part ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartResult {
    /// Result of the check of the last response; `None` without a check or a response.
    pub check: Option<Result<(), String>>,
    /// The error that the part raised: its type, message and place.
    pub raised: Option<String>,
    /// Lines of the scenario that led to the error, if known: `shop.py:40 in buy`, each on a line
    /// of its own.
    pub trace: Option<String>,
    /// The line of the scenario that blocked every other user, in words.
    pub blocked: Option<String>,
}

/// One value that a user added to an own metric of the scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricSample {
    /// Name of the metric.
    pub name: Arc<str>,
    /// The value.
    pub value: MetricValue,
}

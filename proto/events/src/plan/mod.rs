//! The plan: what a scenario compiles to. Data only, validated, content-hashed, versioned.
//!
//! A plan holds no secret: secret values are handles ([`Text::Secret`]). It never says which agent
//! does what; that is the assignment's business.

pub mod capability;
pub mod code;
pub mod connections;
mod method;
mod object;
pub mod script;
pub mod target;
pub mod threshold;

pub use method::Method;
pub use object::{Object, hex};

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::defaults::is_default;
use crate::plan::code::Code;
use crate::plan::connections::Connections;
use crate::plan::script::{Feed, Prepared, Script};
use crate::plan::threshold::Threshold;
use crate::units::Rate;

/// The version of the plan format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PlanSchema {
    /// The first one.
    #[serde(rename = "loadpilot.plan/1")]
    V1,
}

/// What one run executes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of this format.
    pub schema: PlanSchema,
    /// The scenario's name: its class name.
    pub scenario: String,
    /// Where the load goes: `http://host[:port][/path]` or the same with https, no user. The paths
    /// of calls are relative to it.
    pub target: String,
    /// The offered rate over time; of a closed loop its length alone: one piece at rate 0.
    pub profile: Profile,
    /// A closed loop instead of a rate: that many users, each of which starts its next task when
    /// its last one ended, until the profile's length is over. Absent: arrivals on schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<u32>,
    /// What those users do between two tasks. Absent: nothing, the next one follows at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
    /// How due times spread inside the profile.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// What the scenario asked for by name when it was compiled, and what it was given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Text>,
    /// What people tell this run from others by; it changes nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// What an arrival may do; at least one.
    pub tasks: Vec<Task>,
    /// Arrivals due before this, in µs after the start, are offered and counted but left out of
    /// thresholds, ladder, error rate and achieved rate.
    pub warm_up_us: u64,
    /// A call without a complete answer after this many µs from dispatch is a time-out.
    pub timeout_us: u64,
    /// What may take less time than that.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timeouts: PhaseTimeouts,
    /// An arrival that found no slot after this many µs from its due time is dropped.
    pub max_wait_us: u64,
    /// An arrival that the pacer reaches later than this many µs after its due is dropped.
    pub max_lateness_us: u64,
    /// The grain of deltas and series in µs; ticks are aligned to the start.
    pub tick_us: u64,
    /// Most arrivals that one agent has in flight; its own default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<u32>,
    /// The gates; none means that only the certificate can fail the run.
    #[serde(default)]
    pub thresholds: Vec<Threshold>,
    /// A request header that carries `<run>/<arrival>/<step>`, when wanted; in a closed loop
    /// `<run>/<user>.<generation>.<k>/<step>`, k counting what that holder started for that user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_header: Option<String>,
    /// The exchanges of the first so many arrivals, or users, are written out in the log.
    #[serde(default, skip_serializing_if = "is_default")]
    pub debug_requests: u32,
    /// How the target is spoken to.
    #[serde(default, skip_serializing_if = "is_default")]
    pub connections: Connections,
    /// The share of calls, in millionths, that deltas tell one by one beside counting them: which
    /// ones is drawn from the seed. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_ppm: Option<u32>,
    /// The scenario runs in Python: its tasks have no steps. Absent: everything is compiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Script>,
    /// The scenario's tasks look at answers, and agents need no Python for it: they have no steps
    /// but code. Absent: there is no code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
}

/// What a user of a closed loop does between two tasks. Users begin evenly over the first rest, so
/// that they do not march in step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Rest {
    /// Thinks for so long after a task, drawn evenly from the seed.
    Wait {
        /// At least, in µs.
        from_us: u64,
        /// At most, in µs.
        to_us: u64,
    },
    /// Begins a task so long after it began the last one, or at once when that took longer.
    Pacing {
        /// In µs.
        every_us: u64,
    },
}

/// The offered rate over time: pieces one after the other, each linear.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The shape the user asked for; for showing only, the pieces are the truth.
    pub shape: Shape,
    /// At least one; the sum of their lengths is the run's length.
    pub pieces: Vec<Piece>,
}

impl Profile {
    /// Whether it says a length and nothing else, as that of a closed loop must.
    #[must_use]
    pub fn is_length_only(&self) -> bool {
        let still = |piece: &Piece| piece.from == Rate(0) && piece.to == Rate(0);
        self.shape == Shape::Closed && matches!(&self.pieces[..], [piece] if still(piece))
    }

    /// The length of the run in µs.
    #[must_use]
    pub fn duration_us(&self) -> u64 {
        self.pieces.iter().map(|p| p.duration_us).sum()
    }

    /// The highest rate of the profile.
    #[must_use]
    pub fn peak(&self) -> Rate {
        let ends = self.pieces.iter().flat_map(|p| [p.from, p.to]);
        ends.max().unwrap_or_default()
    }
}

/// The named shapes of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Linear from 0 to the rate, then steady.
    Ramp,
    /// The full rate at once.
    Constant,
    /// Equal windows of rising rate.
    Step,
    /// Thirds of 20 %, 100 %, 20 %.
    Spike,
    /// Any list of stages.
    Stages,
    /// No rate at all: as fast as the users of a closed loop are answered.
    Closed,
}

/// One linear piece of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// Length in µs; at least 1.
    pub duration_us: u64,
    /// Rate at its begin, in millionths of an arrival per second.
    pub from: Rate,
    /// Rate at its end, in millionths of an arrival per second.
    pub to: Rate,
}

/// How due times spread inside the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Evenly: arrival n is due where the integral of the rate reaches n.
    #[default]
    Uniform,
    /// As seeded random points, sorted, in blocks of 1,024 of the integral.
    Poisson,
}

/// What one arrival does: a program of steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Unique in the plan.
    pub name: String,
    /// Its share: weight out of the sum of weights; at least 1.
    pub weight: u32,
    /// Calls in order; at least one, unless the scenario runs in Python.
    pub steps: Vec<Step>,
}

/// One HTTP exchange of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What reports call it, `GET /api/user` unless renamed.
    pub name: String,
    /// The method.
    pub method: Method,
    /// Path with query, starting with `/`.
    pub path: String,
    /// Sent in this order, after Host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<Header>,
    /// The request body, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// Overrides the plan's time-out, in µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_us: Option<u64>,
    /// The answer is a stream of tokens, whose times are taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<Stream>,
    /// Of a streamed answer: after so many tokens the client hangs up, and the answer counts as
    /// whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u32>,
    /// Of a streamed answer: so many µs after dispatch the client hangs up, and an answer that has
    /// begun counts as whole. Below the call's time-out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen_us: Option<u64>,
}

/// What counts as a token of a streamed answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// A server-sent event that carries data (WHATWG HTML, section 9.2); comments do not count.
    Sse,
    /// A line that is not empty, as in newline-delimited JSON.
    Lines,
    /// A chunk of the chunked transfer coding, or a DATA frame of HTTP/2.
    Chunks,
}

/// Time-outs of parts of a call; each also ends with the call's own time-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PhaseTimeouts {
    /// A connection that is not open after this many µs is a time-out: from the resolution of the
    /// name to the end of the TLS handshake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_us: Option<u64>,
    /// An answer whose first byte has not come this many µs after the request was written is a
    /// time-out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_us: Option<u64>,
}

/// One request header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// A header field name (RFC 9110 token).
    pub name: String,
    /// Its value.
    pub value: Text,
}

/// Text of a request or a parameter: written out, or a handle to a secret that only agents
/// resolve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Text {
    /// Written out.
    Literal(String),
    /// The name under which the submitter handed over the value.
    Secret {
        /// The handle.
        secret: String,
    },
}

/// A request body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Body {
    /// UTF-8 text.
    Text(String),
    /// Bytes in standard base64 with padding.
    Base64(String),
    /// Bytes too many for a plan: kept in the object store, once, under their hash.
    Object(Object),
}

impl Plan {
    /// The canonical JSON form: fields in the order of this file.
    ///
    /// # Panics
    /// Never for a plan read from JSON: every value has a JSON form.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a plan holds only strings, integers and finite floats")
    }

    /// SHA-256 of the canonical JSON form, in lower-case hex: equal plans have equal hashes.
    #[must_use]
    pub fn hash(&self) -> String {
        hex(&Sha256::digest(self.to_json().as_bytes()))
    }

    /// Every call of the plan with its task's index: a call's number is its place in this list.
    pub fn calls(&self) -> impl Iterator<Item = (usize, &Step)> {
        let tasks = self.tasks.iter().enumerate();
        tasks.flat_map(|(index, task)| task.steps.iter().map(move |step| (index, step)))
    }

    /// What is kept beside the plan, large bodies, scripts, states and rows, sorted, each once.
    pub fn objects(&self) -> BTreeSet<&Object> {
        let bodies = self.calls().filter_map(|(_, step)| step.body.as_ref());
        let bodies = bodies.filter_map(|body| match body {
            Body::Object(object) => Some(object),
            Body::Text(_) | Body::Base64(_) => None,
        });
        let bundle = self.script.iter().map(|script| &script.bundle);
        let states = self.prepared().map(|prepared| &prepared.states);
        let rows = self.code.iter().filter_map(|code| code.rows.as_ref());
        bodies.chain(bundle).chain(states).chain(rows).collect()
    }

    /// The data that its scenario takes rows of.
    #[must_use]
    pub fn feeds(&self) -> &[Feed] {
        let script = self.script.as_ref().map(|script| &script.feeds);
        let feeds = script.or(self.code.as_ref().map(|code| &code.feeds));
        feeds.map_or(&[], Vec::as_slice)
    }

    /// What was prepared for its scenario before the run was asked for.
    #[must_use]
    pub fn prepared(&self) -> Option<&Prepared> {
        self.script.as_ref()?.prepared.as_ref()
    }

    /// How many users do what the tasks say, one arrival at a time each; `None` when tasks are
    /// steps, which need nobody.
    #[must_use]
    pub fn crew(&self) -> Option<u32> {
        let script = self.script.as_ref().map(|script| script.users);
        script.or(self.code.as_ref().map(|code| code.users))
    }

    /// Names of further request headers whose values are secret, in lower case.
    #[must_use]
    pub fn secret_headers(&self) -> &[String] {
        let script = self.script.as_ref().map(|script| &script.secret_headers);
        let names = script.or(self.code.as_ref().map(|code| &code.secret_headers));
        names.map_or(&[], Vec::as_slice)
    }

    /// The bytes of those objects together: what each agent fetches before the start.
    #[must_use]
    pub fn objects_bytes(&self) -> u64 {
        let sizes = self.objects().into_iter().map(|object| object.bytes);
        sizes.fold(0, u64::saturating_add)
    }

    /// The handles of all secrets that the plan needs, sorted, each once.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let headers = self.calls().flat_map(|(_, step)| &step.headers);
        let values = headers.map(|header| &header.value);
        let texts = values.chain(self.parameters.values());
        let in_texts = texts.filter_map(|text| match text {
            Text::Secret { secret } => Some(secret.clone()),
            Text::Literal(_) => None,
        });
        let identity = self.connections.tls.identity.as_ref();
        let key = identity.map(|identity| identity.key_secret.clone());
        let states = self.prepared().map(|prepared| prepared.key_secret.clone());
        let mut names: Vec<String> = in_texts.chain(key).chain(states).collect();
        names.sort();
        names.dedup();
        names
    }
}

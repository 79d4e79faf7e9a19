//! The plan that a scenario compiles to: data only, validated, named by the hash of its content,
//! versioned.
//!
//! A plan holds no secret: secret values are handles ([`Text::Secret`]). It does not assign work to
//! agents; decisions do.
//!
//! - [`target`]: origin and base path of a target
//! - [`connections`]: protocol, connections, addresses, TLS
//! - `method`: HTTP methods
//! - `object`: content stored outside of the plan
//! - `profile`: the offered rate, or the number of active users, over time
//! - `think_time`: think times of users
//! - `session`: lengths of their sessions
//! - [`requests`], [`request_row`]: requests in a file, which arrivals send in turn
//! - [`script`]: a scenario that runs in Python on the agents
//! - [`code`]: a scenario compiled to data, which any agent can play
//! - [`threshold`]: limits on measured figures
//! - [`user_types`]: the scenarios of a mix
//! - [`capability`]: capabilities that a run requires of its agents

pub mod capability;
pub mod code;
pub mod connections;
mod method;
mod object;
mod profile;
pub mod request_row;
pub mod requests;
pub mod script;
mod session;
pub mod target;
mod think_time;
pub mod threshold;
pub mod user_types;

pub use method::Method;
pub use object::{Object, hex};
pub use profile::{Curve, Piece, Profile, Shape, UserStage};
pub use session::SessionLength;
pub use think_time::Rest;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::defaults::is_default;
use crate::plan::code::Code;
use crate::plan::connections::Connections;
use crate::plan::requests::Requests;
use crate::plan::script::{Feed, Prepared, Script};
use crate::plan::threshold::Threshold;
use crate::plan::user_types::UserType;

/// The header of W3C Trace Context.
const TRACEPARENT: &str = "traceparent";

/// Version of the plan format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PlanSchema {
    /// The first version.
    #[serde(rename = "loadpilot.plan/1")]
    V1,
    /// The first version with the shapes `replay`, whose profile is a curve, `burst` and `sine`,
    /// with `user_stages`, with `types`, with `paired`, with `requests`, with `hold`, with
    /// `session`, and with think times of the exponential or lognormal distribution. A plan with
    /// none of them stays at the first version, so that readers of the first version read it.
    #[serde(rename = "loadpilot.plan/2")]
    V2,
}

/// What one run executes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of this format.
    pub schema: PlanSchema,
    /// Name of the scenario: its class name.
    pub scenario: String,
    /// Where the load goes: `http://host[:port][/path]`, or https, without a user. The paths of
    /// calls are relative to it.
    pub target: String,
    /// Offered rate over time; of a closed loop only its length, as one piece at rate 0.
    pub profile: Profile,
    /// Number of users of a closed loop. Each starts its next task when its last one ended, until
    /// the end of the profile. Absent: arrivals on schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<u32>,
    /// Number of active users of that closed loop over time; `users` is the maximum and the profile
    /// has the same length. User u, from 0 on, starts tasks while the number is at least u + 1.
    /// Absent: all users are active for the whole run. From the second version of the format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_stages: Option<Vec<UserStage>>,
    /// Think time of those users between two tasks. Absent: none, the next task starts at once; in
    /// a mix each type has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
    /// Length of the sessions of those users. Absent: each stays for the whole run; in a mix each
    /// type has its own. From the second version of the format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionLength>,
    /// Distribution of due times inside the profile.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Parameters that the scenario read when it was compiled, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Text>,
    /// Tags by which people distinguish runs; they change nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// User types of a mix. The weights of tasks then count among those of their type. Absent: all
    /// users are of one type. From the second version of the format.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<UserType>,
    /// Whether two targets are compared: the two types have the same tasks, and each has the target
    /// at its own position. Arrivals, or users, then come in pairs of one for each type, which draw
    /// the same task, feed rows and values. The profile has the arrivals of both.
    #[serde(default, skip_serializing_if = "is_default")]
    pub paired: bool,
    /// Tasks of the scenario; at least one.
    pub tasks: Vec<Task>,
    /// Length of the warm-up in µs after the start. Arrivals due in it are offered and counted, but
    /// left out of thresholds, percentiles, error rate and achieved rate.
    pub warm_up_us: u64,
    /// Timeout of a call for a complete response, in µs from dispatch.
    pub timeout_us: u64,
    /// Shorter timeouts for parts of a call.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timeouts: PhaseTimeouts,
    /// Maximum wait for a slot, in µs from due; then the arrival is dropped.
    pub max_wait_us: u64,
    /// Maximum lateness of the pacer, in µs from due; then the arrival is dropped.
    pub max_lateness_us: u64,
    /// Length of a tick of deltas and series in µs; ticks are counted from the start.
    pub tick_us: u64,
    /// Maximum number of arrivals in flight on one agent. Absent: the agent's own default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<u32>,
    /// Thresholds; without any, only the certificate can fail the run.
    #[serde(default)]
    pub thresholds: Vec<Threshold>,
    /// Gates that the run holds: the command that follows it changes the rate to the highest at
    /// which they hold. They do not judge the run. From the second version of the format.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hold: Vec<Threshold>,
    /// Request header that carries `<run>/<arrival>/<step>`. In a closed loop it carries
    /// `<run>/<user>.<generation>.<k>/<step>`, with k the number of tasks that the holder started
    /// for the user; with sessions `<k>.<session>`, with the number of the session in the user's
    /// place, from 0. The header `traceparent` carries W3C Trace Context instead, made of a hash of
    /// these: all calls of an arrival are one trace. Absent: no header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_header: Option<String>,
    /// Number of arrivals, or users, from the first on, whose debug exchanges the log stores.
    #[serde(default, skip_serializing_if = "is_default")]
    pub debug_requests: u32,
    /// Connection settings.
    #[serde(default, skip_serializing_if = "is_default")]
    pub connections: Connections,
    /// Share of calls, in millionths, that deltas also store as samples; the seed selects them.
    /// Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_ppm: Option<u32>,
    /// Scenario that runs in Python: its tasks have no steps. Absent: everything is compiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Script>,
    /// Scenario whose tasks examine responses and that agents play without Python: its tasks have
    /// code in place of steps. Absent: no code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// List of requests: each arrival performs one step of the only task, the one that its row
    /// names. Absent: it performs all steps. From the second version of the format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Requests>,
}

impl Plan {
    /// The user types, each with the indexes of its tasks; none without a mix.
    pub fn tasks_of_types(&self) -> impl Iterator<Item = (&UserType, Range<u16>)> {
        self.types.iter().scan(0_u16, |first, one| {
            let tasks = *first..first.saturating_add(one.tasks);
            *first = tasks.end;
            Some((one, tasks))
        })
    }

    /// Whether the header of ids is that of W3C Trace Context.
    #[must_use]
    pub fn has_trace_context(&self) -> bool {
        let name = self.id_header.as_deref();
        name.is_some_and(|name| name.eq_ignore_ascii_case(TRACEPARENT))
    }

    /// Whether users of any type leave when their session is over.
    #[must_use]
    pub fn has_sessions(&self) -> bool {
        self.session.is_some() || self.types.iter().any(|one| one.session.is_some())
    }

    /// The indexes of the tasks that a gate names: of a task, or of all tasks of a user type.
    #[must_use]
    pub fn tasks_named(&self, name: &str) -> Option<Range<u16>> {
        let mut tasks = self.tasks.iter();
        if let Some(place) = tasks.position(|task| task.name == name) {
            let place = u16::try_from(place).unwrap_or(u16::MAX);
            return Some(place..place.saturating_add(1));
        }
        let mut types = self.tasks_of_types();
        types.find_map(|(one, tasks)| (one.name == name).then_some(tasks))
    }

    /// The first task of the second target, where two targets are compared.
    #[must_use]
    pub fn second_from(&self) -> Option<u16> {
        let first = self.types.first().filter(|_| self.paired);
        first.map(|first| first.tasks)
    }

    /// The targets that arrivals of a task take in turn: all, unless two are compared.
    pub fn targets_of_task(&self, task: u16) -> impl Iterator<Item = &str> {
        let own = self.second_from();
        let own = own.map(|second| usize::from(task >= second));
        let targets = self.targets().enumerate();
        let targets = targets.filter(move |(place, _)| own.is_none_or(|own| own == *place));
        targets.map(|(_, target)| target)
    }

    /// All targets, at least one, in the order in which arrivals take them.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        let others = self.connections.other_targets.iter().map(String::as_str);
        std::iter::once(self.target.as_str()).chain(others)
    }
}

/// Distribution of due times inside the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Evenly: arrival n is due where the integral of the rate reaches n.
    #[default]
    Uniform,
    /// Seeded random points, sorted, in blocks of 1,024 of the integral.
    Poisson,
}

/// What one arrival does: a sequence of steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Name, unique in the plan.
    pub name: String,
    /// Share of the task: its weight out of the sum of all weights, in a mix of those of its type;
    /// at least 1.
    pub weight: u32,
    /// Calls in order; at least one, except in a scenario with a script or code.
    pub steps: Vec<Step>,
}

/// One HTTP exchange of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Name in reports, `GET /api/user` unless renamed.
    pub name: String,
    /// HTTP method.
    pub method: Method,
    /// Path with query, starting with `/`.
    pub path: String,
    /// Index of its target, the plan's own first; only with `requests`. Absent: the target whose
    /// turn it is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub target: u16,
    /// Headers, sent in this order after Host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<Header>,
    /// Request body. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// Timeout of this call in µs. Absent: the plan's timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_us: Option<u64>,
    /// What counts as a token of a streamed response. Absent: the response is not streamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<Stream>,
    /// Maximum number of tokens of a streamed response; then the client disconnects, and the
    /// response counts as complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u32>,
    /// Maximum time of a streamed response, in µs from dispatch; then the client disconnects, and a
    /// response that has begun counts as complete. Less than the call's timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen_us: Option<u64>,
}

/// What counts as a token of a streamed response.
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

/// Timeouts of parts of a call; the call's own timeout ends each part, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PhaseTimeouts {
    /// Timeout of a connection in µs, from name resolution to the end of the TLS handshake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_us: Option<u64>,
    /// Timeout of the first byte of a response, in µs after the request was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_us: Option<u64>,
}

/// One request header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Header field name (RFC 9110 token).
    pub name: String,
    /// Header value.
    pub value: Text,
}

/// Text of a request or a parameter: a literal, or the handle of a secret that only agents resolve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Text {
    /// The text itself.
    Literal(String),
    /// Secret that the submitter provided.
    Secret {
        /// Handle of the secret.
        secret: String,
    },
}

/// Request body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Body {
    /// UTF-8 text.
    Text(String),
    /// Bytes in standard base64 with padding.
    Base64(String),
    /// Bytes too large for a plan: stored once in the object store, under their hash.
    Object(Object),
}

impl Plan {
    /// Canonical JSON form: fields in the order of this file.
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

    /// Every call of the plan with the index of its task: a call's number is its index in this
    /// list.
    pub fn calls(&self) -> impl Iterator<Item = (usize, &Step)> {
        let tasks = self.tasks.iter().enumerate();
        tasks.flat_map(|(index, task)| task.steps.iter().map(move |step| (index, step)))
    }

    /// Maximum number of steps that one arrival performs.
    #[must_use]
    pub fn steps_per_arrival(&self) -> usize {
        let steps = self.tasks.iter().map(|task| task.steps.len()).max();
        let most = steps.unwrap_or(0);
        match self.requests {
            Some(_) => most.min(1),
            None => most,
        }
    }

    /// Content stored outside of the plan, sorted, without duplicates: large bodies, scripts,
    /// states and feed rows.
    pub fn objects(&self) -> BTreeSet<&Object> {
        let bodies = self.calls().filter_map(|(_, step)| step.body.as_ref());
        let bodies = bodies.filter_map(|body| match body {
            Body::Object(object) => Some(object),
            Body::Text(_) | Body::Base64(_) => None,
        });
        let bundle = self.script.iter().map(|script| &script.bundle);
        let states = self.prepared().map(|prepared| &prepared.states);
        let rows = self.code.iter().filter_map(|code| code.rows.as_ref());
        let files = self.row_files().filter(|file| file.is_stored());
        let files = files.map(|file| &file.content);
        let beside = bundle.chain(states).chain(rows).chain(files);
        bodies.chain(beside).collect()
    }

    /// Files that agents read rows from.
    pub fn row_files(&self) -> impl Iterator<Item = &script::RowFile> {
        self.feeds().iter().filter_map(|feed| feed.file.as_ref())
    }

    /// Feeds of the scenario.
    #[must_use]
    pub fn feeds(&self) -> &[Feed] {
        if let Some(requests) = &self.requests {
            return std::slice::from_ref(&requests.rows);
        }
        let script = self.script.as_ref().map(|script| &script.feeds);
        let feeds = script.or(self.code.as_ref().map(|code| &code.feeds));
        feeds.map_or(&[], Vec::as_slice)
    }

    /// State that was prepared for the scenario before the run was requested.
    #[must_use]
    pub fn prepared(&self) -> Option<&Prepared> {
        self.script.as_ref()?.prepared.as_ref()
    }

    /// Number of users that play the tasks, each with one arrival at a time; `None` when tasks are
    /// steps, which need no user.
    #[must_use]
    pub fn scenario_users(&self) -> Option<u32> {
        let script = self.script.as_ref().map(|script| script.users);
        script.or(self.code.as_ref().map(|code| code.users))
    }

    /// Names of further request headers with secret values, in lower case.
    #[must_use]
    pub fn secret_headers(&self) -> &[String] {
        let script = self.script.as_ref().map(|script| &script.secret_headers);
        let names = script.or(self.code.as_ref().map(|code| &code.secret_headers));
        names.map_or(&[], Vec::as_slice)
    }

    /// Size of those objects together, in bytes: what each agent fetches before the start.
    #[must_use]
    pub fn objects_bytes(&self) -> u64 {
        let sizes = self.objects().into_iter().map(|object| object.bytes);
        sizes.fold(0, u64::saturating_add)
    }

    /// Handles of all secrets that the plan needs, sorted, without duplicates.
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
        let proxy = self.connections.proxy.as_ref();
        let login = proxy.and_then(|proxy| proxy.credentials_secret.clone());
        let states = self.prepared().map(|prepared| prepared.key_secret.clone());
        let rows = self.requests.iter().flat_map(|requests| &requests.secrets);
        let others = key.into_iter().chain(login).chain(states);
        let mut names: Vec<String> = in_texts.chain(others).chain(rows.cloned()).collect();
        names.sort();
        names.dedup();
        names
    }
}

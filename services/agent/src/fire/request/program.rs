//! The plan compiled for firing: the bytes of one request per call, secrets filled in.
//!
//! Compiled once, before the start. Must never print a secret: bytes are not shown, and a fault
//! contains the name of a header and never its value.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::uri::{PathAndQuery, Scheme};
use loadpilot_engine::check::is_secret_name;
use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_events::id::RunId;
use loadpilot_events::plan::connections::{Connections, Http};
use loadpilot_events::plan::target;
use loadpilot_events::plan::{self, Header, PhaseTimeouts, Plan, Step, Text};

use super::debug_exchange;
use super::redaction::Redactor;
use super::request_rows::request_list::RequestList;
use super::target::{Role, Target};
use super::template::{Http1Request, Http2Request, RedirectParts, RequestParts, body_content};
use crate::fire::arrival_id::ArrivalId;
use crate::fire::fault::Fault;

/// The default User-Agent, without the run.
const PRODUCT: &str = concat!("loadpilot/", env!("CARGO_PKG_VERSION"));

/// The bodies of a plan by their hash; each is in memory once, however many calls send it.
pub type Bodies = BTreeMap<String, Bytes>;

/// Request templates of all tasks of a plan, and their targets.
#[derive(Debug)]
pub struct Program {
    /// The targets, at least one, in the order in which arrivals take them; then the origins that
    /// redirects may lead to.
    pub(crate) targets: Vec<Target>,
    /// Which addresses its connections may lead to.
    pub(crate) policy: TargetPolicy,
    pub(crate) connections: Connections,
    pub(crate) timeouts: PhaseTimeouts,
    /// Calls by target, task and step.
    pub(crate) tasks: Vec<Vec<Vec<Call>>>,
    /// If two targets are compared: the first task of the second one.
    second_from: Option<u16>,
    /// Defaults that requests composed during the run also need.
    pub(crate) defaults: RequestDefaults,
    /// Whether requests carry an id.
    pub(crate) has_ids: bool,
    /// Whether those ids have the form of W3C Trace Context.
    pub(crate) has_trace_context: bool,
    /// Number of arrivals whose exchanges are reported as text.
    pub(crate) debug_requests: u64,
    /// Masks secrets in those texts.
    pub(crate) redactor: Redactor,
    /// Requests that the plan lists in a file; arrivals then perform no other calls.
    pub(crate) requests: Option<RequestList>,
}

/// Properties that all requests of a plan share.
#[derive(Debug)]
pub(crate) struct RequestDefaults {
    /// By target; the origins that redirects may lead to have a role of their own.
    origins: Vec<Origin>,
    agent: HeaderValue,
    id_header: Option<(String, HeaderName)>,
    http: Http,
    /// Time-out of a call without one of its own, in µs.
    pub(crate) timeout_us: u64,
    /// Further headers whose values are secret, in lower case.
    secret_headers: Vec<String>,
}

/// Properties that all requests to one target share.
#[derive(Debug)]
struct Origin {
    host: HeaderValue,
    /// Base path of the target; may be empty.
    base: String,
    scheme: Scheme,
    /// Present where redirects may lead to it from another origin.
    redirect_origin: Option<url::Origin>,
}

/// One call, complete but for its id.
pub(crate) struct Call {
    /// Index of its target.
    pub target: u16,
    /// Place in the plan's list of calls.
    pub number: u16,
    /// Time-out in µs from dispatch; covers everything up to the last byte of the answer.
    pub timeout_us: u64,
    /// How the answer is split into tokens, when it is a stream.
    pub stream: Option<plan::Stream>,
    /// Number of tokens after which the client hangs up.
    pub tokens_max: Option<u32>,
    /// Time from dispatch after which the client hangs up if the answer has begun, in µs.
    pub listen_us: Option<u64>,
    /// Lines of its request without secrets; empty unless exchanges are reported.
    pub debug_lines: Vec<String>,
    /// Length of its body.
    pub body_bytes: u64,
    pub(crate) method: plan::Method,
    pub(crate) http1: Http1Request,
    /// Present when the plan may use HTTP/2.
    pub(crate) http2: Option<Http2Request>,
    /// Present when it follows redirects.
    pub(crate) redirects: Option<Box<RedirectParts>>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The bytes may hold a secret.
        write!(f, "Call({})", self.number)
    }
}

impl Call {
    /// The request for HTTP/1.1.
    pub(crate) fn http1(&self) -> &Http1Request {
        &self.http1
    }

    /// The request for HTTP/2.
    ///
    /// # Panics
    /// The plan does not use HTTP/2.
    pub(crate) fn http2(&self) -> &Http2Request {
        self.http2.as_ref().expect("compiled for HTTP/2")
    }

    pub(crate) fn is_head(&self) -> bool {
        self.method == plan::Method::Head
    }

    /// Whether the method is idempotent (RFC 9110, section 9.2.2).
    pub(crate) fn is_idempotent(&self) -> bool {
        !matches!(self.method, plan::Method::Post | plan::Method::Patch)
    }
}

impl Program {
    /// The plan's time-out of a call, in µs.
    pub(crate) fn timeout_us(&self) -> u64 {
        self.defaults.timeout_us
    }

    /// Compiles a checked plan without external bodies, for one run on the user's own machine.
    /// `secrets` holds a value for each of its handles.
    ///
    /// # Errors
    /// A [`Fault`]: a part of the plan cannot be sent as it stands, a handle has no value, this
    /// machine has no certificate roots for https, or the address or socket of the target is
    /// closed.
    pub fn compile(
        plan: &Plan,
        run: &RunId,
        secrets: &BTreeMap<String, String>,
    ) -> Result<Self, Fault> {
        let policy = TargetPolicy::local().with_proxies();
        Self::compile_with(plan, run, secrets, &Bodies::new(), policy)
    }

    /// Compiles any checked plan. `bodies` holds the bytes of each external body, and `policy`
    /// determines the addresses that its connections may lead to.
    ///
    /// # Errors
    /// As [`Program::compile`], and when the bytes of a body are absent.
    pub fn compile_with(
        plan: &Plan,
        run: &RunId,
        secrets: &BTreeMap<String, String>,
        bodies: &Bodies,
        policy: TargetPolicy,
    ) -> Result<Self, Fault> {
        let places: Vec<(Role, &str)> = places(plan).collect();
        let targets = places.iter().map(|&place| Target::of(place, plan, secrets));
        let targets: Vec<Target> = targets.collect::<Result<_, _>>()?;
        let origin = |(&(role, url), target): (&(Role, &str), &Target)| Origin {
            redirect_origin: (role == Role::RedirectOrigin)
                .then(|| url::Url::parse(url).ok())
                .flatten()
                .map(|url| url.origin()),
            host: target.authority.clone(),
            base: target::split(url).1.to_owned(),
            scheme: match url.starts_with("https:") {
                true => Scheme::HTTPS,
                false => Scheme::HTTP,
            },
        };
        let origins = places.iter().zip(&targets).map(origin).collect();
        policy.judge_proxy(plan).map_err(Fault::NotAllowed)?;
        policy.judge_plan(plan).map_err(Fault::NotAllowed)?;
        let id_header = plan.id_header.clone();
        let id_header = id_header.map(|name| Ok((name.clone(), header_name("id_header", &name)?)));
        let defaults = RequestDefaults {
            origins,
            agent: HeaderValue::try_from(format!("{PRODUCT} (run {run})"))
                .expect("a run id is letters and digits"),
            id_header: id_header.transpose()?,
            http: plan.connections.http,
            timeout_us: plan.timeout_us,
            secret_headers: plan.secret_headers().to_vec(),
        };
        let redactor = Redactor::new(secrets.values());
        let compiler = Compiler {
            defaults: &defaults,
            secrets,
            bodies,
            redactor: &redactor,
            follows: plan.connections.redirects_max.is_some(),
            is_debugged: plan.debug_requests > 0,
        };
        let tasks = (0_u16..)
            .zip(plan.targets())
            .map(|(place, _)| compiler.tasks(plan, place));
        let tasks = tasks.collect::<Result<_, _>>()?;
        Ok(Self {
            targets,
            policy,
            connections: plan.connections.clone(),
            timeouts: plan.timeouts,
            tasks,
            second_from: plan.second_from(),
            has_ids: defaults.id_header.is_some(),
            has_trace_context: plan.has_trace_context(),
            defaults,
            debug_requests: plan.debug_requests.into(),
            redactor,
            requests: RequestList::of(plan, secrets, bodies),
        })
    }
}

/// The targets of a plan, then the origins that redirects may lead to.
fn places(plan: &Plan) -> impl Iterator<Item = (Role, &str)> {
    let origins = plan.connections.redirect_origins.iter();
    let origins = origins.map(|origin| (Role::RedirectOrigin, origin.as_str()));
    plan.targets().map(|url| (Role::Target, url)).chain(origins)
}

impl Program {
    /// Maximum number of redirects that a call of a step follows.
    pub(crate) fn redirects_max(&self) -> u32 {
        self.connections.redirects_max.unwrap_or(0)
    }

    /// Index of the target of a task: the first, unless two are compared.
    pub(crate) fn target_of_task(&self, task: u16) -> u16 {
        u16::from(self.second_from.is_some_and(|second| task >= second))
    }

    /// Index of the target of a user type: the first, unless two are compared.
    pub(crate) fn target_of_type(&self, number: impl FnOnce() -> usize) -> u16 {
        let number = self.second_from.map_or(0, |_| number());
        u16::try_from(number).unwrap_or(u16::MAX)
    }

    /// The calls of an arrival's task: to the task's target, or to the next one in turn.
    pub(crate) fn calls(&self, id: ArrivalId, task: u16) -> &[Call] {
        let (user, number) = id.user_and_number();
        let target = match self.second_from {
            None => target::turn(user, number, self.tasks.len()),
            Some(_) => self.target_of_task(task).into(),
        };
        &self.tasks[target][usize::from(task)]
    }
}

/// Header lines: the name as the scenario wrote it, the name, the value.
pub(crate) type HeaderLines<'a> = Vec<(&'a str, HeaderName, HeaderValue)>;

/// Why a request cannot be composed.
pub(crate) struct InvalidHeaders {
    /// Index of the header; `None` if the fault is in all of them together.
    pub(crate) header: Option<usize>,
    /// The rule that must hold.
    pub(crate) rule: &'static str,
}

impl RequestDefaults {
    /// Whether the value under a name is secret, by its name or by the scenario's settings.
    pub(crate) fn is_secret(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        is_secret_name(&name) || self.secret_headers.contains(&name)
    }

    /// Index and Host of an origin that redirects may lead to.
    pub(crate) fn redirect_origin(&self, wanted: &url::Origin) -> Option<(u16, &HeaderValue)> {
        let mut origins = (0_u16..).zip(&self.origins);
        let found = origins.find(|(_, origin)| origin.redirect_origin.as_ref() == Some(wanted));
        found.map(|(place, origin)| (place, &origin.host))
    }

    /// Path on the wire for a path relative to the target with this index.
    pub(crate) fn full_path(&self, target: u16, path: &str) -> String {
        target::full_path(&self.origins[usize::from(target)].base, path)
    }

    /// Composes a request to the target with this index: the defaults that the scenario does not
    /// set, then the scenario's headers in their order, then the length.
    pub(crate) fn parts<'a>(
        &'a self,
        target: u16,
        (method, path): (plan::Method, PathAndQuery),
        headers: HeaderLines<'a>,
        body: Option<Bytes>,
    ) -> Result<RequestParts<'a>, InvalidHeaders> {
        let body_bytes = body.as_ref().map_or(0, Bytes::len);
        let origin = &self.origins[usize::from(target)];
        let mut host = origin.host.clone();
        let mut lines = vec![("User-Agent", header::USER_AGENT, self.agent.clone())];
        for (place, (as_written, name, value)) in headers.into_iter().enumerate() {
            let invalid = |rule| {
                Err(InvalidHeaders {
                    header: Some(place),
                    rule,
                })
            };
            match name {
                header::TRANSFER_ENCODING => {
                    return invalid("left out: the engine frames bodies itself");
                }
                header::CONTENT_LENGTH if value != *body_bytes.to_string() => {
                    return invalid("equal to the length of the body, or left out");
                }
                header::CONTENT_LENGTH => {}
                header::HOST => host = value,
                _ if self.id_header.as_ref().is_some_and(|(_, id)| *id == name) => {}
                _ => lines.push((as_written, name, value)),
            }
        }
        if lines[1..]
            .iter()
            .any(|(_, name, _)| name == header::USER_AGENT)
        {
            lines.remove(0);
        }
        // RFC 9110, 8.6: methods that define content state the length even when it is 0.
        let defines_content = matches!(
            method,
            plan::Method::Post | plan::Method::Put | plan::Method::Patch
        );
        if body.is_some() || defines_content {
            let length = HeaderValue::from(body_bytes);
            lines.push(("Content-Length", header::CONTENT_LENGTH, length));
        }
        Ok(RequestParts {
            method: method.name(),
            scheme: origin.scheme.clone(),
            path,
            host,
            lines,
            id_header: self.id_header(),
            body: body.unwrap_or_default(),
        })
    }

    /// The header of the id: the name as the plan has it, and the name.
    pub(crate) fn id_header(&self) -> Option<(&str, HeaderName)> {
        let id_header = self.id_header.as_ref();
        id_header.map(|(as_written, name)| (as_written.as_str(), name.clone()))
    }

    /// The request in each protocol that may be used.
    pub(crate) fn forms(
        &self,
        parts: &RequestParts<'_>,
    ) -> Result<(Http1Request, Option<Http2Request>), InvalidHeaders> {
        let invalid = InvalidHeaders {
            header: None,
            rule: "free of headers about the connection, which HTTP/2 does not have",
        };
        let http2 = match self.http {
            Http::V1 => None,
            Http::V2 | Http::Auto => {
                let form = Http2Request::new(parts);
                Some(form.ok_or(invalid)?)
            }
        };
        Ok((Http1Request::new(parts), http2))
    }
}

/// Turns the steps of a plan into templates.
pub(super) struct Compiler<'a> {
    pub(super) defaults: &'a RequestDefaults,
    pub(super) secrets: &'a BTreeMap<String, String>,
    pub(super) bodies: &'a Bodies,
    pub(super) redactor: &'a Redactor,
    /// Whether calls follow redirects.
    pub(super) follows: bool,
    /// Whether exchanges are reported as text.
    pub(super) is_debugged: bool,
}

impl Compiler<'_> {
    /// The calls of all tasks to the target with this index.
    fn tasks(&self, plan: &Plan, target: u16) -> Result<Vec<Vec<Call>>, Fault> {
        let mut numbers = 0_u16..;
        let tasks = plan.tasks.iter().enumerate().map(|(t, task)| {
            let steps = task.steps.iter().enumerate().zip(&mut numbers);
            let calls = steps.map(|((s, step), number)| {
                self.call(step, target, number, &format!("tasks[{t}].steps[{s}]"))
            });
            calls.collect()
        });
        tasks.collect()
    }

    pub(super) fn call(
        &self,
        step: &Step,
        target: u16,
        number: u16,
        field: &str,
    ) -> Result<Call, Fault> {
        let full = self.defaults.full_path(target, &step.path);
        let path = PathAndQuery::try_from(full.as_str())
            .ok()
            .filter(|path| path.as_str() == full && step.path.starts_with('/'));
        let path =
            path.ok_or_else(|| Fault::unsendable(&format!("{field}.path"), "a request path"))?;
        let body = match &step.body {
            None => None,
            Some(content) => Some(body_content(content, self.bodies, field)?),
        };
        let mut lines = HeaderLines::with_capacity(step.headers.len());
        for (h, header) in step.headers.iter().enumerate() {
            let field = format!("{field}.headers[{h}]");
            let name = header_name(&field, &header.name)?;
            let value = header_value(header, &field, self.secrets)?;
            lines.push((header.name.as_str(), name, value));
        }
        let unsendable = |why: InvalidHeaders| {
            let place = why.header.map_or(String::new(), |h| format!("[{h}]"));
            Fault::unsendable(&format!("{field}.headers{place}"), why.rule)
        };
        let defaults = self.defaults;
        let parts = defaults.parts(target, (step.method, path), lines, body);
        let parts = parts.map_err(unsendable)?;
        let (http1, http2) = defaults.forms(&parts).map_err(unsendable)?;
        let body_bytes = parts.body.len() as u64;
        let is_secret = |name: &str| {
            let header = step.headers.iter().find(|header| header.name == *name);
            let is_handle = |header: &Header| matches!(header.value, Text::Secret { .. });
            defaults.is_secret(name) || header.is_some_and(is_handle)
        };
        let redirects = self
            .follows
            .then(|| Box::new(RedirectParts::new(step.method, &parts, is_secret)));
        let debug_lines = match self.is_debugged {
            true => debug_lines(step, &parts, self.redactor),
            false => Vec::new(),
        };
        Ok(Call {
            target,
            number,
            stream: step.stream,
            tokens_max: step.tokens_max,
            listen_us: step.listen_us,
            debug_lines,
            body_bytes,
            timeout_us: step.timeout_us.unwrap_or(defaults.timeout_us),
            method: step.method,
            http1,
            http2,
            redirects,
        })
    }
}

/// The text of a step's request.
fn debug_lines(step: &Step, parts: &RequestParts<'_>, redactor: &Redactor) -> Vec<String> {
    debug_exchange::request_lines(parts, redactor, |name| {
        let header = step.headers.iter().find(|header| header.name == *name);
        header.is_some_and(|header| matches!(header.value, Text::Secret { .. }))
    })
}

fn header_name(field: &str, name: &str) -> Result<HeaderName, Fault> {
    HeaderName::try_from(name).map_err(|_| Fault::unsendable(field, "a header name"))
}

fn header_value(
    header: &Header,
    field: &str,
    secrets: &BTreeMap<String, String>,
) -> Result<HeaderValue, Fault> {
    let text = match &header.value {
        Text::Literal(text) => text,
        Text::Secret { secret } => secrets
            .get(secret)
            .ok_or_else(|| Fault::NoSecret(secret.clone()))?,
    };
    HeaderValue::try_from(text.as_bytes())
        .map_err(|_| Fault::unsendable(field, "a legal header value"))
}

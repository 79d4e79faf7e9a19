//! The plan compiled for firing: the bytes of one request per call, secrets filled in.
//!
//! Compiled once, before the start. Must never print a secret: bytes are not shown, and a fault
//! names the header and never its value.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::uri::{PathAndQuery, Scheme};
use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_events::id::RunId;
use loadpilot_events::plan::connections::{Connections, Http};
use loadpilot_events::plan::target;
use loadpilot_events::plan::{self, Body, Header, PhaseTimeouts, Plan, Step, Text};

use super::debug_exchange;
use super::redaction::Masks;
use super::target::Target;
use super::template::{Http1Request, Http2Request, Wording};
use crate::fire::fault::Fault;
use crate::runs::bodies::Bodies;

/// What the default User-Agent says before the run.
const PRODUCT: &str = concat!("loadpilot/", env!("CARGO_PKG_VERSION"));

/// Request templates of all tasks of a plan, and where they go.
#[derive(Debug)]
pub struct Program {
    pub(crate) target: Target,
    /// Where its connections may lead to.
    pub(crate) policy: TargetPolicy,
    pub(crate) connections: Connections,
    pub(crate) timeouts: PhaseTimeouts,
    pub(crate) tasks: Vec<Vec<Call>>,
    /// How requests are worded that are not known before the start, too.
    pub(crate) manner: Manner,
    /// Whether requests carry an id.
    pub(crate) has_ids: bool,
    /// The exchanges of so many arrivals are written out.
    pub(crate) debug_requests: u64,
    /// What must not be seen in them.
    pub(crate) masks: Masks,
}

/// What the requests of a plan have in common.
#[derive(Debug)]
pub(crate) struct Manner {
    host: HeaderValue,
    /// The base path of the target, which may be empty.
    pub(crate) base: String,
    agent: HeaderValue,
    id_header: Option<(String, HeaderName)>,
    http: Http,
    scheme: Scheme,
    /// A call's, unless it has its own; in µs.
    pub(crate) timeout_us: u64,
    /// Further headers whose values are secret, in lower case.
    pub(crate) secret_headers: Vec<String>,
}

/// One call, ready but for its id.
pub(crate) struct Call {
    /// Its place in the plan's list of calls.
    pub number: u16,
    /// In µs, counted from dispatch; covers everything up to the last byte of the answer.
    pub timeout_us: u64,
    /// What the tokens of its answer are, when it is a stream.
    pub stream: Option<plan::Stream>,
    /// After so many of them the client hangs up.
    pub tokens_max: Option<u32>,
    /// It hangs up so many µs after dispatch, if the answer has begun.
    pub listen_us: Option<u64>,
    /// The lines of its request without secrets, when exchanges are written out.
    pub shown: Vec<String>,
    /// Of its body.
    pub body_bytes: u64,
    pub(crate) method: plan::Method,
    pub(crate) http1: Http1Request,
    /// Present when the plan may speak HTTP/2.
    pub(crate) http2: Option<Http2Request>,
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
    /// When the plan does not speak it.
    pub(crate) fn http2(&self) -> &Http2Request {
        self.http2.as_ref().expect("compiled for HTTP/2")
    }

    pub(crate) fn is_head(&self) -> bool {
        self.method == plan::Method::Head
    }

    /// Whether sending it twice does what sending it once does (RFC 9110, section 9.2.2).
    pub(crate) fn is_idempotent(&self) -> bool {
        !matches!(self.method, plan::Method::Post | plan::Method::Patch)
    }
}

impl Program {
    /// The plan's time-out of a call, in µs.
    pub(crate) fn timeout_us(&self) -> u64 {
        self.manner.timeout_us
    }

    /// Compiles a plan that has been checked and keeps no body beside itself, for one run on the
    /// user's own machine; `secrets` holds a value for each of its handles.
    ///
    /// # Errors
    /// A [`Fault`] that names the part of the plan which cannot be sent as it stands, or the
    /// handle that has no value, or that this machine has no certificate roots for https; or that
    /// the address or socket of the target is closed.
    pub fn compile(
        plan: &Plan,
        run: &RunId,
        secrets: &BTreeMap<String, String>,
    ) -> Result<Self, Fault> {
        Self::compile_with(plan, run, secrets, &Bodies::new(), TargetPolicy::local())
    }

    /// The same of any plan; `bodies` holds the bytes of each body that is kept beside it, and
    /// `policy` says where its connections may lead to.
    ///
    /// # Errors
    /// As [`Program::compile`], and that there are no bytes for a body.
    pub fn compile_with(
        plan: &Plan,
        run: &RunId,
        secrets: &BTreeMap<String, String>,
        bodies: &Bodies,
        policy: TargetPolicy,
    ) -> Result<Self, Fault> {
        let connected = Target::of(plan, secrets)?;
        policy.judge_plan(plan).map_err(Fault::NotAllowed)?;
        let id_header = plan.id_header.clone();
        let id_header = id_header.map(|name| Ok((name.clone(), header_name("id_header", &name)?)));
        let compiler = Compiler {
            plan,
            manner: Manner {
                host: connected.authority.clone(),
                base: target::split(&plan.target).1.to_owned(),
                agent: HeaderValue::try_from(format!("{PRODUCT} (run {run})"))
                    .expect("a run id is letters and digits"),
                id_header: id_header.transpose()?,
                http: plan.connections.http,
                scheme: match plan.target.starts_with("https:") {
                    true => Scheme::HTTPS,
                    false => Scheme::HTTP,
                },
                timeout_us: plan.timeout_us,
                secret_headers: plan.secret_headers().to_vec(),
            },
            secrets,
            bodies,
            masks: Masks::new(secrets.values()),
        };
        let mut number = 0_u16;
        let mut tasks = Vec::with_capacity(plan.tasks.len());
        for (t, task) in plan.tasks.iter().enumerate() {
            let mut calls = Vec::with_capacity(task.steps.len());
            for (s, step) in task.steps.iter().enumerate() {
                let field = format!("tasks[{t}].steps[{s}]");
                calls.push(compiler.call(step, number, &field)?);
                number += 1;
            }
            tasks.push(calls);
        }
        Ok(Self {
            target: connected,
            policy,
            connections: plan.connections.clone(),
            timeouts: plan.timeouts,
            tasks,
            has_ids: compiler.manner.id_header.is_some(),
            manner: compiler.manner,
            debug_requests: plan.debug_requests.into(),
            masks: compiler.masks,
        })
    }
}

/// Header lines: the name as the scenario wrote it, the name, the value.
pub(crate) type Lines<'a> = Vec<(&'a str, HeaderName, HeaderValue)>;

/// Why a request cannot be worded.
pub(crate) struct Unwordable {
    /// Which of its headers; `None`: all of them together.
    pub(crate) header: Option<usize>,
    /// What must hold.
    pub(crate) rule: &'static str,
}

impl Manner {
    /// A request: the scenario's headers in their order, after the defaults that it left out,
    /// before the length.
    pub(crate) fn wording<'a>(
        &'a self,
        method: plan::Method,
        path: PathAndQuery,
        given: Lines<'a>,
        body: Option<Bytes>,
    ) -> Result<Wording<'a>, Unwordable> {
        let body_bytes = body.as_ref().map_or(0, Bytes::len);
        let mut host = self.host.clone();
        let mut lines = vec![("User-Agent", header::USER_AGENT, self.agent.clone())];
        for (place, (shown, name, value)) in given.into_iter().enumerate() {
            let unwordable = |rule| {
                Err(Unwordable {
                    header: Some(place),
                    rule,
                })
            };
            match name {
                header::TRANSFER_ENCODING => {
                    return unwordable("left out: the engine frames bodies itself");
                }
                header::CONTENT_LENGTH if value != *body_bytes.to_string() => {
                    return unwordable("equal to the length of the body, or left out");
                }
                header::CONTENT_LENGTH => {}
                header::HOST => host = value,
                _ if self.id_header.as_ref().is_some_and(|(_, id)| *id == name) => {}
                _ => lines.push((shown, name, value)),
            }
        }
        if lines[1..]
            .iter()
            .any(|(_, name, _)| name == header::USER_AGENT)
        {
            lines.remove(0);
        }
        // RFC 9110, 8.6: methods that define content say the length even when it is 0.
        let defines_content = matches!(
            method,
            plan::Method::Post | plan::Method::Put | plan::Method::Patch
        );
        if body.is_some() || defines_content {
            let length = HeaderValue::from(body_bytes);
            lines.push(("Content-Length", header::CONTENT_LENGTH, length));
        }
        let id_header = self.id_header.as_ref();
        Ok(Wording {
            method: method.name(),
            path,
            host,
            lines,
            id_header: id_header.map(|(shown, name)| (shown.as_str(), name.clone())),
            body: body.unwrap_or_default(),
        })
    }

    /// The forms of a request in the protocols that may be spoken.
    pub(crate) fn forms(
        &self,
        wording: &Wording<'_>,
    ) -> Result<(Http1Request, Option<Http2Request>), Unwordable> {
        let unwordable = Unwordable {
            header: None,
            rule: "free of headers about the connection, which HTTP/2 does not have",
        };
        let http2 = match self.http {
            Http::V1 => None,
            Http::V2 | Http::Auto => {
                let form = Http2Request::new(wording, self.scheme.clone());
                Some(form.ok_or(unwordable)?)
            }
        };
        Ok((Http1Request::new(wording), http2))
    }
}

/// Turns the steps of a plan into templates.
struct Compiler<'a> {
    plan: &'a Plan,
    manner: Manner,
    secrets: &'a BTreeMap<String, String>,
    bodies: &'a Bodies,
    masks: Masks,
}

impl Compiler<'_> {
    fn call(&self, step: &Step, number: u16, field: &str) -> Result<Call, Fault> {
        let full = target::full_path(&self.manner.base, &step.path);
        let path = PathAndQuery::try_from(full.as_str())
            .ok()
            .filter(|path| path.as_str() == full && step.path.starts_with('/'));
        let path =
            path.ok_or_else(|| Fault::unsendable(&format!("{field}.path"), "a request path"))?;
        let body = match &step.body {
            None => None,
            Some(given) => Some(body(given, self.bodies, field)?),
        };
        let mut lines = Lines::with_capacity(step.headers.len());
        for (h, given) in step.headers.iter().enumerate() {
            let field = format!("{field}.headers[{h}]");
            let name = header_name(&field, &given.name)?;
            let value = header_value(given, &field, self.secrets)?;
            lines.push((given.name.as_str(), name, value));
        }
        let unsendable = |why: Unwordable| {
            let place = why.header.map_or(String::new(), |h| format!("[{h}]"));
            Fault::unsendable(&format!("{field}.headers{place}"), why.rule)
        };
        let manner = &self.manner;
        let wording = manner.wording(step.method, path, lines, body);
        let wording = wording.map_err(unsendable)?;
        let (http1, http2) = manner.forms(&wording).map_err(unsendable)?;
        let body_bytes = wording.body.len() as u64;
        let shown = match self.plan.debug_requests {
            0 => Vec::new(),
            _ => shown(step, &wording, &self.masks),
        };
        Ok(Call {
            number,
            stream: step.stream,
            tokens_max: step.tokens_max,
            listen_us: step.listen_us,
            shown,
            body_bytes,
            timeout_us: step.timeout_us.unwrap_or(manner.timeout_us),
            method: step.method,
            http1,
            http2,
        })
    }
}

/// A step's request as it is written out.
fn shown(step: &Step, wording: &Wording<'_>, masks: &Masks) -> Vec<String> {
    debug_exchange::request_lines(wording, masks, |name| {
        let given = step.headers.iter().find(|given| given.name == *name);
        given.is_some_and(|given| matches!(given.value, Text::Secret { .. }))
    })
}

fn header_name(field: &str, name: &str) -> Result<HeaderName, Fault> {
    HeaderName::try_from(name).map_err(|_| Fault::unsendable(field, "a header name"))
}

fn header_value(
    given: &Header,
    field: &str,
    secrets: &BTreeMap<String, String>,
) -> Result<HeaderValue, Fault> {
    let text = match &given.value {
        Text::Literal(text) => text,
        Text::Secret { secret } => secrets
            .get(secret)
            .ok_or_else(|| Fault::NoSecret(secret.clone()))?,
    };
    HeaderValue::try_from(text.as_bytes())
        .map_err(|_| Fault::unsendable(field, "a legal header value"))
}

fn body(body: &Body, bodies: &Bodies, field: &str) -> Result<Bytes, Fault> {
    match body {
        Body::Text(text) => Ok(text.clone().into()),
        Body::Base64(text) => match BASE64_STANDARD.decode(text) {
            Ok(content) => Ok(content.into()),
            Err(_) => Err(Fault::unsendable(
                &format!("{field}.body"),
                "standard base64",
            )),
        },
        Body::Object(object) => {
            let content = bodies.get(&object.sha256).cloned();
            content.ok_or_else(|| Fault::NoBody(object.sha256.clone()))
        }
    }
}

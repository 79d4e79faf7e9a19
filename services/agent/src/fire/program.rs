//! The plan compiled for firing: the bytes of one request per call, secrets filled in.
//!
//! Compiled once, before the start. Must never print a secret: bytes are not shown, and a fault
//! names the header and never its value.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::uri::{PathAndQuery, Scheme};
use loadpilot_events::connections::{Connections, Http};
use loadpilot_events::id::RunId;
use loadpilot_events::plan::{self, Body, Header, PhaseTimeouts, Plan, Step, Text};

use super::fault::Fault;
use super::seen::{self, Masks};
use super::target::Target;
use super::template::{Http1Request, Http2Request, Wording};
use crate::bodies::Bodies;

/// What the default User-Agent says before the run.
const PRODUCT: &str = concat!("loadpilot/", env!("CARGO_PKG_VERSION"));

/// Request templates of all tasks of a plan, and where they go.
#[derive(Debug)]
pub struct Program {
    pub(crate) target: Target,
    pub(crate) connections: Connections,
    pub(crate) timeouts: PhaseTimeouts,
    pub(crate) tasks: Vec<Vec<Call>>,
    /// Whether requests carry an id.
    pub(crate) has_ids: bool,
    /// The exchanges of so many arrivals are written out.
    pub(crate) debug_requests: u64,
    /// What must not be seen in them.
    pub(crate) masks: Masks,
}

/// One call, ready but for its id.
pub(crate) struct Call {
    /// Its place in the plan's list of calls.
    pub number: u16,
    /// In µs, counted from dispatch; covers everything up to the last byte of the answer.
    pub timeout_us: u64,
    /// What the tokens of its answer are, when it is a stream.
    pub stream: Option<plan::Stream>,
    /// The lines of its request without secrets, when exchanges are written out.
    pub shown: Vec<String>,
    /// Of its body.
    pub body_bytes: u64,
    method: plan::Method,
    http1: Http1Request,
    /// Present when the plan may speak HTTP/2.
    http2: Option<Http2Request>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The bytes may hold a secret.
        write!(f, "Call({})", self.number)
    }
}

impl Call {
    /// The request for HTTP/1.1.
    pub(super) fn http1(&self) -> &Http1Request {
        &self.http1
    }

    /// The request for HTTP/2.
    ///
    /// # Panics
    /// When the plan does not speak it.
    pub(super) fn http2(&self) -> &Http2Request {
        self.http2.as_ref().expect("compiled for HTTP/2")
    }

    pub(super) fn is_head(&self) -> bool {
        self.method == plan::Method::Head
    }

    /// Whether sending it twice does what sending it once does (RFC 9110, section 9.2.2).
    pub(super) fn is_idempotent(&self) -> bool {
        !matches!(self.method, plan::Method::Post | plan::Method::Patch)
    }
}

impl Program {
    /// Compiles a plan that has been checked and keeps no body beside itself, for one run;
    /// `secrets` holds a value for each of its handles.
    ///
    /// # Errors
    /// A [`Fault`] that names the part of the plan which cannot be sent as it stands, or the
    /// handle that has no value, or that this machine has no certificate roots for https.
    pub fn compile(
        plan: &Plan,
        run: &RunId,
        secrets: &BTreeMap<String, String>,
    ) -> Result<Self, Fault> {
        Self::compile_with(plan, run, secrets, &Bodies::new())
    }

    /// The same of any plan; `bodies` holds the bytes of each body that is kept beside it.
    ///
    /// # Errors
    /// As [`Program::compile`], and that there are no bytes for a body.
    pub fn compile_with(
        plan: &Plan,
        run: &RunId,
        secrets: &BTreeMap<String, String>,
        bodies: &Bodies,
    ) -> Result<Self, Fault> {
        let target = Target::of(plan, secrets)?;
        let id_header = plan.id_header.as_deref();
        let id_header = id_header.map(|name| header_name("id_header", name));
        let compiler = Compiler {
            plan,
            host: target.authority.clone(),
            agent: HeaderValue::try_from(format!("{PRODUCT} (run {run})"))
                .expect("a run id is letters and digits"),
            id_header: id_header.transpose()?,
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
            target,
            connections: plan.connections.clone(),
            timeouts: plan.timeouts,
            tasks,
            has_ids: compiler.id_header.is_some(),
            debug_requests: plan.debug_requests.into(),
            masks: compiler.masks,
        })
    }
}

/// Header lines: the name as the scenario wrote it, the name, the value.
type Lines<'a> = Vec<(&'a str, HeaderName, HeaderValue)>;

/// What the templates of a plan have in common.
struct Compiler<'a> {
    plan: &'a Plan,
    host: HeaderValue,
    agent: HeaderValue,
    id_header: Option<HeaderName>,
    secrets: &'a BTreeMap<String, String>,
    bodies: &'a Bodies,
    masks: Masks,
}

impl<'a> Compiler<'a> {
    fn call(&self, step: &'a Step, number: u16, field: &str) -> Result<Call, Fault> {
        let path = PathAndQuery::try_from(step.path.as_str())
            .ok()
            .filter(|path| path.as_str() == step.path && step.path.starts_with('/'));
        let path =
            path.ok_or_else(|| Fault::unsendable(&format!("{field}.path"), "a request path"))?;
        let body = body(step.body.as_ref(), self.bodies, field)?;
        let (host, lines) = self.headers(step, body.len(), field)?;
        let id_header = self.plan.id_header.as_deref();
        let wording = Wording {
            method: step.method.name(),
            path,
            host,
            lines,
            id_header: id_header.zip(self.id_header.clone()),
            body,
        };
        let http2 = match self.plan.connections.http {
            Http::V1 => None,
            Http::V2 | Http::Auto => Some(self.http2(&wording, field)?),
        };
        let body_bytes = wording.body.len() as u64;
        let shown = match self.plan.debug_requests {
            0 => Vec::new(),
            _ => shown(step, &wording, &self.masks),
        };
        Ok(Call {
            number,
            stream: step.stream,
            shown,
            body_bytes,
            timeout_us: step.timeout_us.unwrap_or(self.plan.timeout_us),
            method: step.method,
            http1: Http1Request::new(&wording),
            http2,
        })
    }

    fn http2(&self, wording: &Wording<'_>, field: &str) -> Result<Http2Request, Fault> {
        let scheme = match self.plan.target.starts_with("https:") {
            true => Scheme::HTTPS,
            false => Scheme::HTTP,
        };
        let rule = "free of headers about the connection, which HTTP/2 does not have";
        Http2Request::new(wording, scheme)
            .ok_or_else(|| Fault::unsendable(&format!("{field}.headers"), rule))
    }

    /// Host, and the other lines: the scenario's own in their order, after the defaults that it
    /// left out, before the length.
    fn headers(
        &self,
        step: &'a Step,
        body_bytes: usize,
        field: &str,
    ) -> Result<(HeaderValue, Lines<'a>), Fault> {
        let mut host = self.host.clone();
        let mut lines = vec![("User-Agent", header::USER_AGENT, self.agent.clone())];
        for (h, given) in step.headers.iter().enumerate() {
            let field = format!("{field}.headers[{h}]");
            let name = header_name(&field, &given.name)?;
            let value = header_value(given, &field, self.secrets)?;
            match name {
                header::TRANSFER_ENCODING => {
                    let rule = "left out: the engine frames bodies itself";
                    return Err(Fault::unsendable(&field, rule));
                }
                header::CONTENT_LENGTH if value != *body_bytes.to_string() => {
                    let rule = "equal to the length of the body, or left out";
                    return Err(Fault::unsendable(&field, rule));
                }
                header::CONTENT_LENGTH => {}
                header::HOST => host = value,
                _ if self.id_header.as_ref() == Some(&name) => {}
                _ => lines.push((given.name.as_str(), name, value)),
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
            step.method,
            plan::Method::Post | plan::Method::Put | plan::Method::Patch
        );
        if body_bytes > 0 || defines_content || step.body.is_some() {
            let length = HeaderValue::from(body_bytes);
            lines.push(("Content-Length", header::CONTENT_LENGTH, length));
        }
        Ok((host, lines))
    }
}

/// A request as it is written out: what the scenario keeps secret is masked, the id left out.
fn shown(step: &Step, wording: &Wording<'_>, masks: &Masks) -> Vec<String> {
    let mut lines = vec![
        format!("{} {}", wording.method, wording.path),
        seen::request_line("Host", wording.host.to_str().ok()),
    ];
    for (name, _, value) in &wording.lines {
        let given = step.headers.iter().find(|given| given.name == *name);
        let is_secret = given.is_some_and(|given| matches!(given.value, Text::Secret { .. }));
        let value = value.to_str().ok().filter(|_| !is_secret);
        lines.push(seen::request_line(name, value));
    }
    lines.iter().map(|line| masks.apply(line)).collect()
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

fn body(body: Option<&Body>, bodies: &Bodies, field: &str) -> Result<Bytes, Fault> {
    match body {
        None => Ok(Bytes::new()),
        Some(Body::Text(text)) => Ok(text.clone().into()),
        Some(Body::Base64(text)) => match BASE64_STANDARD.decode(text) {
            Ok(content) => Ok(content.into()),
            Err(_) => Err(Fault::unsendable(
                &format!("{field}.body"),
                "standard base64",
            )),
        },
        Some(Body::Object(object)) => {
            let content = bodies.get(&object.sha256).cloned();
            content.ok_or_else(|| Fault::NoBody(object.sha256.clone()))
        }
    }
}

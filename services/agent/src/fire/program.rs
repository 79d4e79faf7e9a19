//! The plan compiled for firing: the bytes of one request per call, secrets filled in.
//!
//! Compiled once, before the start. Must never print a secret: bytes are not shown, and a fault
//! names the header and never its value.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::uri::PathAndQuery;
use loadpilot_events::id::RunId;
use loadpilot_events::plan::{self, Body, Header, Plan, Step, Text};

use super::fault::Fault;
use super::target::Target;

/// What the default User-Agent says before the run.
const PRODUCT: &str = concat!("loadpilot/", env!("CARGO_PKG_VERSION"));

/// Request templates of all tasks of a plan, and where they go.
#[derive(Debug)]
pub struct Program {
    pub(crate) target: Target,
    pub(crate) tasks: Vec<Vec<Call>>,
    /// Whether requests carry an id.
    pub(crate) has_ids: bool,
}

/// One call, ready but for its id.
pub(crate) struct Call {
    /// Its place in the plan's list of calls.
    pub number: u16,
    /// In µs, counted from dispatch; covers everything up to the last byte of the answer.
    pub timeout_us: u64,
    method: plan::Method,
    /// The request up to the value of the id header; empty when there is none.
    before_id: Vec<u8>,
    /// The request from behind it on, or the whole; with the body.
    after_id: Vec<u8>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The bytes may hold a secret.
        write!(f, "Call({})", self.number)
    }
}

impl Call {
    /// The bytes of the request with `id` in its place, in three parts.
    pub(crate) fn request<'a>(&'a self, id: Option<&'a str>) -> [&'a [u8]; 3] {
        let id = id.unwrap_or_default();
        [&self.before_id, id.as_bytes(), &self.after_id]
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
    /// Compiles a plan that has been checked, for one run; `secrets` holds a value for each of its
    /// handles.
    ///
    /// # Errors
    /// A [`Fault`] that names the part of the plan which cannot be sent as it stands, or the
    /// handle that has no value, or that this machine has no certificate roots for https.
    pub fn compile(
        plan: &Plan,
        run: &RunId,
        secrets: &BTreeMap<String, String>,
    ) -> Result<Self, Fault> {
        let target = Target::parse(&plan.target)?;
        let id_header = plan.id_header.as_deref();
        let id_header = id_header.map(|name| header_name("id_header", name));
        let compiler = Compiler {
            plan,
            host: target.authority.clone(),
            agent: HeaderValue::try_from(format!("{PRODUCT} (run {run})"))
                .expect("a run id is letters and digits"),
            id_header: id_header.transpose()?,
            secrets,
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
            tasks,
            has_ids: compiler.id_header.is_some(),
        })
    }
}

/// What the templates of a plan have in common.
struct Compiler<'a> {
    plan: &'a Plan,
    host: HeaderValue,
    agent: HeaderValue,
    id_header: Option<HeaderName>,
    secrets: &'a BTreeMap<String, String>,
}

impl Compiler<'_> {
    fn call(&self, step: &Step, number: u16, field: &str) -> Result<Call, Fault> {
        let path = PathAndQuery::try_from(step.path.as_str())
            .ok()
            .filter(|path| path.as_str() == step.path && step.path.starts_with('/'));
        let path =
            path.ok_or_else(|| Fault::unsendable(&format!("{field}.path"), "a request path"))?;
        let body = body(step.body.as_ref(), field)?;
        let mut head = format!("{} {path} HTTP/1.1\r\n", step.method.name()).into_bytes();
        self.headers(step, body.len(), field, &mut head)?;
        let mut before_id = Vec::new();
        if let Some(name) = &self.plan.id_header {
            head.extend_from_slice(format!("{name}: ").as_bytes());
            before_id = std::mem::take(&mut head);
            head.extend_from_slice(b"\r\n");
        }
        let mut after_id = head;
        after_id.extend_from_slice(b"\r\n");
        after_id.extend_from_slice(&body);
        Ok(Call {
            number,
            timeout_us: step.timeout_us.unwrap_or(self.plan.timeout_us),
            method: step.method,
            before_id,
            after_id,
        })
    }

    /// Host, the scenario's own lines in their order, the defaults that it left out, the length.
    fn headers(
        &self,
        step: &Step,
        body_bytes: usize,
        field: &str,
        head: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let mut own = Vec::with_capacity(step.headers.len());
        for (h, given) in step.headers.iter().enumerate() {
            let field = format!("{field}.headers[{h}]");
            let name = header_name(&field, &given.name)?;
            let value = header_value(given, &field, self.secrets)?;
            if name == header::TRANSFER_ENCODING {
                let rule = "left out: the engine frames bodies itself";
                return Err(Fault::unsendable(&field, rule));
            }
            if name == header::CONTENT_LENGTH {
                if value.as_bytes() != body_bytes.to_string().as_bytes() {
                    let rule = "equal to the length of the body, or left out";
                    return Err(Fault::unsendable(&field, rule));
                }
            } else if self.id_header.as_ref() != Some(&name) {
                own.push((given.name.as_str(), name, value));
            }
        }
        let says = |name: &HeaderName| own.iter().any(|(_, given, _)| given == name);
        if !says(&header::HOST) {
            push_line(head, "Host", &self.host);
        }
        if !says(&header::USER_AGENT) {
            push_line(head, "User-Agent", &self.agent);
        }
        for (name, _, value) in &own {
            push_line(head, name, value);
        }
        // RFC 9110, 8.6: methods that define content say the length even when it is 0.
        let defines_content = matches!(
            step.method,
            plan::Method::Post | plan::Method::Put | plan::Method::Patch
        );
        if body_bytes > 0 || defines_content || step.body.is_some() {
            push_line(head, "Content-Length", &HeaderValue::from(body_bytes));
        }
        Ok(())
    }
}

fn push_line(head: &mut Vec<u8>, name: &str, value: &HeaderValue) {
    for part in [name.as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
        head.extend_from_slice(part);
    }
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

fn body(body: Option<&Body>, field: &str) -> Result<Vec<u8>, Fault> {
    match body {
        None => Ok(Vec::new()),
        Some(Body::Text(text)) => Ok(text.clone().into_bytes()),
        Some(Body::Base64(text)) => BASE64_STANDARD
            .decode(text)
            .map_err(|_| Fault::unsendable(&format!("{field}.body"), "standard base64")),
    }
}

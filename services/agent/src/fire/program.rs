//! The plan compiled for firing: one request template per call, secrets filled in.
//!
//! Compiled once, before the start. Must never print a secret: values from handles are marked
//! sensitive, and a fault names the header and never its value.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Uri};
use loadpilot_events::plan::{self, Body, Header, Plan, Step, Text};

use super::fault::Fault;
use super::target::Target;

/// Request templates of all tasks of a plan, and where they go.
#[derive(Debug)]
pub struct Program {
    pub(crate) target: Target,
    pub(crate) tasks: Vec<Vec<Call>>,
    pub(crate) id_header: Option<HeaderName>,
}

/// One call, ready but for its id.
#[derive(Debug)]
pub(crate) struct Call {
    /// Its place in the plan's list of calls.
    pub number: u16,
    pub method: Method,
    /// Path and query.
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Counted from dispatch; covers everything up to the last byte of the answer.
    pub timeout: Duration,
}

impl Program {
    /// Compiles a plan that has been checked; `secrets` holds a value for each of its handles.
    ///
    /// # Errors
    /// A [`Fault`] that names the part of the plan which cannot be sent as it stands, or the
    /// handle that has no value, or that this machine has no certificate roots for https.
    pub fn compile(plan: &Plan, secrets: &BTreeMap<String, String>) -> Result<Self, Fault> {
        let target = Target::parse(&plan.target)?;
        let mut number = 0_u16;
        let mut tasks = Vec::with_capacity(plan.tasks.len());
        for (t, task) in plan.tasks.iter().enumerate() {
            let mut calls = Vec::with_capacity(task.steps.len());
            for (s, step) in task.steps.iter().enumerate() {
                let field = format!("tasks[{t}].steps[{s}]");
                calls.push(call(plan, &target, step, number, &field, secrets)?);
                number += 1;
            }
            tasks.push(calls);
        }
        let id_header = plan
            .id_header
            .as_ref()
            .map(|name| header_name("id_header", name))
            .transpose()?;
        Ok(Self {
            target,
            tasks,
            id_header,
        })
    }
}

fn call(
    plan: &Plan,
    target: &Target,
    step: &Step,
    number: u16,
    field: &str,
    secrets: &BTreeMap<String, String>,
) -> Result<Call, Fault> {
    let path = PathAndQuery::try_from(step.path.as_str())
        .ok()
        .filter(|path| path.as_str() == step.path && step.path.starts_with('/'));
    let path = path.ok_or_else(|| Fault::unsendable(&format!("{field}.path"), "a request path"))?;
    let body = body(step.body.as_ref(), field)?;
    let headers = headers(target, step, body.len(), field, secrets)?;
    Ok(Call {
        number,
        method: method(step.method),
        uri: Uri::from(path),
        headers,
        body,
        timeout: Duration::from_micros(step.timeout_us.unwrap_or(plan.timeout_us)),
    })
}

fn headers(
    target: &Target,
    step: &Step,
    body_bytes: usize,
    field: &str,
    secrets: &BTreeMap<String, String>,
) -> Result<HeaderMap, Fault> {
    const AGENT: HeaderValue =
        HeaderValue::from_static(concat!("loadpilot/", env!("CARGO_PKG_VERSION")));
    let mut headers = HeaderMap::with_capacity(step.headers.len() + 4);
    headers.insert(header::HOST, target.authority.clone());
    headers.insert(header::USER_AGENT, AGENT);
    let mut own = HeaderMap::with_capacity(step.headers.len());
    for (h, given) in step.headers.iter().enumerate() {
        let field = format!("{field}.headers[{h}]");
        let name = header_name(&field, &given.name)?;
        if name == header::TRANSFER_ENCODING {
            let rule = "left out: the engine frames bodies itself";
            return Err(Fault::unsendable(&field, rule));
        }
        own.append(name, header_value(given, &field, secrets)?);
    }
    if let Some(length) = own.remove(header::CONTENT_LENGTH)
        && length.as_bytes() != body_bytes.to_string().as_bytes()
    {
        let rule = "equal to the length of the body, or left out";
        return Err(Fault::unsendable(&format!("{field}.headers"), rule));
    }
    // What the scenario says replaces the defaults; several values of one name all go out.
    for name in own.keys() {
        headers.remove(name);
    }
    for (name, value) in &own {
        headers.append(name.clone(), value.clone());
    }
    // RFC 9110, 8.6: methods that define content say the length even when it is 0.
    let defines_content = matches!(
        step.method,
        plan::Method::Post | plan::Method::Put | plan::Method::Patch
    );
    if body_bytes > 0 || defines_content || step.body.is_some() {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body_bytes));
    }
    Ok(headers)
}

fn header_name(field: &str, name: &str) -> Result<HeaderName, Fault> {
    HeaderName::try_from(name).map_err(|_| Fault::unsendable(field, "a header name"))
}

fn header_value(
    given: &Header,
    field: &str,
    secrets: &BTreeMap<String, String>,
) -> Result<HeaderValue, Fault> {
    let (text, sensitive) = match &given.value {
        Text::Literal(text) => (text, false),
        Text::Secret { secret } => {
            let value = secrets.get(secret);
            let value = value.ok_or_else(|| Fault::NoSecret(secret.clone()))?;
            (value, true)
        }
    };
    let value = HeaderValue::try_from(text.as_bytes());
    let mut value = value.map_err(|_| Fault::unsendable(field, "a legal header value"))?;
    value.set_sensitive(sensitive);
    Ok(value)
}

fn body(body: Option<&Body>, field: &str) -> Result<Bytes, Fault> {
    match body {
        None => Ok(Bytes::new()),
        Some(Body::Text(text)) => Ok(Bytes::copy_from_slice(text.as_bytes())),
        Some(Body::Base64(text)) => BASE64_STANDARD
            .decode(text)
            .map(Bytes::from)
            .map_err(|_| Fault::unsendable(&format!("{field}.body"), "standard base64")),
    }
}

fn method(method: plan::Method) -> Method {
    match method {
        plan::Method::Get => Method::GET,
        plan::Method::Post => Method::POST,
        plan::Method::Put => Method::PUT,
        plan::Method::Patch => Method::PATCH,
        plan::Method::Delete => Method::DELETE,
        plan::Method::Head => Method::HEAD,
        plan::Method::Options => Method::OPTIONS,
    }
}

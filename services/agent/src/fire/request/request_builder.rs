//! Compiles a request that a scenario composed during the run into a call.
//!
//! A request that cannot be sent is refused with a text for its author. The text must never show
//! the value of a header: it may be secret.

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::uri::PathAndQuery;
use loadpilot_engine::check::ENGINE_HEADERS;
use loadpilot_events::limits::{
    BODY_BYTES_MAX, HEADER_VALUE_BYTES_MAX, HEADERS_MAX, PATH_BYTES_MAX, TIMEOUT_US_MAX,
};

use super::debug_exchange;
use super::program::{Call, HeaderLines, Program};
use crate::users::script::Request;

impl Program {
    /// Compiles `request` as call `number` to the target with index `target`; `is_debugged` when
    /// its exchange is reported as text.
    ///
    /// # Errors
    /// Why it cannot be sent, as a sentence that begins with the faulty part.
    pub(crate) fn build_call(
        &self,
        request: &Request,
        (target, number): (u16, u16),
        is_debugged: bool,
    ) -> Result<Call, String> {
        let path = path(&self.defaults.full_path(target, &request.path))?;
        let body_bytes = request.body.as_ref().map_or(0, Bytes::len) as u64;
        if body_bytes > BODY_BYTES_MAX {
            return Err(format!(
                "a body of {body_bytes} bytes: must be at most 64 MiB"
            ));
        }
        let timeout_us = request.timeout_us.unwrap_or(self.defaults.timeout_us);
        if !(1_000..=TIMEOUT_US_MAX).contains(&timeout_us) {
            return Err(format!(
                "timeout of {timeout_us} µs: must be 1 ms to 10 min"
            ));
        }
        if let Some(us) = request.listen_us.filter(|us| *us >= timeout_us) {
            return Err(format!(
                "listen of {us} µs: must be shorter than the time-out ({timeout_us} µs)"
            ));
        }
        let count = request.headers.len();
        if count > HEADERS_MAX {
            return Err(format!("{count} headers: must be at most {HEADERS_MAX}"));
        }
        let mut lines = HeaderLines::with_capacity(count);
        for (name, value) in &request.headers {
            lines.push((
                name.as_str(),
                header_name(name)?,
                header_value(name, value)?,
            ));
        }
        let defaults = &self.defaults;
        let parts = defaults.parts(target, (request.method, path), lines, request.body.clone());
        let parts = parts.map_err(|why| {
            let header = why.header.and_then(|place| request.headers.get(place));
            let name = header.map_or("", |(name, _)| name);
            format!("header {name}: must be {}", why.rule)
        })?;
        let forms = defaults.forms(&parts);
        let (http1, http2) = forms.map_err(|why| format!("headers: must be {}", why.rule))?;
        let is_secret = |name: &str| defaults.is_secret(name);
        let debug_lines = match is_debugged {
            true => debug_exchange::request_lines(&parts, &self.redactor, is_secret),
            false => Vec::new(),
        };
        Ok(Call {
            target,
            number,
            stream: request.stream,
            tokens_max: request.tokens_max,
            listen_us: request.listen_us,
            debug_lines,
            body_bytes,
            timeout_us,
            method: request.method,
            http1,
            http2,
            redirects: None,
        })
    }
}

fn path(text: &str) -> Result<PathAndQuery, String> {
    let is_sound = text.starts_with('/')
        && !text.starts_with("//")
        && text.len() <= PATH_BYTES_MAX
        && text.bytes().all(|b| b.is_ascii_graphic() && b != b'#');
    let path = PathAndQuery::try_from(text).ok().filter(|_| is_sound);
    path.ok_or_else(|| {
        // The query may hold private data.
        let shown = text.split('?').next().unwrap_or_default();
        let rule = "must begin with one / and hold only printable ASCII without #";
        format!("path {shown:?}: {rule} (relative to the target; encode the rest)")
    })
}

fn header_name(name: &str) -> Result<HeaderName, String> {
    if ENGINE_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(format!(
            "header {name}: belongs to the engine, leave it out"
        ));
    }
    HeaderName::try_from(name).map_err(|_| format!("header name {name:?}: must be a token"))
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, String> {
    if value.len() > HEADER_VALUE_BYTES_MAX {
        return Err(format!("header {name}: its value must be at most 16 KiB"));
    }
    let legal = HeaderValue::try_from(value.as_bytes());
    legal.map_err(|_| format!("header {name}: its value must have no line breaks"))
}

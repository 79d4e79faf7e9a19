//! The request that a redirect of a step leads to (RFC 9110, section 15.4; methods, headers and
//! addresses as browsers treat them).
//!
//! Must never lead to an origin that the plan does not name, nor carry credentials to another
//! origin: a scenario's secrets are meant for its target only.

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::uri::{PathAndQuery, Scheme};
use loadpilot_events::limits::PATH_BYTES_MAX;
use loadpilot_events::plan::Method;
use url::{Origin, Position, Url};

use super::program::{Call, RequestDefaults};
use super::template::{RedirectLine, RedirectParts, RequestParts};

/// Headers of a body, which a request without it must not have (Fetch, request-body-header name).
const HEADERS_OF_BODY: [HeaderName; 5] = [
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LENGTH,
    header::CONTENT_LOCATION,
    header::CONTENT_TYPE,
];

/// Whether an answer with this status and a `Location` is a redirect.
pub(crate) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// The `Location` in a head of HTTP/1.1; `None` also if there are several.
pub(crate) fn location(head: &[u8]) -> Option<Vec<u8>> {
    let mut found = head.split(|byte| *byte == b'\n').filter_map(|line| {
        let (name, value) = line.split_at(line.iter().position(|byte| *byte == b':')?);
        let is_location = name.eq_ignore_ascii_case(b"location");
        is_location.then(|| value[1..].trim_ascii().to_vec())
    });
    found.next().filter(|_| found.next().is_none())
}

/// The redirects of one call so far.
pub(crate) struct RedirectChain<'a> {
    call: &'a Call,
    parts: &'a RedirectParts,
    /// Address of the last request.
    url: Url,
    /// Index of its target.
    target: u16,
    /// Host of its target.
    host: HeaderValue,
    /// Origin of the step.
    first: Origin,
    /// Whether a redirect has left the origin of the step. Only that origin gets all headers.
    has_left: bool,
    method: Method,
    has_body: bool,
}

impl<'a> RedirectChain<'a> {
    /// The chain before the first redirect of `call`; `None` when the call follows none, or its
    /// Host is not an authority.
    pub(crate) fn new(call: &'a Call) -> Option<Self> {
        let parts = call.redirects.as_deref()?;
        let host = parts.host.to_str().ok()?;
        let url = format!("{}://{host}{}", parts.scheme, parts.path);
        Some(Self {
            call,
            parts,
            first: Url::parse(&url).ok()?.origin(),
            url: Url::parse(&url).ok()?,
            target: call.target,
            host: parts.host.clone(),
            has_left: false,
            method: parts.method,
            has_body: true,
        })
    }

    /// The next request. `None` when `location` is not an address of the same origin or of another
    /// one that the plan names, or when it leads from https to http.
    pub(crate) fn next(
        &mut self,
        status: u16,
        location: &[u8],
        defaults: &RequestDefaults,
    ) -> Option<Call> {
        let url = self.url.join(std::str::from_utf8(location).ok()?).ok()?;
        let path = &url[Position::BeforePath..Position::AfterQuery];
        if path.len() > PATH_BYTES_MAX {
            return None;
        }
        if url.origin() != self.url.origin() {
            self.leave(&url, defaults)?;
        }
        let path = PathAndQuery::try_from(path).ok()?;
        let becomes_get = match status {
            303 => !matches!(self.method, Method::Get | Method::Head),
            301 | 302 => self.method == Method::Post,
            _ => false,
        };
        if becomes_get {
            (self.method, self.has_body) = (Method::Get, false);
        }
        self.url = url;
        self.compose(path, defaults)
    }

    /// Follows a redirect to another origin. A later redirect back does not restore the
    /// credentials.
    fn leave(&mut self, to: &Url, defaults: &RequestDefaults) -> Option<()> {
        let is_downgrade = self.url.scheme() == "https" && to.scheme() != "https";
        let (target, host) = match to.origin() == self.first {
            true => (self.call.target, &self.parts.host),
            false => defaults.redirect_origin(&to.origin())?,
        };
        (!is_downgrade).then(|| {
            self.target = target;
            self.host = host.clone();
            self.has_left = true;
        })
    }

    fn compose(&self, path: PathAndQuery, defaults: &RequestDefaults) -> Option<Call> {
        let is_kept = |line: &&RedirectLine| {
            let is_of_body = HEADERS_OF_BODY.contains(&line.name);
            (self.has_body || !is_of_body) && !(self.has_left && line.is_secret)
        };
        let lines = self.parts.lines.iter().filter(is_kept);
        let lines = lines.map(|line| (line.text.as_str(), line.name.clone(), line.value.clone()));
        let parts = RequestParts {
            method: self.method.name(),
            scheme: match self.url.scheme() {
                "https" => Scheme::HTTPS,
                _ => Scheme::HTTP,
            },
            path,
            host: self.host.clone(),
            lines: lines.collect(),
            id_header: defaults.id_header(),
            body: match self.has_body {
                true => self.parts.body.clone(),
                false => Bytes::new(),
            },
        };
        let (http1, http2) = defaults.forms(&parts).ok()?;
        Some(Call {
            target: self.target,
            number: self.call.number,
            timeout_us: self.call.timeout_us,
            stream: self.call.stream,
            tokens_max: self.call.tokens_max,
            listen_us: self.call.listen_us,
            debug_lines: Vec::new(),
            body_bytes: parts.body.len() as u64,
            method: self.method,
            http1,
            http2,
            redirects: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if another header is taken for the Location, or one of two is chosen.
    #[test]
    fn a_head_has_one_location_or_none() {
        let head = |lines: &str| location(format!("HTTP/1.1 302 Found\r\n{lines}\r\n").as_bytes());
        let wanted = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(head("Location: /a:b\r\n"), wanted("/a:b"));
        assert_eq!(head("x: y\nlocation:\t//h/ \n"), wanted("//h/"));
        for none in ["", "Content-Location: /a\r\n", "X: Location: /a\r\n"] {
            assert_eq!(head(none), None, "{none}");
        }
        assert_eq!(head("Location: /a\r\nLocation: /b\r\n"), None);
    }
}

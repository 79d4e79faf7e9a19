//! One request, complete but for its id: as the bytes of HTTP/1.1, or as the parts of HTTP/2.
//!
//! Must never print its content: header values may be secret.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::Method;
use http::Request;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::uri::{Authority, PathAndQuery, Scheme, Uri};
use loadpilot_events::plan::{self, Body};

use crate::fire::fault::Fault;

/// The parts of a request, independent of the protocol.
pub(crate) struct RequestParts<'a> {
    pub(crate) method: &'a str,
    pub(crate) scheme: Scheme,
    pub(crate) path: PathAndQuery,
    pub(crate) host: HeaderValue,
    /// In order, without Host.
    pub(crate) lines: Vec<(&'a str, HeaderName, HeaderValue)>,
    /// The header whose value is the id.
    pub(crate) id_header: Option<(&'a str, HeaderName)>,
    pub(crate) body: Bytes,
}

/// The parts of a step's request, stored to compose the requests of its redirects.
pub(crate) struct RedirectParts {
    pub(crate) method: plan::Method,
    pub(crate) scheme: Scheme,
    pub(crate) host: HeaderValue,
    pub(crate) path: PathAndQuery,
    pub(crate) lines: Vec<RedirectLine>,
    pub(crate) body: Bytes,
}

/// A header line of a step's request.
pub(crate) struct RedirectLine {
    /// The name as the scenario wrote it.
    pub(crate) text: String,
    pub(crate) name: HeaderName,
    pub(crate) value: HeaderValue,
    /// Whether it may go to the step's own origin only.
    pub(crate) is_secret: bool,
}

impl RedirectParts {
    /// The parts of a request. `is_secret` says by a header's name whether it holds credentials.
    pub(crate) fn new(
        method: plan::Method,
        parts: &RequestParts<'_>,
        is_secret: impl Fn(&str) -> bool,
    ) -> Self {
        let lines = parts.lines.iter();
        let lines = lines.map(|(text, name, value)| RedirectLine {
            text: (*text).to_owned(),
            name: name.clone(),
            value: value.clone(),
            is_secret: is_secret(text),
        });
        Self {
            method,
            scheme: parts.scheme.clone(),
            host: parts.host.clone(),
            path: parts.path.clone(),
            lines: lines.collect(),
            body: parts.body.clone(),
        }
    }
}

/// Maximum bytes of a body that is stored in one piece with its head, so that most requests are
/// sent in one write. A larger body is shared by all calls that send it.
const BODY_BYTES_BESIDE_HEAD_MAX: usize = 16 << 10;

/// A request of HTTP/1.1.
pub(crate) struct Http1Request {
    /// Bytes up to the value of the id header; empty without an id.
    before_id: Vec<u8>,
    /// Bytes after the id, or all bytes without an id; includes a small body.
    after_id: Vec<u8>,
    /// A large body.
    body: Bytes,
}

impl Http1Request {
    pub(crate) fn new(parts: &RequestParts<'_>) -> Self {
        let mut head = format!("{} {} HTTP/1.1\r\n", parts.method, parts.path).into_bytes();
        let mut push = |name: &str, value: &HeaderValue| {
            for part in [name.as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                head.extend_from_slice(part);
            }
        };
        push("Host", &parts.host);
        for (name, _, value) in &parts.lines {
            push(name, value);
        }
        let mut before_id = Vec::new();
        if let Some((name, _)) = &parts.id_header {
            head.extend_from_slice(format!("{name}: ").as_bytes());
            before_id = std::mem::take(&mut head);
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        let mut body = Bytes::new();
        if parts.body.len() <= BODY_BYTES_BESIDE_HEAD_MAX {
            head.extend_from_slice(&parts.body);
        } else {
            body = parts.body.clone();
        }
        Self {
            before_id,
            after_id: head,
            body,
        }
    }

    /// The bytes with `id` inserted, in order; empty parts come first.
    pub(crate) fn with_id<'a>(&'a self, id: &'a str) -> [&'a [u8]; 4] {
        let (before, id) = (&self.before_id[..], id.as_bytes());
        match &self.body[..] {
            [] => [&[], before, id, &self.after_id],
            body => [before, id, &self.after_id, body],
        }
    }
}

impl Http1Request {
    /// Its request line and header lines.
    pub(crate) fn head(&self, id: &str) -> String {
        let bytes = self.with_id(id).concat();
        let end = bytes.windows(4).position(|part| part == b"\r\n\r\n");
        let head = &bytes[..end.unwrap_or(bytes.len())];
        String::from_utf8_lossy(head).into_owned()
    }
}

/// A request of HTTP/2.
pub(crate) struct Http2Request {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    id_header: Option<HeaderName>,
    body: Bytes,
    /// Bytes of the headers before compression.
    header_bytes: u64,
}

impl Http2Request {
    /// `None` when the request has a header that HTTP/2 does not allow (RFC 9113, section 8.2.2),
    /// or a Host that is not an authority.
    pub(crate) fn new(parts: &RequestParts<'_>) -> Option<Self> {
        let mut headers = HeaderMap::with_capacity(parts.lines.len() + 1);
        for (_, name, value) in &parts.lines {
            let of_connection = [
                header::CONNECTION,
                header::UPGRADE,
                header::TRANSFER_ENCODING,
            ];
            let is_te = *name == header::TE && *value != "trailers";
            let is_old = name == "keep-alive" || name == "proxy-connection";
            if of_connection.contains(name) || is_te || is_old {
                return None;
            }
            headers.append(name.clone(), value.clone());
        }
        let authority = Authority::try_from(parts.host.as_bytes()).ok()?;
        let uri = Uri::builder()
            .scheme(parts.scheme.clone())
            .authority(authority)
            .path_and_query(parts.path.clone());
        let lines = headers.iter();
        let lines = lines.map(|(name, value)| name.as_str().len() + value.len());
        let pseudo = parts.path.as_str().len() + parts.host.len() + parts.method.len();
        Some(Self {
            method: Method::try_from(parts.method).ok()?,
            uri: uri.build().ok()?,
            id_header: parts.id_header.as_ref().map(|(_, name)| name.clone()),
            body: parts.body.clone(),
            header_bytes: (pseudo + lines.sum::<usize>()) as u64,
            headers,
        })
    }

    /// The request without its body, and the bytes of its headers.
    pub(crate) fn with_id(&self, id: &str) -> (Request<()>, u64) {
        let mut request = Request::new(());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        let mut header_bytes = self.header_bytes;
        if let Some(name) = &self.id_header {
            let value = HeaderValue::try_from(id).expect("an id is a token, digits and slashes");
            header_bytes += (name.as_str().len() + value.len()) as u64;
            request.headers_mut().insert(name.clone(), value);
        }
        (request, header_bytes)
    }

    pub(crate) fn body(&self) -> &Bytes {
        &self.body
    }
}

/// The content of a body of a plan. `bodies` contains the external bodies, by their hash.
pub(super) fn body_content(
    body: &Body,
    bodies: &BTreeMap<String, Bytes>,
    field: &str,
) -> Result<Bytes, Fault> {
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

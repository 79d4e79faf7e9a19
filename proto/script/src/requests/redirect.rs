//! Redirects, as the Python client follows them (`loadpilot.play.conversation`;
//! `urllib.parse.urljoin`; RFC 9110, section 15.4).

use loadpilot_events::plan::Method;
use loadpilot_events::plan::target::{full_path, relative_path};

use super::encode;
use super::response::ResponseView;
use crate::operation::Request;
use crate::values::exceptions::{Exception, Kind, unsupported};
use crate::values::value::Value;

/// Maximum number of requests for one request of a task, redirects included.
pub(crate) const HOPS_MAX: u32 = 20;

/// The `Location` of a redirect.
pub(crate) fn location(response: &ResponseView) -> Option<String> {
    let leads = matches!(response.status(), 301 | 302 | 303 | 307 | 308);
    if leads {
        response.header("location")
    } else {
        None
    }
}

/// The request that a redirect leads to, without cookies; `origin` and `base` are the target's.
pub(crate) fn redirected(
    (origin, base): (&str, &str),
    request: &Request,
    status: u16,
    location: &str,
) -> Result<Request, Exception> {
    let whole = resolved(origin, &full_path(base, &request.path), location)?;
    let is_found_or_see_other = matches!(status, 302 | 303) && request.method != Method::Head;
    let becomes_get = is_found_or_see_other || (status == 301 && request.method == Method::Post);
    let headers = request.headers.iter();
    let headers = headers.filter(|(name, _)| name.to_lowercase() != "cookie");
    let method = if becomes_get {
        Method::Get
    } else {
        request.method
    };
    let path = relative_path(base, &encode::path(&Value::text(&whole), None)?);
    Ok(Request {
        headers: headers.cloned().collect(),
        body: request.body.clone().filter(|_| !becomes_get),
        timeout_us: request.timeout_us,
        ..Request::new(method, path)
    })
}

/// Path and query of a `Location` in the response to `path` of the target.
///
/// # Errors
/// It leads to another origin, or is unsupported.
fn resolved(origin: &str, path: &str, location: &str) -> Result<String, Exception> {
    let unusual = || unsupported("a redirect that is written in an unusual way");
    let is_usual = |c: char| c.is_ascii_alphanumeric() || "/-_~?=&.,:%+!$'()*#".contains(c);
    if !location.chars().all(is_usual) || path.contains(';') {
        return Err(unusual());
    }
    let location = location.split('#').next().unwrap_or_default();
    let (scheme, authority) = origin.split_once("://").unwrap_or(("http", origin));
    let (location_scheme, rest) = split_scheme(location);
    let is_elsewhere = |scheme: &str, host: &str| {
        let text = format!("the answer leads to {scheme}://{host}, which is not the target");
        Exception::new(Kind::RedirectError, text)
    };
    let location_scheme = location_scheme.map(str::to_ascii_lowercase);
    if let Some(other) = location_scheme.as_deref().filter(|other| *other != scheme) {
        let Some(rest) = rest.strip_prefix("//") else {
            return Err(is_elsewhere(other, "None"));
        };
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        let (host, _) = host_port(authority).ok_or_else(unusual)?;
        return Err(is_elsewhere(
            other,
            &host.unwrap_or_else(|| "None".to_owned()),
        ));
    }
    let whole = match rest.strip_prefix("//") {
        Some(rest) => {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let (host, port) = host_port(&rest[..end]).ok_or_else(unusual)?;
            let default = if scheme == "https" { 443 } else { 80 };
            let (own, own_port) = host_port(authority).ok_or_else(unusual)?;
            if end == 0 {
                // An empty authority is treated as if the slashes were absent.
                joined(path, &rest[end..])
            } else if (&host, port.unwrap_or(default)) == (&own, own_port.unwrap_or(default)) {
                rest[end..].to_owned()
            } else {
                let host = host.unwrap_or_else(|| "None".to_owned());
                return Err(is_elsewhere(scheme, &host));
            }
        }
        None => joined(path, rest),
    };
    let (path, query) = match whole.split_once('?') {
        Some((path, query)) => (path, query),
        None => (&whole[..], ""),
    };
    let path = if path.is_empty() { "/" } else { path };
    Ok(match query.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{query}"),
    })
}

fn split_scheme(url: &str) -> (Option<&str>, &str) {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    match url.split_once(':') {
        Some((scheme, rest))
            if scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(is_part) =>
        {
            (Some(scheme), rest)
        }
        _ => (None, url),
    }
}

/// Host in lower case and port of an authority without user or brackets; `None` for any other.
fn host_port(authority: &str) -> Option<(Option<String>, Option<u16>)> {
    let (host, port) = match authority.split_once(':') {
        Some((host, "")) => (host, None),
        Some((host, port)) => (host, Some(port.parse::<u16>().ok()?)),
        None => (authority, None),
    };
    // Port 0 counts as absent.
    let port = port.filter(|port| *port != 0);
    let host = (!host.is_empty()).then(|| host.to_ascii_lowercase());
    Some((host, port))
}

/// `urljoin` of a path with query and a reference that has neither scheme nor authority.
fn joined(base: &str, reference: &str) -> String {
    let (base_path, base_query) = match base.split_once('?') {
        Some((path, query)) => (path, query),
        None => (base, ""),
    };
    let (path, query) = match reference.split_once('?') {
        Some((path, query)) => (path, query),
        None => (reference, ""),
    };
    if path.is_empty() {
        let query = if query.is_empty() { base_query } else { query };
        return format!("{base_path}?{query}");
    }
    let mut segments: Vec<&str> = Vec::new();
    if !path.starts_with('/') {
        segments.extend(base_path.split('/'));
        if segments.last().is_some_and(|last| !last.is_empty()) {
            segments.pop();
        }
    }
    let is_relative = !segments.is_empty();
    segments.extend(path.split('/'));
    if is_relative {
        let last = segments.len() - 1;
        let mut place = 0;
        segments.retain(|segment| {
            place += 1;
            place == 1 || place == last + 1 || !segment.is_empty()
        });
    }
    let mut resolved: Vec<&str> = Vec::new();
    for segment in &segments {
        match *segment {
            ".." => drop(resolved.pop()),
            "." => {}
            segment => resolved.push(segment),
        }
    }
    if matches!(segments.last(), Some(&("." | ".."))) {
        resolved.push("");
    }
    let path = resolved.join("/");
    let path = if path.is_empty() { "/" } else { &path };
    format!("{path}?{query}")
}

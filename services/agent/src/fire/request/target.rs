//! The target of a plan: its authority, its address, and TLS.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Uri;
use http::header::HeaderValue;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::connections::{self, Connections, Reuse, Source};

use super::proxy::Proxy;
use super::tls::Tls;
use crate::fire::fault::Fault;

/// One target of a plan.
#[derive(Debug)]
pub(crate) struct Target {
    pub role: Role,
    /// As the user wrote it, for the Host header.
    pub authority: HeaderValue,
    /// Address to connect to: that of the proxy, if there is one.
    pub place: Endpoint,
    /// The proxy that is asked for a connection to the target, or to the address in the target's
    /// place.
    pub proxy: Option<Proxy>,
    /// Addresses of this machine to connect from, in turn; empty: the system chooses.
    pub sources: Vec<Source>,
    /// Present for https.
    pub tls: Option<Tls>,
    /// Index of the address that the next core begins with.
    next_first: AtomicUsize,
}

/// The purpose of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Arrivals take it in turn.
    Target,
    /// Redirects may lead to it. It gets no credentials that belong to the target.
    RedirectOrigin,
}

/// A listening address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// A name or address, without brackets, and a TCP port.
    Host(String, u16),
    /// A Unix socket of this machine.
    Unix(PathBuf),
}

impl Target {
    /// The target at `url`, one of the plan's: `http://host[:port][/path]` or the same with https.
    ///
    /// # Errors
    /// A [`Fault`]: a part of the plan is invalid, a secret has no value, or this machine has no
    /// certificate roots for https.
    pub(crate) fn of(
        (role, url): (Role, &str),
        plan: &Plan,
        secrets: &BTreeMap<String, String>,
    ) -> Result<Self, Fault> {
        let wrong = || Fault::unsendable("target", "http(s)://host[:port][/path]");
        let uri = Uri::try_from(url).map_err(|_| wrong())?;
        let authority = uri.authority().ok_or_else(wrong)?;
        if authority.as_str().contains('@') || uri.query().is_some() {
            return Err(wrong());
        }
        let (default_port, is_https) = match uri.scheme_str() {
            Some("http") => (80, false),
            Some("https") => (443, true),
            _ => return Err(wrong()),
        };
        let host = without_brackets(authority.host());
        let settings = &plan.connections;
        let tls = is_https.then(|| tls(role, host, plan, secrets));
        let tls = tls.transpose()?;
        let port = authority.port_u16().unwrap_or(default_port);
        let place = match &settings.connect_to {
            Some(text) => Endpoint::parse(text)?,
            None => Endpoint::Host(host.to_owned(), port),
        };
        if is_https && matches!(place, Endpoint::Unix(_)) {
            // A Unix socket would carry unencrypted what the plan requires to be encrypted.
            let rule = "host:port when the target is https";
            return Err(Fault::unsendable("connections.connect_to", rule));
        }
        let (place, proxy) = match &settings.proxy {
            Some(proxy) => through(proxy, &place, secrets)?,
            None => (place, None),
        };
        Ok(Self {
            role,
            authority: HeaderValue::try_from(authority.as_str()).map_err(|_| wrong())?,
            place,
            proxy,
            sources: sources(settings)?,
            tls,
            // At random: agents must not all begin with the same address.
            next_first: AtomicUsize::new(RandomState::new().hash_one(()) as usize),
        })
    }

    /// Index of the address, among those of the target's name, that a core begins with; a different
    /// one for each core.
    pub(crate) fn first_address(&self) -> usize {
        self.next_first.fetch_add(1, Ordering::Relaxed)
    }
}

impl Endpoint {
    fn parse(text: &str) -> Result<Self, Fault> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        let parts = text.rsplit_once(':');
        let parsed =
            parts.and_then(|(host, port)| Some((without_brackets(host), port.parse().ok()?)));
        let (host, port) = parsed.ok_or_else(|| {
            Fault::unsendable("connections.connect_to", "host:port or unix:/path")
        })?;
        Ok(Self::Host(host.to_owned(), port))
    }
}

/// The address of a proxy, and the request to it for a connection to `place`.
fn through(
    proxy: &connections::Proxy,
    place: &Endpoint,
    secrets: &BTreeMap<String, String>,
) -> Result<(Endpoint, Option<Proxy>), Fault> {
    let invalid = |rule: &str| Fault::unsendable("connections.proxy", rule);
    let rule = "http://host:port or socks5://host:port";
    let (protocol, host, port) = proxy.place().ok_or_else(|| invalid(rule))?;
    let Endpoint::Host(target, target_port) = place else {
        return Err(invalid("left out with a Unix socket"));
    };
    let handle = proxy.credentials_secret.as_ref();
    let credentials = handle.map(|handle| {
        let value = secrets.get(handle);
        value.ok_or_else(|| Fault::NoSecret(handle.clone()))
    });
    let credentials = credentials.transpose()?.map(String::as_str);
    let proxy = Proxy::new(protocol, (target, *target_port), credentials).map_err(invalid)?;
    Ok((Endpoint::Host(host.to_owned(), port), Some(proxy)))
}

/// A host without the brackets of an IPv6 address.
fn without_brackets(host: &str) -> &str {
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    inner.unwrap_or(host)
}

fn sources(settings: &Connections) -> Result<Vec<Source>, Fault> {
    let parsed = settings.sources.iter().enumerate().map(|(s, text)| {
        let field = format!("connections.sources[{s}]");
        let rule = "an IP address, or one with a range of ports";
        Source::parse(text).ok_or_else(|| Fault::unsendable(&field, rule))
    });
    parsed.collect()
}

fn tls(
    role: Role,
    host: &str,
    plan: &Plan,
    secrets: &BTreeMap<String, String>,
) -> Result<Tls, Fault> {
    let mut settings = plan.connections.tls.clone();
    if role == Role::RedirectOrigin {
        settings.identity = None;
    }
    let identity = settings.identity.as_ref();
    let key_pem = identity.and_then(|identity| secrets.get(&identity.key_secret));
    let key_pem = key_pem.map(String::as_str);
    Tls::new(host, &settings, key_pem, has_new_clients(plan))
}

/// Whether calls open connections because they stand for new clients.
fn has_new_clients(plan: &Plan) -> bool {
    plan.connections.reuse != Reuse::Always
        || plan.session.is_some()
        || plan.types.iter().any(|kind| kind.session.is_some())
}

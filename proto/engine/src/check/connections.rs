//! Checks how a plan connects to its target.

use std::net::IpAddr;

use loadpilot_events::limits;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::connections::{Connections, Http, Reuse, Source};
use loadpilot_events::plan::target::split;

use super::checker::Checker;
use super::target;

/// Maximum number of concurrent requests on one connection: more than any server allows.
const STREAMS_MAX: u32 = 65_536;

/// Maximum number of redirects that a call follows, as browsers have it.
const REDIRECTS_MAX: u32 = 20;

/// Maximum number of origins that redirects may lead to beside those of the targets.
const REDIRECT_ORIGINS_MAX: usize = 16;

/// Maximum number of targets of a run.
const TARGETS_MAX: usize = 64;

/// Minimum time, in µs, that a user waits for a connection before its iteration is dropped: without
/// a wait a core would do nothing but drop iterations.
const USER_WAIT_US_MIN: u64 = 1_000;

/// Rejects settings that contradict the target or each other: they are not ignored silently.
pub(super) fn plan(checker: &mut Checker<'_>, plan: &Plan) {
    let settings = &plan.connections;
    let is_https = plan.target.starts_with("https:");
    let is_https_somewhere = is_https
        || settings
            .redirect_origins
            .iter()
            .any(|origin| origin.starts_with("https:"));
    other_targets(checker, plan);
    numbers(checker, settings);
    pool(checker, plan);
    redirects(checker, plan);
    proxy(checker, settings);
    places(checker, settings);
    family(checker, plan);
    let tls = &settings.tls;
    let says_tls = tls.insecure || tls.roots_pem.is_some() || tls.identity.is_some();
    checker.require(
        is_https_somewhere || !says_tls,
        "connections.tls",
        "must be left out: the target is http, not https",
        &plan.target,
    );
    checker.require(
        !tls.insecure || tls.roots_pem.is_none(),
        "connections.tls.roots_pem",
        "must be left out with insecure, which verifies no certificate",
        "certificates",
    );
    checker.require(
        is_https || settings.http != Http::Auto,
        "connections.http",
        "must be 1.1 or 2: an http target cannot negotiate a version",
        "auto",
    );
    let by_socket = settings.connect_to.as_deref();
    let by_socket = by_socket.is_some_and(|place| place.starts_with("unix:"));
    checker.require(
        !(is_https && by_socket),
        "connections.connect_to",
        "must be host:port for an https target: TLS goes over TCP only",
        settings.connect_to.as_deref().unwrap_or_default(),
    );
    if let Some(identity) = &tls.identity {
        checker.name("connections.tls.identity.key_secret", &identity.key_secret);
    }
}

/// Checks the further targets. Arrivals take the targets in turn, so settings that belong to one
/// target only are rejected.
fn other_targets(checker: &mut Checker<'_>, plan: &Plan) {
    let settings = &plan.connections;
    let others = &settings.other_targets;
    if others.is_empty() {
        return;
    }
    for (index, other) in others.iter().enumerate() {
        let field = format!("connections.other_targets[{index}]");
        target::url(checker, &field, other);
        let scheme = |url: &str| url.split("://").next().unwrap_or_default().to_owned();
        let is_new = plan.target != *other && !others[..index].contains(other);
        checker.require(
            is_new,
            &*field,
            "must be named once among the targets",
            other,
        );
        checker.require(
            scheme(&plan.target) == scheme(other),
            field,
            "must be http like the other targets, or https like them",
            other,
        );
    }
    checker.require(
        others.len() < TARGETS_MAX,
        "connections.other_targets",
        &format!("must be at most {} beside the target", TARGETS_MAX - 1),
        others.len(),
    );
    checker.require(
        settings.max.is_none(),
        "connections.max",
        "must be left out with several targets: calls would wait for the busiest one",
        settings.max.unwrap_or_default(),
    );
    checker.require(
        plan.paired || (plan.code.is_none() && plan.script.is_none()),
        "connections.other_targets",
        "must be left out when tasks look at answers or users have state: such users know one \
         target",
        others.len(),
    );
}

fn numbers(checker: &mut Checker<'_>, settings: &Connections) {
    let streams_max = settings.streams_max.unwrap_or(1);
    checker.require(
        (1..=STREAMS_MAX).contains(&streams_max),
        "connections.streams_max",
        "must be 1 to 65536",
        streams_max,
    );
    checker.require(
        settings.streams_max.is_none() || settings.http != Http::V1,
        "connections.streams_max",
        "must be left out: HTTP/1.1 carries one request at a time",
        streams_max,
    );
    if let Reuse::SharePpm(share_ppm) = settings.reuse {
        checker.require(
            (1..1_000_000).contains(&share_ppm),
            "connections.reuse",
            "must be always, never, or a share between them, in millionths",
            share_ppm,
        );
    }
    let redirects_max = settings.redirects_max.unwrap_or(1);
    checker.require(
        (1..=REDIRECTS_MAX).contains(&redirects_max),
        "connections.redirects_max",
        "must be 1 to 20",
        redirects_max,
    );
    let at_least_one = "must be at least 1";
    let counts = [
        ("max", settings.max.map(u64::from)),
        ("open_first", settings.open_first.map(u64::from)),
        ("requests_max", settings.requests_max.map(u64::from)),
        ("age_us_max", settings.age_us_max),
        ("resolve_us", settings.resolve_us),
    ];
    for (name, value) in counts {
        let field = format!("connections.{name}");
        checker.require(value != Some(0), field, at_least_one, 0);
    }
}

/// A message must not quote a URL with a password in it.
fn proxy(checker: &mut Checker<'_>, settings: &Connections) {
    let Some(proxy) = &settings.proxy else {
        return;
    };
    let shown = match proxy.url.contains('@') {
        true => "a URL with a user",
        false => &proxy.url,
    };
    checker.require(
        proxy.place().is_some() && proxy.url.len() <= limits::NAME_BYTES_MAX,
        "connections.proxy",
        "must be http://host:port or socks5://host:port, without a user",
        shown,
    );
    let connect_to = settings.connect_to.as_deref().unwrap_or_default();
    checker.require(
        !connect_to.starts_with("unix:"),
        "connections.proxy",
        "must be left out with a Unix socket: no proxy connects to one",
        shown,
    );
    if let Some(handle) = &proxy.credentials_secret {
        checker.name("connections.proxy.credentials_secret", handle);
    }
}

/// Checks redirects. The plan's limit of redirects is rejected for tasks that examine responses, or
/// whose users have state: such a task decides for each request whether it follows redirects.
fn redirects(checker: &mut Checker<'_>, plan: &Plan) {
    checker.require(
        plan.connections.redirects_max.is_none() || (plan.code.is_none() && plan.script.is_none()),
        "connections.redirects_max",
        "must be left out when tasks look at answers or users have state: there \
         client.get(…, follow_redirects=True) says it of each request",
        plan.connections.redirects_max.unwrap_or_default(),
    );
    redirect_origins(checker, plan);
}

/// Each origin has connections of its own, so that limits of one target would not hold.
fn redirect_origins(checker: &mut Checker<'_>, plan: &Plan) {
    let settings = &plan.connections;
    let origins = &settings.redirect_origins;
    if origins.is_empty() {
        return;
    }
    for (index, origin) in origins.iter().enumerate() {
        let field = format!("connections.redirect_origins[{index}]");
        target::url(checker, &field, origin);
        checker.require(
            split(origin).1.is_empty(),
            &*field,
            "must be an origin without a path, such as https://login.example",
            target::without_user(origin),
        );
        let is_new = !origins[..index].contains(origin);
        let is_other = plan.targets().all(|target| split(target).0 != origin);
        checker.require(
            is_new && is_other,
            field,
            "must be named once, and not be the origin of a target",
            target::without_user(origin),
        );
    }
    checker.require(
        origins.len() <= REDIRECT_ORIGINS_MAX,
        "connections.redirect_origins",
        &format!("must be at most {REDIRECT_ORIGINS_MAX}"),
        origins.len(),
    );
    checker.require(
        settings.redirects_max.is_some(),
        "connections.redirect_origins",
        "must be together with redirects_max: without it no redirect is followed",
        origins.len(),
    );
    checker.require(
        settings.max.is_none(),
        "connections.max",
        "must be left out with redirects to other origins: calls would wait for the busiest one",
        settings.max.unwrap_or_default(),
    );
    checker.require(
        settings.connect_to.is_none(),
        "connections.connect_to",
        "must be left out with redirects to other origins: its address is that of one target",
        settings.connect_to.as_deref().unwrap_or_default(),
    );
}

/// A call must never wait inside the HTTP engine for a connection: the wait would look like the
/// target's time.
fn pool(checker: &mut Checker<'_>, plan: &Plan) {
    let settings = &plan.connections;
    let open_first = settings.open_first.unwrap_or(0);
    checker.require(
        open_first == 0 || settings.reuse != Reuse::Never,
        "connections.open_first",
        "must be left out when no call may use an open connection (reuse never)",
        open_first,
    );
    checker.require(
        open_first <= settings.max.unwrap_or(u32::MAX),
        "connections.open_first",
        "must be at most connections.max",
        open_first,
    );
    let Some(max) = settings.max else {
        return;
    };
    checker.require(
        settings.http == Http::V1 || settings.reuse == Reuse::Always,
        "connections.max",
        "must be left out with HTTP/2 or auto unless every call may use an open connection \
         (reuse always)",
        max,
    );
    checker.require(
        plan.users.is_none() || plan.max_wait_us >= USER_WAIT_US_MIN,
        "max_wait_us",
        "must be at least 1 ms where users wait for connections",
        format!("{} µs", plan.max_wait_us),
    );
}

/// An address family that contradicts the target or the local addresses would leave no address.
fn family(checker: &mut Checker<'_>, plan: &Plan) {
    let settings = &plan.connections;
    let Some(ip) = settings.ip else {
        return;
    };
    let authority = |url| split(url).0.split_once("://").map_or("", |(_, rest)| rest);
    let proxy = settings.proxy.as_ref().map(|proxy| authority(&proxy.url));
    // The address that agents connect to; a proxy chooses how it reaches the target.
    let places: Vec<&str> = match proxy.or(settings.connect_to.as_deref()) {
        Some(place) => vec![place],
        None => {
            let origins = settings.redirect_origins.iter().map(String::as_str);
            plan.targets().chain(origins).map(authority).collect()
        }
    };
    for place in places {
        let fits = literal(place).is_none_or(|address| ip.has(address));
        checker.require(
            fits && !place.starts_with("unix:"),
            "connections.ip",
            &format!("must be the address family of {place}, or left out"),
            ip.digit(),
        );
    }
    for (s, source) in settings.sources.iter().enumerate() {
        let parsed = Source::parse(source);
        checker.require(
            parsed.is_none_or(|parsed| ip.has(parsed.address)),
            format!("connections.sources[{s}]"),
            &format!(
                "must be an IPv{} address, as connections.ip says",
                ip.digit()
            ),
            source,
        );
    }
}

/// The address of `host[:port]`; `None` when the host is a name.
fn literal(place: &str) -> Option<IpAddr> {
    let bracketed = place
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'));
    let host = match bracketed {
        Some((v6, _)) => v6,
        None => place.split_once(':').map_or(place, |(host, _)| host),
    };
    host.parse().ok()
}

fn places(checker: &mut Checker<'_>, settings: &Connections) {
    if let Some(place) = &settings.connect_to {
        let sound = match place.strip_prefix("unix:") {
            Some(path) => path.starts_with('/'),
            None => place.rsplit_once(':').is_some_and(|(host, port)| {
                let is_bracketed = host.starts_with('[') && host.ends_with(']');
                !host.is_empty()
                    && (is_bracketed || !host.contains(':'))
                    && !host.contains('@')
                    && port.parse::<u16>().is_ok_and(|port| port > 0)
            }),
        };
        checker.require(
            sound && place.len() <= limits::NAME_BYTES_MAX,
            "connections.connect_to",
            "must be host:port, [ipv6]:port or unix:/path",
            target::without_user(place),
        );
    }
    for (s, source) in settings.sources.iter().enumerate() {
        checker.require(
            Source::parse(source).is_some(),
            format!("connections.sources[{s}]"),
            "must be an IP address of the agent's machine, with a range of ports as in \
             10.0.0.5:20000-30000 or [fd00::1]:20000-30000 if it is to have one",
            source,
        );
    }
}

//! Redirects of steps: which are followed, in which way, and how they are counted. 0.2 s each.

use std::collections::BTreeMap;

use h2::server::Builder;
use loadpilot_events::log::delta::Phase;
use loadpilot_events::plan::connections::{Http, Reuse, TlsIdentity};
use loadpilot_events::plan::{Body, Header, Method, Plan, Stream, Text};
use loadpilot_events::{Cause, DropReason, Outcome};
use tokio::sync::watch;

use crate::support::certificates::{Authority, Manner};
use crate::support::cores::{Cores, Counted, RUN, plan, step, task};
use crate::support::peer::{Act, Call, Peer, Transport};

const ARRIVALS: u64 = 20;

fn peer(http: Http, decide: impl Fn(&Call) -> Act + Send + Sync + 'static) -> Peer {
    let transport = match http {
        Http::V2 => Transport::Http2(Builder::new()),
        Http::V1 | Http::Auto => Transport::Http1,
    };
    Peer::start(transport, decide)
}

/// One arrival every 2 ms, which follows up to `redirects_max` redirects.
fn following(peer: &Peer, http: Http, redirects_max: Option<u32>) -> Plan {
    let tasks = vec![task("only", 1, vec![step("/shop/only?q=1")])];
    let mut plan = plan(peer.url(), 500, ARRIVALS * 2, tasks);
    plan.connections.http = http;
    plan.connections.redirects_max = redirects_max;
    plan
}

async fn run(plan: Plan) -> Counted {
    Cores::new(plan, 1, 1).start().finish().await
}

fn to(location: &str) -> Act {
    Act::Redirect(302, location.to_owned())
}

/// Broken if a redirect counts as a call, loses the id of its arrival, is resolved against another
/// address than its own, or is counted differently than the target saw it.
#[tokio::test]
async fn redirects_are_followed_within_their_call() {
    for http in [Http::V1, Http::V2] {
        for (reuse, opened) in [(Reuse::Always, 1), (Reuse::Never, 3 * ARRIVALS)] {
            let peer = peer(http, |call| match call.uri.path() {
                "/shop/only" => to("next;v=1?q=2#end"),
                "/shop/next;v=1" => to("../last"),
                _ => Act::Answer(200),
            });
            let mut plan = following(&peer, http, Some(2));
            plan.connections.reuse = reuse;
            let counted = run(plan).await;
            let ok = BTreeMap::from([(Outcome::Ok, ARRIVALS)]);
            assert_eq!(counted.outcomes(), ok);
            assert_eq!(counted.statuses(), BTreeMap::from([(200, ARRIVALS)]));
            assert_eq!(counted.redirects(), (2 * ARRIVALS, 0));
            assert_eq!(counted.connections(), (opened, 3 * ARRIVALS - opened));
            assert_eq!(counted.phase(0, Phase::FirstByte).len(), ARRIVALS);
            let seen = peer.seen();
            let paths = seen.calls.iter().map(|call| {
                let path = call.uri.path_and_query().expect("a path");
                (call.id().to_owned(), path.to_string())
            });
            let wanted = (0..ARRIVALS).flat_map(|n| {
                let paths = ["/shop/only?q=1", "/shop/next;v=1?q=2", "/last"];
                paths.map(|path| (format!("{RUN}/{n}/0"), path.to_owned()))
            });
            assert_eq!(paths.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
        }
    }
}

/// Broken if the limit does not hold, or if a call that reached its limit looks like one that
/// reached its end.
#[tokio::test]
async fn at_the_limit_the_redirect_is_the_answer() {
    for http in [Http::V1, Http::V2] {
        for (redirects_max, left) in [(None, 0), (Some(1), ARRIVALS), (Some(20), ARRIVALS)] {
            let peer = peer(http, |_| to("/shop/only?q=1"));
            let counted = run(following(&peer, http, redirects_max)).await;
            let followed = ARRIVALS * u64::from(redirects_max.unwrap_or(0));
            assert_eq!(counted.redirects(), (followed, left));
            assert_eq!(counted.statuses(), BTreeMap::from([(302, ARRIVALS)]));
            let calls = peer.seen().calls.len() as u64;
            assert_eq!(calls, ARRIVALS + followed, "{redirects_max:?}");
        }
    }
}

/// Broken if a method, a body or its headers are kept where browsers drop them, or the reverse.
#[tokio::test]
async fn method_and_body_are_those_of_browsers() {
    use Method::{Delete, Get, Head, Post, Put};
    let cases = [
        (Get, 302, "GET", true),
        (Post, 301, "GET", false),
        (Post, 302, "GET", false),
        (Put, 302, "PUT", true),
        (Put, 303, "GET", false),
        (Delete, 303, "GET", false),
        (Head, 303, "HEAD", true),
        (Post, 307, "POST", true),
        (Put, 308, "PUT", true),
    ];
    for http in [Http::V1, Http::V2] {
        for (method, status, wanted, has_body) in cases {
            if method == Head && http == Http::V1 {
                // The HTTP/1.1 peer always answers with content.
                continue;
            }
            let peer = peer(http, move |call| match call.uri.path() {
                "/last" => Act::Answer(204),
                _ => Act::Redirect(status, "/last".to_owned()),
            });
            let mut plan = following(&peer, http, Some(1));
            let step = &mut plan.tasks[0].steps[0];
            step.method = method;
            let has_body = has_body && !matches!(method, Get | Head);
            if !matches!(method, Get | Head) {
                step.body = Some(Body::Text("{}".to_owned()));
            }
            step.headers = vec![header("Authorization", "me"), header("Content-Type", "x/y")];
            drop(run(plan).await);
            let seen = peer.seen();
            let last = seen.calls.iter().find(|call| call.uri.path() == "/last");
            let last = last.expect("it was followed");
            let case = format!("{http:?} {method:?} {status}");
            assert_eq!(last.method.as_str(), wanted, "{case}");
            assert_eq!(last.header("authorization"), Some("me"), "{case}");
            let body = if has_body { "{}" } else { "" };
            assert_eq!(last.body, body.as_bytes(), "{case}");
            if !matches!(method, Get | Head) {
                let kept = has_body.then_some("x/y");
                assert_eq!(last.header("content-type"), kept, "{case}");
                let length = has_body.then_some("2");
                assert_eq!(last.header("content-length"), length, "{case}");
            }
        }
    }
}

/// Broken if what a scenario sends to its target is sent anywhere else, in whatever form the target
/// writes the address.
#[tokio::test]
async fn another_origin_is_not_followed() {
    for http in [Http::V1, Http::V2] {
        let other = peer(http, |_| Act::Answer(200));
        let place = other.address;
        let places = [
            format!("http://{place}/"),
            format!("//{place}/"),
            format!(r"\\{place}\"),
            format!("\t//{place}"),
            "ftp://localhost/".to_owned(),
            "http://".to_owned(),
            String::new(),
        ];
        for location in places {
            let sent = location.clone();
            let peer = peer(http, move |call| match call.uri.path() {
                "/shop/only" => to(&sent),
                _ => Act::Answer(200),
            });
            // An empty location is the same address again.
            let (followed, left) = match location.is_empty() {
                true => (ARRIVALS, ARRIVALS),
                false => (0, ARRIVALS),
            };
            let counted = run(following(&peer, http, Some(1))).await;
            assert_eq!(counted.redirects(), (followed, left), "{location:?}");
            assert_eq!(counted.statuses(), BTreeMap::from([(302, ARRIVALS)]));
            let secured = format!("https://{}/", peer.address);
            let peer = self::peer(http, move |_| to(&secured));
            let counted = run(following(&peer, http, Some(1))).await;
            assert_eq!(counted.redirects(), (0, ARRIVALS));
        }
        assert_eq!(other.seen().accepted, 0);
    }
}

/// Broken if redirects may take longer than the time-out of their call, or if those followed until
/// then are not counted.
#[tokio::test]
async fn the_time_out_covers_all_redirects() {
    let (_closed, gate) = watch::channel(false);
    let peer = peer(Http::V1, move |call| match call.uri.path() {
        "/shop/only" => to("/slow"),
        _ => Act::Wait(gate.clone()),
    });
    let mut plan = following(&peer, Http::V1, Some(5));
    plan.timeout_us = 2_000_000;
    let counted = Cores::new(plan, 1, 100).start().finish().await;
    let late = BTreeMap::from([(Outcome::Timeout, ARRIVALS)]);
    assert_eq!(counted.outcomes(), late);
    let cause = BTreeMap::from([(Cause::BeforeFirstByte, ARRIVALS)]);
    assert_eq!(counted.causes(), cause);
    assert_eq!(counted.redirects(), (ARRIVALS, 0));
    let (opened, reused) = counted.connections();
    assert_eq!(opened + reused, 2 * ARRIVALS);
    let (_, service) = counted.times(0);
    assert!(service.max() < 5_000_000, "{}", service.max());
}

/// Broken if anything is sent after a stop, or if the call ends with another outcome than its
/// response has.
#[tokio::test]
async fn nothing_is_followed_after_a_stop() {
    let (open, gate) = watch::channel(false);
    let peer = peer(Http::V1, move |call| match call.uri.path() {
        "/shop/only" => Act::RedirectLater(gate.clone(), "/after".to_owned()),
        _ => Act::Answer(200),
    });
    let plan = following(&peer, Http::V1, Some(5));
    let mut cores = Cores::new(plan, 1, 100).start();
    peer.wait_until("asked", |seen| seen.calls.len() as u64 == ARRIVALS);
    cores.cores[0].stop(DropReason::Stopped);
    open.send_replace(true);
    let counted = cores.finish().await;
    assert_eq!(counted.statuses(), BTreeMap::from([(302, ARRIVALS)]));
    assert_eq!(counted.redirects(), (0, ARRIVALS));
    assert_eq!(peer.seen().calls.len() as u64, ARRIVALS);
}

/// Broken if the body of a redirect counts as tokens of the response.
#[tokio::test]
async fn tokens_are_those_of_the_last_answer() {
    let peer = peer(Http::V2, |call| match call.uri.path() {
        "/shop/only" => to("/stream"),
        _ => Act::Pieces,
    });
    let mut plan = following(&peer, Http::V2, Some(1));
    plan.tasks[0].steps[0].stream = Some(Stream::Chunks);
    let counted = run(plan).await;
    assert_eq!(counted.phase(0, Phase::FirstToken).len(), ARRIVALS);
    assert_eq!(counted.phase(0, Phase::TokenGap).len(), ARRIVALS);
}

fn header(name: &str, value: &str) -> Header {
    Header {
        name: name.to_owned(),
        value: Text::Literal(value.to_owned()),
    }
}

/// Broken if a redirect to an origin that the plan names is not followed, carries credentials
/// there, or brings them back.
#[tokio::test]
async fn a_named_origin_gets_no_credentials() {
    for http in [Http::V1, Http::V2] {
        let (back, to_back) = watch::channel(String::new());
        let other = peer(http, move |_| to(&to_back.borrow()));
        let other_url = format!("{}/in?a=1", other.url());
        let peer = peer(http, move |call| match call.uri.path() {
            "/shop/only" => to(&other_url),
            _ => Act::Answer(200),
        });
        back.send_replace(format!("{}/last", peer.url()));
        let mut plan = following(&peer, http, Some(2));
        plan.connections.redirect_origins = vec![other.url()];
        plan.connections.open_first = Some(1);
        plan.tasks[0].steps[0].headers = vec![
            header("Authorization", "me"),
            header("Cookie", "sid=1"),
            header("X-Api-Key", "k"),
            header("Accept", "x/y"),
        ];
        let counted = run(plan).await;
        assert_eq!(counted.redirects(), (2 * ARRIVALS, 0));
        assert_eq!(counted.statuses(), BTreeMap::from([(200, ARRIVALS)]));
        let (here, elsewhere) = (peer.seen(), other.seen());
        let last = here.calls.iter().filter(|call| call.uri.path() == "/last");
        let followed: Vec<&Call> = last.chain(&elsewhere.calls).collect();
        assert_eq!(followed.len() as u64, 2 * ARRIVALS);
        for call in followed {
            for secret in ["authorization", "cookie", "x-api-key"] {
                assert_eq!(call.header(secret), None, "{}", call.uri);
            }
            assert_eq!(call.header("accept"), Some("x/y"));
            assert!(call.id().starts_with(RUN));
        }
        let first = here
            .calls
            .iter()
            .find(|call| call.uri.path() == "/shop/only");
        let first = first.expect("the step's own request");
        assert_eq!(first.header("authorization"), Some("me"));
        let redirected = &elsewhere.calls[0];
        let path = redirected.uri.path_and_query().expect("a path").to_string();
        assert_eq!(path, "/in?a=1");
        let place = other.address.to_string();
        let authority = redirected.uri.authority().map(ToString::to_string);
        let named = authority.or_else(|| redirected.header("host").map(str::to_owned));
        assert_eq!(named, Some(place));
    }
}

/// Broken if a redirect leads from TLS to plain HTTP, or if a client certificate is shown to
/// another origin than the target.
#[tokio::test]
async fn a_named_origin_is_as_well_protected() {
    let authority = Authority::new();
    let secure = |asks_for_certificate: bool, location: Option<String>| {
        let manner = Manner {
            asks_for_certificate,
            ..Manner::BOTH
        };
        let transport = Transport::Tls(authority.server("localhost", manner));
        Peer::start(transport, move |_| match &location {
            Some(location) => to(location),
            None => Act::Answer(200),
        })
    };
    let at = |peer: &Peer| format!("https://localhost:{}", peer.address.port());
    let plain = peer(Http::V1, |_| Act::Answer(200));
    let (asking, other) = (secure(true, None), secure(false, None));
    let identity = authority.issue("client");
    let secrets = BTreeMap::from([("key".to_owned(), identity.key_pem.clone())]);
    for (origin, outcome, status) in [
        (plain.url(), Outcome::Ok, Some(302)),
        (at(&asking), Outcome::Tls, None),
        (at(&other), Outcome::Ok, Some(200)),
    ] {
        let first = secure(true, Some(format!("{origin}/")));
        let mut plan = following(&first, Http::V1, Some(1));
        plan.target = at(&first);
        plan.connections.redirect_origins = vec![origin];
        plan.connections.tls.roots_pem = Some(authority.pem());
        plan.connections.tls.identity = Some(TlsIdentity {
            certificate_pem: identity.certificate_pem.clone(),
            key_secret: "key".to_owned(),
        });
        let mut cores = Cores::with_secrets(plan, &secrets, 1, 20).start();
        let counted = cores.finish().await;
        assert_eq!(counted.outcomes(), BTreeMap::from([(outcome, ARRIVALS)]));
        let statuses = status.map(|status| (status, ARRIVALS));
        assert_eq!(counted.statuses(), statuses.into_iter().collect());
    }
    assert_eq!(plain.seen().accepted, 0);
}

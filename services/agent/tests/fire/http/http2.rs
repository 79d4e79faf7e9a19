//! The load engine over HTTP/2 without TLS: every arrival is served once, few connections carry all
//! of them, and a fault of one stream affects no other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use crate::support::cores::{Cores, Counted, RUN, plan, step, task};
use crate::support::frames::{self, Frames, Say};
use crate::support::peer::{Act, Call, Peer, Transport};
use crate::support::target;
use h2::Reason;
use h2::server::Builder;
use loadpilot_agent::fire::Program;
use loadpilot_events::id::RunId;
use loadpilot_events::plan::connections::{Http, Reuse};
use loadpilot_events::plan::{Body, Header, Method, Plan, Task, Text};
use loadpilot_events::{Cause, Outcome};
use tokio::sync::watch;

fn peer(decide: impl Fn(&Call) -> Act + Send + Sync + 'static) -> Peer {
    Peer::start(Transport::Http2(Builder::new()), decide)
}

fn one_task() -> Vec<Task> {
    vec![task("only", 1, vec![step("/only")])]
}

/// A plan with this number of arrivals, one every 2 ms.
fn plan2(url: String, arrivals: u64, tasks: Vec<Task>) -> Plan {
    let mut plan = plan(url, 500, arrivals * 2, tasks);
    plan.connections.http = Http::V2;
    plan
}

async fn run(plan: Plan, max_in_flight: u32) -> Counted {
    Cores::new(plan, 1, max_in_flight).start().finish().await
}

fn only(outcome: Outcome, count: u64) -> BTreeMap<Outcome, u64> {
    BTreeMap::from([(outcome, count)])
}

/// Broken if an arrival is lost, doubled or changed on its way, or if a header is sent that HTTP/2
/// forbids.
#[tokio::test]
async fn every_arrival_is_served_once_and_as_the_plan_says() {
    let peer = peer(|_| Act::Answer(200));
    let mut post = step("/post?a=b%20c");
    post.method = Method::Post;
    post.body = Some(Body::Base64("AP9oaQ==".to_owned()));
    let header = |name: &str, value: &str| Header {
        name: name.to_owned(),
        value: Text::Literal(value.to_owned()),
    };
    post.headers = vec![header("X-One", "1"), header("x-one", "2")];
    let tasks = vec![task("both", 1, vec![step("/get"), post])];
    let counted = run(plan2(peer.url(), 100, tasks), 50).await;

    assert_eq!(counted.outcomes(), only(Outcome::Ok, 200));
    let ids = peer.ids();
    let wanted = (0..100).flat_map(|n| (0..2).map(move |step| format!("{RUN}/{n}/{step}")));
    assert_eq!(ids.len(), 200);
    assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), wanted.collect());
    let seen = peer.seen();
    for call in &seen.calls {
        let authority = call.uri.authority().map(ToString::to_string);
        assert_eq!(authority, Some(peer.address.to_string()));
        assert_eq!(call.uri.scheme_str(), Some("http"));
        for name in ["host", "connection", "keep-alive", "transfer-encoding"] {
            assert_eq!(call.header(name), None);
        }
        let agent = format!("loadpilot/{} (run {RUN})", env!("CARGO_PKG_VERSION"));
        assert_eq!(call.header("user-agent"), Some(agent.as_str()));
        let path = call.uri.path_and_query().expect("a path").as_str();
        if call.id().ends_with("/1") {
            assert_eq!((call.method.as_str(), path), ("POST", "/post?a=b%20c"));
            assert_eq!(call.body, b"\0\xffhi");
            let ones: Vec<_> = call.headers.get_all("x-one").iter().collect();
            assert_eq!(ones, ["1", "2"]);
            assert_eq!(call.header("content-length"), Some("4"));
        } else {
            assert_eq!((call.method.as_str(), path), ("GET", "/get"));
            assert_eq!((call.body.len(), call.header("content-length")), (0, None));
        }
    }
    assert_eq!(seen.connections.len(), 1);
    assert_eq!(counted.connections(), (1, 199));
    let (sent, received) = counted.bytes();
    assert!(sent > 200 * "GET/get".len() as u64, "{sent}");
    assert!(received >= 200 * "200hello".len() as u64, "{received}");
}

/// Broken if concurrent calls take one connection each, or if a connection carries more than its
/// limit.
#[tokio::test]
async fn a_connection_carries_as_many_streams_as_allowed_and_no_more() {
    for (streams_max, connections) in [(None, 1), (Some(7), 1), (Some(3), 3), (Some(1), 7)] {
        let (open, gate) = watch::channel(false);
        let peer = peer(move |_| Act::Wait(gate.clone()));
        let mut plan = plan2(peer.url(), 40, one_task());
        plan.connections.streams_max = streams_max;
        let mut cores = Cores::new(plan, 1, 7).start();
        peer.wait_until("full", |seen| seen.calls.len() == 7);
        assert_eq!(peer.connections(), connections, "{streams_max:?}");
        open.send_replace(true);
        let counted = cores.finish().await;
        assert_eq!(counted.outcomes(), only(Outcome::Ok, 40));
        peer.assert_once_each(40);
        assert_eq!(peer.connections(), connections, "{streams_max:?}");
        let most = u64::from(streams_max.unwrap_or(100));
        let seen = peer.seen();
        let busiest = seen.connections.iter().map(|m| u64::from(m.most_at_a_time));
        assert!(busiest.max().is_some_and(|busiest| busiest <= most));
        assert_eq!(counted.connections(), (connections, 40 - connections));
    }
}

/// Broken if calls wait uncounted when the target allows fewer streams than the plan.
#[tokio::test]
async fn the_targets_own_limit_opens_a_second_connection() {
    let (open, gate) = watch::channel(false);
    let mut builder = Builder::new();
    builder.max_concurrent_streams(2);
    // The first request is answered at once, so that the limit is known before the others come.
    let peer = Peer::start(Transport::Http2(builder), move |call| {
        match call.id().ends_with("/0/0") {
            true => Act::Answer(200),
            false => Act::Wait(gate.clone()),
        }
    });
    let mut plan = plan2(peer.url(), 5, one_task());
    // One arrival every 50 ms.
    plan.profile.pieces[0].from = loadpilot_events::units::Rate::per_second(20);
    plan.profile.pieces[0].to = plan.profile.pieces[0].from;
    plan.profile.pieces[0].duration_us = 250_000;
    let mut cores = Cores::new(plan, 1, 5).start();
    peer.wait_until("all", |seen| seen.calls.len() == 5);
    assert_eq!(peer.connections(), 2);
    open.send_replace(true);
    let counted = cores.finish().await;
    assert_eq!(counted.outcomes(), only(Outcome::Ok, 5));
    peer.assert_once_each(5);
}

/// Broken if a target that closes its connections by GOAWAY loses a call, or gets one twice.
#[tokio::test]
async fn a_target_that_says_goodbye_loses_nothing_and_gets_nothing_twice() {
    let peer = peer(|call| match call.id().ends_with("9/0") {
        true => Act::Last,
        false => Act::Answer(200),
    });
    let counted = run(plan2(peer.url(), 100, one_task()), 50).await;
    assert_eq!(counted.outcomes(), only(Outcome::Ok, 100));
    peer.assert_once_each(100);
    let connections = peer.connections();
    assert!((2..=11).contains(&connections), "{connections}");
    let (opened, reused) = counted.connections();
    assert_eq!((opened + reused, opened <= connections), (100, true));
}

/// Broken if a refused stream is lost, or sent for ever. RFC 9113, section 8.7: the target did not
/// begin it, so it may be sent again.
#[tokio::test]
async fn a_refused_stream_goes_again_once() {
    let refused = Mutex::new(BTreeSet::new());
    let once = peer(move |call| {
        let mut refused = refused.lock().expect("no target panicked");
        match refused.insert(call.id().to_owned()) {
            true => Act::Reset(Reason::REFUSED_STREAM),
            false => Act::Answer(200),
        }
    });
    let counted = run(plan2(once.url(), 20, one_task()), 10).await;
    assert_eq!(counted.outcomes(), only(Outcome::Ok, 20));
    assert_eq!(once.ids().len(), 40);

    let always = peer(|_| Act::Reset(Reason::REFUSED_STREAM));
    let counted = run(plan2(always.url(), 20, one_task()), 10).await;
    assert_eq!(counted.outcomes(), only(Outcome::Io, 20));
    let ids = always.ids();
    let distinct: BTreeSet<&String> = ids.iter().collect();
    assert_eq!((ids.len(), distinct.len()), (40, 20));
}

/// Broken if a call that the target may have begun is sent twice.
#[tokio::test]
async fn any_other_reset_is_io_and_never_sent_again() {
    let acts = [
        Act::Reset(Reason::INTERNAL_ERROR),
        Act::Reset(Reason::CANCEL),
        Act::Reset(Reason::NO_ERROR),
    ];
    for act in acts {
        let own = act.clone();
        let peer = peer(move |_| own.clone());
        let counted = run(plan2(peer.url(), 20, one_task()), 10).await;
        assert_eq!(counted.outcomes(), only(Outcome::Io, 20), "{act:?}");
        peer.assert_once_each(20);
        assert_eq!(peer.connections(), 1, "a reset is one stream's matter");
    }
}

/// Broken if a call whose response had begun is sent again, whatever the target sends then.
#[tokio::test]
async fn an_answer_that_breaks_off_is_io_and_never_sent_again() {
    for reason in [Reason::REFUSED_STREAM, Reason::NO_ERROR, Reason::CANCEL] {
        let target = Frames::start(move |_, stream| {
            let begun = frames::headers(stream, false);
            Say::More([begun, frames::reset(stream, reason)].concat())
        });
        let counted = run(plan2(target.url(), 10, one_task()), 5).await;
        assert_eq!(counted.outcomes(), only(Outcome::Io, 10), "{reason:?}");
        assert_eq!(target.streams().len(), 10, "{reason:?}");
    }
}

/// Broken if calls that the target had not begun at its GOAWAY are lost. RFC 9113, section 6.8:
/// streams after the last one that it names may be sent again, on another connection.
#[tokio::test]
async fn streams_beyond_the_last_one_of_a_goodbye_go_again() {
    for reason in [Reason::NO_ERROR, Reason::ENHANCE_YOUR_CALM] {
        let target = Frames::start(move |connection, stream| match (connection, stream) {
            (0, 5) => Say::More([frames::headers(1, true), frames::go_away(1, reason)].concat()),
            (0, _) => Say::More(Vec::new()),
            _ => Say::More(frames::headers(stream, true)),
        });
        let counted = run(plan2(target.url(), 3, one_task()), 3).await;
        assert_eq!(counted.outcomes(), only(Outcome::Ok, 3), "{reason:?}");
        assert_eq!(target.streams(), [(0, 1), (0, 3), (0, 5), (1, 1), (1, 3)]);
    }
}

/// Broken if calls that the target may have begun are sent again.
#[tokio::test]
async fn streams_up_to_the_last_one_of_a_goodbye_are_io() {
    for reason in [Reason::NO_ERROR, Reason::INTERNAL_ERROR] {
        let target = Frames::start(move |_, stream| match stream {
            5 => Say::Last(frames::go_away(5, reason)),
            _ => Say::More(Vec::new()),
        });
        let counted = run(plan2(target.url(), 3, one_task()), 3).await;
        assert_eq!(counted.outcomes(), only(Outcome::Io, 3), "{reason:?}");
        assert_eq!(target.streams(), [(0, 1), (0, 3), (0, 5)]);
    }
}

/// Broken if a time-out ends other streams, or if the target continues to work on the one that
/// timed out.
#[tokio::test]
async fn a_time_out_resets_its_stream_and_the_connection_goes_on() {
    let peer = peer(|call| match call.uri.path() {
        "/slow" => Act::Silent,
        _ => Act::Answer(200),
    });
    let mut slow = step("/slow");
    slow.timeout_us = Some(100_000);
    let tasks = vec![task("both", 1, vec![slow, step("/fast")])];
    let counted = run(plan2(peer.url(), 20, tasks), 10).await;
    let wanted = BTreeMap::from([(Outcome::Timeout, 20), (Outcome::Ok, 20)]);
    assert_eq!(counted.outcomes(), wanted);
    assert!(counted.times(0).0.min() >= 99_000);
    peer.wait_until("given up", |seen| seen.given_up.len() == 20);
    let seen = peer.seen();
    assert!(seen.given_up.iter().all(|why| *why == Reason::CANCEL));
    assert_eq!((seen.calls.len(), seen.connections.len()), (40, 1));
}

/// Broken if responses that come after their time-outs end the connection: h2 forgets streams that
/// it has reset, and counts frames on them as errors.
#[tokio::test]
async fn answers_after_their_time_outs_do_not_end_the_connection() {
    // A response comes 200 ms after its request.
    let target = Frames::start(|_, stream| match stream {
        401.. => Say::More(frames::headers(stream - 400, true)),
        _ => Say::More(Vec::new()),
    });
    let mut plan = plan(target.url(), 1_000, 1_400, one_task());
    plan.connections.http = Http::V2;
    plan.timeout_us = 20_000;
    let counted = run(plan, 100).await;
    assert_eq!(counted.outcomes(), only(Outcome::Timeout, 1_400));
    let streams = target.streams();
    assert_eq!(streams.len(), 1_400);
    assert!(streams.iter().all(|(connection, _)| *connection == 0));
}

/// Broken if calls are sent on a connection that has been silent since a call timed out on it: its
/// target may be gone without notice, and TCP detects that only after a quarter of an hour.
#[tokio::test]
async fn a_connection_that_has_died_silently_takes_no_further_call() {
    let target = Frames::start(|connection, stream| match connection {
        0 => Say::More(Vec::new()),
        _ => Say::More(frames::headers(stream, true)),
    });
    // One arrival every 200 ms. The first two have timed out before the second half is due.
    let mut plan = plan(target.url(), 5, 2_800, one_task());
    plan.connections.http = Http::V2;
    plan.timeout_us = 1_100_000;
    let outcomes = run(plan, 14).await.outcomes();
    let answered = outcomes[&Outcome::Ok];
    assert!(answered >= 5, "{outcomes:?}");
    assert_eq!(outcomes[&Outcome::Timeout], 14 - answered);
    let streams = target.streams();
    let on_first = streams.iter().filter(|(connection, _)| *connection == 0);
    assert_eq!(on_first.count() as u64, 14 - answered);
    assert_eq!(streams.last().map(|(connection, _)| *connection), Some(1));
}

/// Broken if the engine waits for the content of a response without content, or takes trailers for
/// a fault.
#[tokio::test]
async fn answers_of_every_shape_are_read_to_their_end() {
    let peer = peer(|call| match call.uri.path() {
        "/none" => Act::Answer(204),
        "/trailers" => Act::Trailers,
        "/missing" => Act::Answer(404),
        _ => Act::Answer(200),
    });
    let mut head = step("/head");
    head.method = Method::Head;
    let steps = vec![head, step("/none"), step("/trailers"), step("/missing")];
    let counted = run(plan2(peer.url(), 10, vec![task("all", 1, steps)]), 10).await;
    let wanted = BTreeMap::from([(Outcome::Ok, 30), (Outcome::Http4xx, 10)]);
    assert_eq!(counted.outcomes(), wanted);
    assert_eq!(peer.connections(), 1);
}

/// Broken if flow control blocks a body that is larger than its windows, or if bytes are missing.
#[tokio::test]
async fn large_bodies_pass_both_ways() {
    const UP_BYTES: usize = 1 << 20;
    const DOWN_BYTES: usize = 5 << 20;
    let peer = peer(|_| Act::Large(DOWN_BYTES));
    let mut post = step("/large");
    post.method = Method::Post;
    post.body = Some(Body::Text("x".repeat(UP_BYTES)));
    let counted = run(plan2(peer.url(), 8, vec![task("only", 1, vec![post])]), 4).await;
    assert_eq!(counted.outcomes(), only(Outcome::Ok, 8));
    let bodies: Vec<usize> = peer
        .seen()
        .calls
        .iter()
        .map(|call| call.body.len())
        .collect();
    assert_eq!(bodies, [UP_BYTES; 8]);
    let (sent, received) = counted.bytes();
    assert!(
        sent > 8 * UP_BYTES as u64 && sent < 9 * UP_BYTES as u64,
        "{sent}"
    );
    let wanted = 8 * DOWN_BYTES as u64;
    assert!(received > wanted && received < wanted + 8_000, "{received}");
}

/// Broken if a response that comes before its request is complete is lost with the rest of the
/// request.
#[tokio::test]
async fn an_answer_may_come_before_the_request_is_over() {
    let peer = peer(|_| Act::Early);
    let mut post = step("/large");
    post.method = Method::Post;
    post.body = Some(Body::Text("x".repeat(1 << 20)));
    let counted = run(plan2(peer.url(), 8, vec![task("only", 1, vec![post])]), 4).await;
    assert_eq!(counted.outcomes(), only(Outcome::Ok, 8));
    peer.assert_once_each(8);
}

/// Broken if a body that the target does not accept hangs for ever, or blocks the other streams.
#[tokio::test]
async fn a_window_that_never_opens_is_a_timeout_of_that_call_alone() {
    let mut builder = Builder::new();
    builder.initial_window_size(0);
    let peer = Peer::start(Transport::Http2(builder), |call| match call.uri.path() {
        "/post" => Act::Silent,
        _ => Act::Answer(200),
    });
    let mut post = step("/post");
    post.method = Method::Post;
    // More than the 64 KiB that are sent before the target has sent anything.
    post.body = Some(Body::Text("x".repeat(256 << 10)));
    post.timeout_us = Some(150_000);
    let tasks = vec![task("both", 1, vec![post, step("/get")])];
    let counted = run(plan2(peer.url(), 6, tasks), 3).await;
    let wanted = BTreeMap::from([(Outcome::Timeout, 6), (Outcome::Ok, 6)]);
    assert_eq!(counted.outcomes(), wanted);
    assert_eq!(counted.causes(), BTreeMap::from([(Cause::WhileSending, 6)]));
    assert_eq!(peer.connections(), 1);
}

/// Broken if the time to the first byte is counted from before the body was handed over.
#[tokio::test]
async fn the_wait_for_the_first_byte_begins_behind_the_body() {
    let mut builder = Builder::new();
    builder.initial_window_size(0);
    let peer = Peer::start(Transport::Http2(builder), |_| Act::Silent);
    let mut post = step("/post");
    post.method = Method::Post;
    post.body = Some(Body::Text("x".repeat(256 << 10)));
    let mut plan = plan2(peer.url(), 3, vec![task("only", 1, vec![post])]);
    plan.timeout_us = 400_000;
    plan.timeouts.first_byte_us = Some(1_000);
    let counted = run(plan, 3).await;
    assert_eq!(counted.causes(), BTreeMap::from([(Cause::WhileSending, 3)]));
}

/// Broken if a target that does not speak HTTP/2 makes calls hang, or if its bytes count as a
/// response.
#[tokio::test]
async fn a_target_that_does_not_speak_http2_is_io() {
    for act in [
        target::Act::Garbage,
        target::Act::Answer(200),
        target::Act::Reset,
    ] {
        let target = target::Target::start(move |_| act.clone());
        let counted = run(plan2(target.url(), 10, one_task()), 5).await;
        assert_eq!(counted.outcomes(), only(Outcome::Io, 10));
    }
    let counted = run(
        plan2(format!("http://{}", target::closed_port()), 10, one_task()),
        5,
    )
    .await;
    assert_eq!(counted.outcomes(), only(Outcome::Connect, 10));
}

/// Broken if connections without further use stay open.
#[tokio::test]
async fn connections_are_closed_when_their_use_is_over() {
    type Set = fn(&mut Plan);
    let settings: [(Set, u32, u64); 3] = [
        (|plan| plan.connections.reuse = Reuse::Never, 1, 40),
        (|plan| plan.connections.requests_max = Some(5), 5, 8),
        (|plan| plan.connections.requests_max = Some(1), 1, 40),
    ];
    for (set, calls_each, connections) in settings {
        let peer = peer(|_| Act::Answer(200));
        let mut plan = plan2(peer.url(), 40, one_task());
        set(&mut plan);
        let mut cores = Cores::new(plan, 1, 1).start();
        cores.cores[0].idle().await;
        peer.wait_until_all_closed();
        let counted = cores.finish().await;
        assert_eq!(counted.outcomes(), only(Outcome::Ok, 40));
        peer.assert_once_each(40);
        let seen = peer.seen();
        assert!(seen.connections.iter().all(|m| m.calls == calls_each));
        assert_eq!(seen.connections.len() as u64, connections);
        assert_eq!(counted.connections(), (connections, 40 - connections));
    }
}

/// Broken if a header that HTTP/2 forbids is detected only when it is sent.
#[test]
fn headers_about_the_connection_cannot_be_compiled() {
    let run = RunId::parse(RUN).expect("a token");
    let forbidden = [
        ("Connection", "close"),
        ("Keep-Alive", "timeout=5"),
        ("Proxy-Connection", "close"),
        ("Upgrade", "websocket"),
        ("TE", "gzip"),
    ];
    for (name, value) in forbidden {
        let mut plan = plan2("http://127.0.0.1:1".to_owned(), 1, one_task());
        plan.tasks[0].steps[0].headers = vec![Header {
            name: name.to_owned(),
            value: Text::Literal(value.to_owned()),
        }];
        for (http, is_fine) in [(Http::V1, true), (Http::V2, false), (Http::Auto, false)] {
            plan.connections.http = http;
            let compiled = Program::compile(&plan, &run, &BTreeMap::new());
            assert_eq!(compiled.is_ok(), is_fine, "{name} with {http:?}");
            if let Err(fault) = compiled {
                let fault = fault.to_string();
                assert!(fault.contains("tasks[0].steps[0].headers"), "{fault}");
            }
        }
    }
}

//! Streamed responses, and debug exchanges: what the engine records beside the calls.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use h2::Reason;
use h2::server::Builder;
use loadpilot_events::log::delta::Phase;
use loadpilot_events::plan::connections::Http;
use loadpilot_events::plan::{Header, Plan, Stream, Text};
use loadpilot_events::{Cause, Outcome};

use crate::support::cores::{Cores, Counted, plan, step, task};
use crate::support::peer::{self, Peer, Transport};
use crate::support::target::{Act, Gate, Target};

const PAUSE: Duration = Duration::from_millis(40);
/// A histogram of two digits may be one in a hundred lower.
const PAUSE_US: u64 = 39_600;
/// Three events with data, one of them in two pieces; a comment between them.
const EVENTS: &[&str] = &[
    "data: one\n\n",
    ": still here\n\n",
    "event: token\ndata: t",
    "wo\n\n",
    "data: three\n\n",
];

/// 5 arrivals in 100 ms.
fn short(url: String, stream: Stream) -> Plan {
    let mut plan = plan(url, 50, 100, vec![task("only", 1, vec![step("/only")])]);
    plan.tasks[0].steps[0].stream = Some(stream);
    plan
}

async fn run(plan: Plan) -> Counted {
    Cores::new(plan, 1, 50).start().finish().await
}

/// Broken if a comment, a piece or the end of the response counts as a token, if times are those of
/// the response as a whole, or if the corrected time leaves out the wait of a call.
#[tokio::test]
async fn events_have_times_of_their_own() {
    let target = Target::start(|_| Act::Stream(EVENTS, PAUSE));
    let counted = run(short(target.url(), Stream::Sse)).await;
    assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Ok, 5)]));
    let first = counted.phase(0, Phase::FirstToken);
    let service = counted.phase(0, Phase::FirstTokenService);
    let gaps = counted.phase(0, Phase::TokenGap);
    assert_eq!((first.len(), service.len(), gaps.len()), (5, 5, 10));
    assert!(service.min() >= PAUSE_US && first.max() >= service.max());
    // If a token is read late, its distance to the next one is shorter.
    assert!(gaps.min() >= PAUSE_US / 2, "{}", gaps.min());
    // Three pauses lie between the first and the second token.
    assert!(gaps.value_at_percentile(99.0) >= 5 * PAUSE_US / 2);
}

/// Broken if arrivals that waited for a slot have a first token as early as those that did not.
#[tokio::test]
async fn the_first_token_is_counted_from_due() {
    let target = Target::start(|_| Act::Stream(EVENTS, PAUSE));
    let mut cores = Cores::new(short(target.url(), Stream::Sse), 1, 1).start();
    let counted = cores.finish().await;
    let first = counted.phase(0, Phase::FirstToken);
    let service = counted.phase(0, Phase::FirstTokenService);
    assert!(first.max() >= service.min() + 4 * 5 * PAUSE_US - 100_000);
}

/// Broken if lines or chunks do not end a token in the stream forms of that name.
#[tokio::test]
async fn lines_and_chunks_are_tokens_where_the_plan_says_so() {
    for stream in [Stream::Lines, Stream::Chunks] {
        let target = Target::start(|_| Act::Stream(EVENTS, Duration::ZERO));
        let counted = run(short(target.url(), stream)).await;
        assert_eq!(counted.phase(0, Phase::FirstToken).len(), 5, "{stream:?}");
        assert_eq!(counted.phase(0, Phase::TokenGap).len(), 5 * 4, "{stream:?}");
    }
}

/// Broken if HTTP/2 records no times, if the empty frame that ends a response counts as a token, or
/// if a response without tokens has some.
#[tokio::test]
async fn frames_are_tokens_and_an_answer_without_any_has_none() {
    for (stream, first, gaps) in [(Stream::Chunks, 5, 5), (Stream::Sse, 0, 0)] {
        let peer = Peer::start(Transport::Http2(Builder::new()), |_| peer::Act::Pieces);
        let mut plan = short(peer.url(), stream);
        plan.connections.http = Http::V2;
        let counted = run(plan).await;
        assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Ok, 5)]));
        assert_eq!(
            counted.phase(0, Phase::FirstToken).len(),
            first,
            "{stream:?}"
        );
        assert_eq!(counted.phase(0, Phase::TokenGap).len(), gaps, "{stream:?}");
    }
}

/// Broken if tokens that came before a failure are lost.
#[tokio::test]
async fn the_tokens_of_an_answer_that_breaks_off_count() {
    let target = Target::start(|_| Act::Truncate);
    let counted = run(short(target.url(), Stream::Sse)).await;
    assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Io, 5)]));
    assert_eq!(counted.phase(0, Phase::FirstToken).len(), 0);
    let target = Target::start(|_| Act::Stream(EVENTS, 5 * PAUSE));
    let mut plan = short(target.url(), Stream::Sse);
    plan.timeout_us = 700_000;
    let counted = run(plan).await;
    assert_eq!(
        counted.causes(),
        BTreeMap::from([(Cause::BeforeLastByte, 5)])
    );
    assert_eq!(counted.phase(0, Phase::FirstToken).len(), 5);
}

/// Broken if the client goes on reading after its last token, if later tokens count, or if the
/// connection then carries another request.
#[tokio::test]
async fn a_client_with_enough_tokens_hangs_up() {
    for (most, gaps, connections) in [(None, 10, 1), (Some(2), 5, 5), (Some(9), 10, 1)] {
        let target = Target::start(|_| Act::Stream(EVENTS, PAUSE / 4));
        let mut plan = short(target.url(), Stream::Sse);
        plan.tasks[0].steps[0].tokens_max = most;
        let counted = Cores::new(plan, 1, 1).start().finish().await;
        assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Ok, 5)]));
        assert_eq!(counted.phase(0, Phase::TokenGap).len(), gaps, "{most:?}");
        assert_eq!(counted.phase(0, Phase::LastByte).len(), 5, "{most:?}");
        assert_eq!(target.connections(), connections, "{most:?}");
    }
}

/// Broken if hanging up in HTTP/2 leaves the stream open, or loses the connection.
#[tokio::test]
async fn hanging_up_resets_a_stream_of_http2() {
    for (most, listen_us, gaps) in [(Some(2), None, 5), (None, Some(200_000), 10)] {
        let peer = Peer::start(Transport::Http2(Builder::new()), |_| peer::Act::Endless);
        let mut plan = short(peer.url(), Stream::Sse);
        plan.connections.http = Http::V2;
        plan.tasks[0].steps[0].tokens_max = most;
        plan.tasks[0].steps[0].listen_us = listen_us;
        let counted = run(plan).await;
        assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Ok, 5)]));
        assert_eq!(counted.phase(0, Phase::TokenGap).len(), gaps);
        peer.wait_until("all were given up", |seen| seen.given_up.len() == 5);
        assert_eq!(peer.seen().given_up, [Reason::CANCEL; 5]);
        assert_eq!(peer.connections(), 1);
    }
}

/// Broken if a client reads for a longer or shorter time than the plan says, or if a response that
/// had not begun by then counts as one.
#[tokio::test]
async fn a_client_that_read_long_enough_hangs_up() {
    const LISTEN_US: u64 = 500_000;
    let listening = |url| {
        let mut plan = short(url, Stream::Sse);
        plan.timeout_us = 3 * LISTEN_US;
        plan.tasks[0].steps[0].listen_us = Some(LISTEN_US);
        plan
    };
    let target = Target::start(|_| Act::Stream(EVENTS, 5 * PAUSE));
    let counted = run(listening(target.url())).await;
    assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Ok, 5)]));
    assert_eq!(counted.phase(0, Phase::FirstToken).len(), 5);
    assert_eq!(counted.phase(0, Phase::TokenGap).len(), 0);
    let (_, service) = counted.times(0);
    assert!(service.min() >= LISTEN_US * 99 / 100, "{}", service.min());
    assert!(service.max() < 2 * LISTEN_US, "{}", service.max());
    let gate = Arc::new(Gate::default());
    let closed = Arc::clone(&gate);
    let target = Target::start(move |_| Act::Wait(Arc::clone(&closed)));
    let counted = run(listening(target.url())).await;
    gate.open();
    assert_eq!(
        counted.causes(),
        BTreeMap::from([(Cause::BeforeFirstByte, 5)])
    );
}

/// Broken if a debug exchange shows a secret, if there are more exchanges than requested, or if
/// they do not show what was sent and answered.
#[tokio::test]
async fn the_first_exchanges_are_written_out_without_secrets() {
    for http in [Http::V1, Http::V2] {
        let target = Target::start(|_| Act::Answer(404));
        let peer = Peer::start(Transport::Http2(Builder::new()), |_| peer::Act::Answer(404));
        let url = if http == Http::V1 {
            target.url()
        } else {
            peer.url()
        };
        let mut plan = short(url, Stream::Sse);
        plan.connections.http = http;
        plan.debug_requests = 2;
        plan.tasks[0].steps[0].headers = vec![
            Header {
                name: "Authorization".to_owned(),
                value: Text::Secret {
                    secret: "token".to_owned(),
                },
            },
            Header {
                name: "X-Plain".to_owned(),
                value: Text::Literal("seen".to_owned()),
            },
        ];
        let secrets = BTreeMap::from([("token".to_owned(), "hunter2".to_owned())]);
        let mut cores = Cores::with_secrets(plan, &secrets, 1, 5).start();
        let exchanges = cores.finish().await.exchanges();
        let arrivals: Vec<u64> = exchanges.iter().map(|seen| seen.arrival).collect();
        assert_eq!(arrivals, [0, 1]);
        for seen in &exchanges {
            assert!(!format!("{seen:?}").contains("hunter2"));
            assert_eq!(seen.request[0], "GET /only");
            assert!(seen.request.contains(&"Authorization: ***".to_owned()));
            assert!(seen.request.contains(&"X-Plain: seen".to_owned()));
            assert!(seen.answer[0].contains("404"), "{:?}", seen.answer);
            // The HTTP/2 target answers without a header line.
            assert_eq!(seen.answer.len() > 1, http == Http::V1);
            assert_eq!(seen.outcome, Outcome::Http4xx);
        }
    }
}

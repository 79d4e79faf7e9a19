//! The load engine against targets that fail: each failure gets its own outcome, its true latency,
//! and never a second request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::cores::{Cores, Counted, plan, step, task};
use crate::support::target::{Act, Gate, Target, closed_port};
use loadpilot_agent::fire::Program;
use loadpilot_events::id::RunId;
use loadpilot_events::plan::{Header, Method, Plan, Text};
use loadpilot_events::{Cause, DropReason, Outcome};

fn one_task() -> Vec<loadpilot_events::plan::Task> {
    vec![task("only", 1, vec![step("/only")])]
}

/// 20 arrivals in 400 ms.
fn short(url: String) -> Plan {
    plan(url, 50, 400, one_task())
}

async fn run(plan: Plan) -> Counted {
    Cores::new(plan, 1, 50).start().finish().await
}

/// Each arrival was sent at most once.
fn assert_never_doubled(target: &Target) -> usize {
    let seen = target.seen();
    let ids: BTreeSet<(u64, usize)> = seen.iter().map(crate::support::target::Seen::id).collect();
    assert_eq!(ids.len(), seen.len(), "a request was sent twice");
    ids.len()
}

/// Broken if a time-out is counted as another outcome, or has a latency below its limit.
#[tokio::test]
async fn a_silent_target_is_a_timeout_with_its_full_latency() {
    let gate = Arc::new(Gate::default());
    let target_gate = Arc::clone(&gate);
    let target = Target::start(move |_| Act::Wait(Arc::clone(&target_gate)));
    let mut plan = short(target.url());
    plan.timeout_us = 60_000_000;
    plan.tasks[0].steps[0].timeout_us = Some(300_000);
    let counted = run(plan).await;
    assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Timeout, 20)]));
    assert_eq!(
        counted.causes(),
        BTreeMap::from([(Cause::BeforeFirstByte, 20)])
    );
    let (response, service) = counted.times(0);
    for hist in [response, service] {
        assert_eq!(hist.len(), 20);
        assert!(
            hist.highest_equivalent(hist.min()) >= 300_000,
            "{}",
            hist.min()
        );
    }
    assert_eq!(assert_never_doubled(&target), 20);
    assert_eq!(
        target.connections(),
        20,
        "a connection that timed out is not used again"
    );
    assert!(
        counted.bytes().0 > 0,
        "what was sent counts, answered or not"
    );
    gate.open();
}

/// Broken if a closed port is reported as anything but a failed connect.
#[tokio::test]
async fn a_closed_port_is_connect() {
    let counted = run(short(format!("http://{}", closed_port()))).await;
    assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Connect, 20)]));
    assert_eq!(counted.causes(), BTreeMap::from([(Cause::Refused, 20)]));
    assert_eq!(counted.task_errors(), 20);
    assert_eq!(counted.times(0).0.len(), 20);
    assert_eq!(counted.connections(), (0, 0));
}

/// Broken if a name that does not exist is reported as anything but a failed connect.
#[tokio::test]
async fn an_unknown_name_is_connect() {
    let counted = run(short("http://no-such-host.invalid:80".to_owned())).await;
    assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Connect, 20)]));
    assert_eq!(
        counted.causes(),
        BTreeMap::from([(Cause::NameNotResolved, 20)])
    );
}

/// Broken if the engine sends HTTP without TLS to an https target, or blames the wrong layer.
#[tokio::test]
async fn a_target_that_does_not_speak_tls_is_tls() {
    let target = Target::start(|_| Act::Answer(200));
    let counted = run(short(format!("https://{}", target.address))).await;
    assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Tls, 20)]));
    assert_eq!(counted.causes(), BTreeMap::from([(Cause::Unanswered, 20)]));
}

/// Broken if a failed exchange is retried, or counts as a response.
#[tokio::test]
async fn broken_connections_and_answers_are_io() {
    let faults = [
        (Act::Reset, Cause::Reset),
        (Act::Truncate, Cause::Truncated),
        (Act::Garbage, Cause::NotHttp),
        (Act::Close, Cause::Unanswered),
    ];
    for (act, cause) in faults {
        let target = Target::start(move |_| act.clone());
        let counted = run(short(target.url())).await;
        assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Io, 20)]));
        assert_eq!(counted.causes(), BTreeMap::from([(cause, 20)]));
        assert_eq!(assert_never_doubled(&target), 20);
    }
}

/// Broken if a POST that the target had received on a kept connection is sent again after a reset.
#[tokio::test]
async fn a_post_on_a_used_connection_that_is_reset_is_io_and_never_sent_again() {
    let target = Target::start(|seen| match seen.id().0 % 2 {
        0 => Act::Answer(200),
        _ => Act::Reset,
    });
    let mut plan = short(target.url());
    plan.tasks[0].steps[0].method = Method::Post;
    let mut cores = Cores::new(plan, 1, 1).start();
    let counted = cores.finish().await;
    let expected = BTreeMap::from([(Outcome::Ok, 10), (Outcome::Io, 10)]);
    assert_eq!(counted.outcomes(), expected);
    assert_eq!(counted.connections(), (10, 10));
    assert_eq!(assert_never_doubled(&target), 20);
}

/// Broken if a GET that was lost with a kept connection fails, is sent more than twice, or is not
/// counted as resent.
#[tokio::test]
async fn a_get_on_a_used_connection_that_is_reset_goes_again_once_and_is_counted() {
    let again = AtomicBool::new(false);
    let target = Target::start(move |seen| match seen.id().0 % 2 {
        0 => Act::Answer(200),
        // The first attempt of each.
        _ if !again.fetch_not(Ordering::SeqCst) => Act::Reset,
        _ => Act::Answer(200),
    });
    let mut cores = Cores::new(short(target.url()), 1, 1).start();
    let counted = cores.finish().await;
    assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Ok, 20)]));
    assert_eq!(counted.resent(), 10);
    assert_eq!(target.seen().len(), 30);
}

/// Broken if error statuses count as successes, or if redirects are followed.
#[tokio::test]
async fn statuses_become_outcomes() {
    let target = Target::start(|seen| Act::Answer([200, 302, 404, 500][seen.id().0 as usize % 4]));
    let counted = run(short(target.url())).await;
    let expected = [
        (Outcome::Ok, 10),
        (Outcome::Http4xx, 5),
        (Outcome::Http5xx, 5),
    ];
    assert_eq!(counted.outcomes(), BTreeMap::from(expected));
    assert_eq!(counted.task_errors(), 10);
    assert_eq!(target.seen().len(), 20);
}

/// Broken if an abort leaves calls hanging, or loses them.
#[tokio::test]
async fn a_cancel_ends_what_is_in_flight() {
    let gate = Arc::new(Gate::default());
    let target_gate = Arc::clone(&gate);
    let target = Target::start(move |_| Act::Wait(Arc::clone(&target_gate)));
    let tasks = vec![task("both", 1, vec![step("/first"), step("/second")])];
    let mut cores = Cores::new(plan(target.url(), 100, 60_000, tasks), 1, 5).start();
    target.wait_for(5);
    cores.cores[0].cancel();
    let counted = cores.finish().await;
    assert_eq!(
        counted.outcomes(),
        BTreeMap::from([(Outcome::Cancelled, 5)])
    );
    assert_eq!((counted.started(), counted.task_errors()), (5, 5));
    assert_eq!(assert_never_doubled(&target), 5);
    gate.open();
}

/// Broken if a run that is stopped before it began never becomes idle.
#[tokio::test]
async fn a_core_that_never_started_can_be_stopped() {
    let mut cores = Cores::new(short("http://127.0.0.1:1".to_owned()), 1, 5);
    let idle = tokio::time::timeout(Duration::from_millis(50), cores.cores[0].idle()).await;
    assert!(idle.is_err(), "not idle before its first command");
    cores.cores[0].stop(DropReason::Stopped);
    let counted = cores.finish().await;
    assert_eq!(counted.started(), 0);
}

/// Broken if the debug form of a program shows a secret, or if a missing secret is sent as an empty
/// value.
#[test]
fn secrets_are_needed_and_never_printed() {
    let mut plan = short("http://127.0.0.1:1".to_owned());
    plan.tasks[0].steps[0].headers.push(Header {
        name: "Authorization".to_owned(),
        value: Text::Secret {
            secret: "token".to_owned(),
        },
    });
    let run = RunId::parse("01run").expect("a token");
    let missing =
        Program::compile(&plan, &run, &BTreeMap::new()).expect_err("no value for the handle");
    assert!(missing.to_string().contains("token"));
    let secrets = BTreeMap::from([("token".to_owned(), "hunter2".to_owned())]);
    let program = Program::compile(&plan, &run, &secrets).expect("a sendable plan");
    assert!(!format!("{program:?}").contains("hunter2"));
    let wrong = BTreeMap::from([("token".to_owned(), "hunter2\r\nx: y".to_owned())]);
    let fault = Program::compile(&plan, &run, &wrong).expect_err("a header injection");
    assert!(!fault.to_string().contains("hunter2"), "{fault}");
}

//! The load engine against a target that counts for itself: every request is sent once, on
//! schedule, in order, and counted with its true outcome.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::cores::{Cores, RUN, SHARDS, hold, plan, step, task};
use crate::support::target::{Act, Gate, Target};
use loadpilot_agent::fire::MonoTime;
use loadpilot_engine::schedule::share::Share;
use loadpilot_events::log::delta::Phase;
use loadpilot_events::plan::{Body, Header, Method, Text};
use loadpilot_events::{DropReason, Outcome};

fn one_task() -> Vec<loadpilot_events::plan::Task> {
    vec![task("only", 1, vec![step("/only")])]
}

/// Broken if an arrival of any core is lost, sent twice, or given the wrong task.
#[tokio::test]
async fn what_is_planned_is_what_the_target_served() {
    let target = Target::start(|_| Act::Answer(200));
    let tasks = vec![
        task("often", 5, vec![step("/often?q=1")]),
        task("rarely", 1, vec![step("/rarely")]),
    ];
    let mut cores = Cores::new(plan(target.url(), 300, 3_000, tasks), 2, 100).start();
    let counted = cores.finish().await;

    let seen = target.seen();
    let arrivals: BTreeSet<u64> = seen.iter().map(|seen| seen.id().0).collect();
    assert_eq!(seen.len(), 900);
    assert_eq!(arrivals, (0..900).collect());
    let to = |line: &str| seen.iter().filter(|seen| seen.line == line).count();
    assert_eq!((to("GET /often?q=1"), to("GET /rarely")), (750, 150));
    assert_eq!(counted.started(), 900);
    assert_eq!((counted.started_of(0), counted.started_of(1)), (750, 150));
    assert_eq!((counted.calls_of(0), counted.calls_of(1)), (750, 150));
    assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Ok, 900)]));
    assert_eq!(counted.task_errors(), 0);
    assert_eq!(counted.phase(0, Phase::ScheduleLag).len(), 750);
    let (opened, reused) = counted.connections();
    assert_eq!((opened + reused, opened), (900, target.connections()));
    let answer_bytes = "HTTP/1.1 200 Whatever\r\ncontent-length: 5\r\n\r\nhello".len() as u64;
    assert_eq!(counted.bytes().1, 900 * answer_bytes);
    assert!(
        seen.iter()
            .all(|seen| seen.header("x-id").is_some_and(|id| id.starts_with(RUN)))
    );
}

/// Broken if arrivals come early, or all at once.
#[tokio::test]
async fn no_arrival_comes_before_it_is_due() {
    let target = Target::start(|_| Act::Answer(200));
    let begin = Instant::now();
    let mut cores = Cores::new(plan(target.url(), 100, 1_000, one_task()), 1, 100).start();
    cores.finish().await;
    for seen in target.seen() {
        let due = Duration::from_micros(cores.workload.due_us(seen.id().0));
        assert!(seen.at >= begin + due, "{seen:?}");
    }
}

/// Broken if headers, body or framing of a step change on the way to the target.
#[tokio::test]
async fn a_request_is_what_the_plan_says() {
    let target = Target::start(|_| Act::Answer(200));
    let header = |name: &str, value: &str| Header {
        name: name.to_owned(),
        value: Text::Literal(value.to_owned()),
    };
    let mut post = step("/post?a=b%20c");
    post.method = Method::Post;
    post.body = Some(Body::Base64("AP9oaQ==".to_owned()));
    post.headers = vec![header("X-One", "1"), header("x-one", "2")];
    let mut empty = step("/empty");
    empty.method = Method::Put;
    empty.headers = vec![header("User-Agent", "mine")];
    let mut head = step("/head");
    head.method = Method::Head;
    let tasks = vec![task("all", 1, vec![post, empty, head, step("/get")])];
    let mut cores = Cores::new(plan(target.url(), 10, 200, tasks), 1, 10).start();
    let counted = cores.finish().await;
    assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Ok, 8)]));

    let seen = target.seen();
    let lines: Vec<&str> = seen.iter().map(|seen| seen.line.as_str()).collect();
    let once = ["POST /post?a=b%20c", "PUT /empty", "HEAD /head", "GET /get"];
    assert_eq!(lines, [once, once].concat());
    let ids: Vec<(u64, usize)> = seen.iter().map(crate::support::target::Seen::id).collect();
    assert_eq!(
        ids,
        (0..8).map(|i| (i / 4, i as usize % 4)).collect::<Vec<_>>()
    );
    let host = target.address.to_string();
    assert!(
        seen.iter()
            .all(|seen| seen.header("host") == Some(host.as_str()))
    );
    assert_eq!(seen[0].body, b"\0\xffhi");
    let ones = seen[0].headers.iter().filter(|(name, _)| name == "x-one");
    assert_eq!(
        ones.map(|(_, value)| value.as_str()).collect::<Vec<_>>(),
        ["1", "2"]
    );
    let agent = format!("loadpilot/{} (run {RUN})", env!("CARGO_PKG_VERSION"));
    assert_eq!(seen[0].header("user-agent"), Some(agent.as_str()));
    assert_eq!(seen[1].header("user-agent"), Some("mine"));
    assert_eq!(seen[1].header("content-length"), Some("0"));
    assert_eq!(seen[3].header("content-length"), None);
}

/// Broken if a call that had to wait is timed from its dispatch only, or if a slot leaks.
#[tokio::test]
async fn a_frozen_target_shows_in_response_and_hardly_in_service() {
    const FREEZE: Duration = Duration::from_millis(600);
    let gate = Arc::new(Gate::default());
    let target_gate = Arc::clone(&gate);
    let target = Target::start(move |_| Act::Wait(Arc::clone(&target_gate)));
    let mut cores = Cores::new(plan(target.url(), 200, 1_000, one_task()), 1, 10).start();
    let begin = Instant::now();
    target.wait_for(10);
    tokio::time::sleep_until((begin + FREEZE).into()).await;
    let frozen = cores.harvest().await.remove(0);
    assert_eq!(frozen.in_flight, 10);
    assert!(frozen.waiting >= 40, "{}", frozen.waiting);
    assert!(frozen.oldest_us >= 550_000, "{}", frozen.oldest_us);
    assert_eq!(target.seen().len(), 10);
    gate.open();
    let counted = cores.finish().await;

    assert_eq!(counted.started(), 200);
    let (response, service) = counted.times(0);
    assert_eq!((response.len(), service.len()), (200, 200));
    // An arrival is due every 5 ms: of those of the first 0.4 s, 80 waited at least 0.2 s for the
    // end of the freeze.
    let waited = response.count_between(200_000, u64::MAX / 2);
    assert!(waited >= 80, "{waited}");
    assert!(response.max() >= 590_000, "{}", response.max());
    // The calls that were in flight at the freeze; the others were not sent during it.
    let slow = service.count_between(400_000, u64::MAX / 2);
    assert_eq!(slow, 10);
}

/// Broken if steps overtake each other, or if a later call inherits the lateness of an earlier one.
#[tokio::test]
async fn the_second_call_is_due_when_the_first_has_ended() {
    let target = Target::start(|seen| {
        if seen.line == "GET /first" {
            std::thread::sleep(Duration::from_millis(150));
        }
        Act::Answer(if seen.line == "GET /first" { 503 } else { 200 })
    });
    let tasks = vec![task("both", 1, vec![step("/first"), step("/second")])];
    let mut cores = Cores::new(plan(target.url(), 50, 400, tasks), 1, 4).start();
    let counted = cores.finish().await;

    assert_eq!((counted.calls_of(0), counted.calls_of(1)), (20, 20));
    assert_eq!(counted.started(), 20);
    assert_eq!(
        counted.task_errors(),
        20,
        "a 503 is an error of its arrival"
    );
    let mut step_at = BTreeMap::new();
    for seen in target.seen() {
        let (arrival, step) = seen.id();
        assert_eq!(step_at.insert((arrival, step), seen.at), None, "sent twice");
    }
    assert_eq!(step_at.len(), 40);
    for arrival in 0..20 {
        let between = step_at[&(arrival, 1)] - step_at[&(arrival, 0)];
        assert!(between >= Duration::from_millis(150), "{between:?}");
    }
    let (first, _) = counted.times(0);
    assert!(first.highest_equivalent(first.min()) >= 150_000);
    assert!(
        first.max() >= 350_000,
        "4 slots for 20 arrivals of 150 ms: the last ones wait"
    );
    let (second, second_service) = counted.times(1);
    assert_eq!(second, second_service);
    assert_eq!(counted.phase(1, Phase::ScheduleLag).len(), 0);
}

/// Broken if each request opens a connection, or if several use one at the same time.
#[tokio::test]
async fn an_idle_connection_is_used_again() {
    let target = Target::start(|_| Act::Answer(200));
    let mut cores = Cores::new(plan(target.url(), 50, 400, one_task()), 1, 1).start();
    let counted = cores.finish().await;
    assert_eq!(counted.connections(), (1, 19));
    assert_eq!(target.connections(), 1);
}

/// Broken if a connection that the target has closed costs a request, or doubles one.
#[tokio::test]
async fn a_connection_closed_while_idle_is_replaced_unseen() {
    let target = Target::start(|_| Act::AnswerAndClose);
    let mut cores = Cores::new(plan(target.url(), 20, 1_000, one_task()), 1, 1).start();
    let counted = cores.finish().await;
    assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Ok, 20)]));
    assert_eq!(counted.connections(), (20, 0));
    assert_eq!((target.seen().len(), target.connections()), (20, 20));
}

/// Broken if anything is sent after a stop, or if a waiting arrival disappears without being
/// counted.
#[tokio::test]
async fn a_stop_sends_nothing_more_and_accounts_for_what_waited() {
    let gate = Arc::new(Gate::default());
    let target_gate = Arc::clone(&gate);
    let target = Target::start(move |_| Act::Wait(Arc::clone(&target_gate)));
    let tasks = vec![task("both", 1, vec![step("/first"), step("/second")])];
    let mut cores = Cores::new(plan(target.url(), 100, 60_000, tasks), 1, 3).start();
    target.wait_for(3);
    while cores.harvest().await[0].waiting < 10 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let waiting = cores.harvest().await[0].waiting;
    cores.cores[0].stop(DropReason::Fenced);
    cores.cores[0].stop(DropReason::Stopped);
    let stopped = cores.harvest().await.remove(0);
    assert_eq!((stopped.in_flight, stopped.waiting), (3, 0));
    gate.open();
    let counted = cores.finish().await;

    assert_eq!(counted.started(), 3);
    assert!(counted.dropped(DropReason::Fenced) >= waiting);
    assert_eq!(counted.dropped(DropReason::Stopped), 0);
    assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Ok, 3)]));
    assert_eq!(counted.task_errors(), 3, "their second call was never made");
    // There is no event to wait for: the test is that nothing happens.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(target.seen().len(), 3);
}

/// Broken if a slot that is never freed keeps arrivals waiting for ever, or not counted.
#[tokio::test]
async fn arrivals_without_a_slot_are_dropped_on_time() {
    let gate = Arc::new(Gate::default());
    let target_gate = Arc::clone(&gate);
    let target = Target::start(move |_| Act::Wait(Arc::clone(&target_gate)));
    let mut plan = plan(target.url(), 100, 1_000, one_task());
    plan.max_wait_us = 200_000;
    let mut cores = Cores::new(plan, 1, 2).start();
    loop {
        let harvest = cores.harvest().await.remove(0);
        assert!(harvest.waiting <= 20, "rate × max_wait bounds the queue");
        if cores.counted().dropped(DropReason::NoSlot) == 98 {
            assert_eq!((harvest.in_flight, harvest.waiting), (2, 0));
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    gate.open();
    let counted = cores.finish().await;
    assert_eq!(
        (counted.started(), counted.dropped(DropReason::NoSlot)),
        (2, 98)
    );
    assert_eq!(target.seen().len(), 2);
}

/// Broken if a core that joins late fires what it missed: there must never be a catch-up burst.
#[tokio::test]
async fn what_was_due_long_ago_is_dropped_as_late() {
    let target = Target::start(|_| Act::Answer(200));
    let mut plan = plan(target.url(), 1_000, 2_000, one_task());
    plan.max_lateness_us = 300_000;
    let second_ago = MonoTime::from_ns(MonoTime::now().as_ns() - 1_000_000_000);
    let mut cores = Cores::new(plan, 1, 100).start_at(second_ago);
    let counted = cores.finish().await;
    let late = counted.dropped(DropReason::Late);
    assert!((700..2_000).contains(&late), "{late}");
    assert_eq!(counted.started() + late, 2_000);
    assert_eq!(target.seen().len() as u64, counted.started());
}

/// Broken if a takeover loses arrivals, doubles them or counts them for the wrong holder.
#[tokio::test]
async fn shards_change_hands_at_a_tick() {
    let target = Target::start(|_| Act::Answer(200));
    let mut cores = Cores::new(plan(target.url(), 200, 2_000, one_task()), 2, 100).start();
    target.wait_for(50);
    let all = Share::new(SHARDS, (0..SHARDS).collect());
    let halves = all.split(2);
    // Tick 5 begins at 1 s; the second core leaves there and the first takes everything.
    cores.cores[0].hold(
        vec![
            hold(1, (0, Some(5)), halves[0].clone()),
            hold(2, (5, None), all),
        ],
        [].into(),
    );
    cores.cores[1].hold(vec![hold(1, (0, Some(5)), halves[1].clone())], [].into());
    let counted = cores.finish().await;
    let arrivals: BTreeSet<u64> = target.seen().iter().map(|seen| seen.id().0).collect();
    assert_eq!(arrivals, (0..400).collect());
    assert_eq!(target.seen().len(), 400);
    assert_eq!(counted.generations(), BTreeMap::from([(1, 200), (2, 200)]));
}

/// Broken if a name is resolved again for every connection.
#[tokio::test]
async fn a_name_is_resolved_once() {
    let target = Target::start(|_| Act::AnswerAndClose);
    let url = format!("http://localhost:{}", target.address.port());
    let mut cores = Cores::new(plan(url, 20, 500, one_task()), 1, 10).start();
    let counted = cores.finish().await;
    assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Ok, 10)]));
    assert_eq!(counted.connections(), (10, 0));
    assert!(counted.phase(0, Phase::Dns).len() <= 1);
    assert_eq!(counted.phase(0, Phase::Connect).len(), 10);
}

/// Broken if waiting arrivals are examined only at a harvest or when a slot is freed.
#[tokio::test]
async fn a_core_without_slots_drops_everything_and_comes_to_rest() {
    let target = Target::start(|_| Act::Answer(200));
    let mut plan = plan(target.url(), 100, 300, one_task());
    plan.max_wait_us = 100_000;
    let mut cores = Cores::new(plan, 1, 0).start();
    let counted = cores.finish().await;
    assert_eq!(counted.dropped(DropReason::NoSlot), 30);
    assert_eq!((counted.started(), target.seen().len()), (0, 0));
}

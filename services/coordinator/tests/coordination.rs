//! Coordinators on the bus in memory and on a real nats-server, with a scripted agent. The tests
//! compare what is in the log.

#[path = "rig/mod.rs"]
mod rig;

use std::time::Duration;

use bytes::Bytes;
use loadpilot_bus::testserver::TestServer;
use loadpilot_bus::{Bus, RequestError, Stream};
use loadpilot_events::log::ctl::{Decision, Ending, RunSealed};
use loadpilot_events::wire::heartbeat::ClockSample;
use loadpilot_events::{AgentId, RunId};
use rig::{
    Rig, STEP_TIMEOUT, UNDISTURBED, decision_names, decisions, end, request_run, request_run_with,
    subjects,
};
use serde_json::{Value, json};
use tokio::time::timeout;

/// Timeout for a reply of a coordinator.
const REPLY_TIMEOUT: Duration = Duration::from_millis(50);

macro_rules! laws {
    ($($law:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $law() {
                super::$law(super::Rig::memory()).await;
            })*
        }
        mod real {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $law() {
                if let Some(server) = super::TestServer::start_or_skip(stringify!($law)) {
                    super::$law(super::Rig::Real(server)).await;
                }
            })*
        }
    };
}

laws!(
    a_run_goes_from_request_to_seal,
    racing_coordinators_decide_everything_once,
    a_coordinator_may_die_at_every_step,
    poison_stops_nothing,
    a_deaf_agent_learns_everything_by_heartbeat,
    left_over_runs_are_sealed_where_that_is_wanted,
    left_over_runs_go_on_where_it_is_not,
    secrets_are_handed_over_and_end_with_the_run,
    clock_samples_are_answered,
);

/// Broken if the log stores the plan of a run more than once: 66 requests of 500 kB filled it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_is_stored_once() {
    let Some(server) = TestServer::start_or_skip("a_plan_is_stored_once") else {
        return;
    };
    let rig = Rig::Real(server);
    let bus = rig.open().await;
    let _coordinator = rig.coordinator(false).await;
    // The agent learns the plan from the replies to its heartbeats alone.
    let _agent = rig.agent("a", true).await;
    let path = format!("/{}", "x".repeat(8_000));
    let step = |n: usize| json!({"name": format!("{n}"), "method": "GET", "path": path});
    let run = request_run_with(&bus, (0..63).map(step).collect()).await;
    assert_eq!(seal(end(&bus, &run).await).ending, Ending::Completed);
    let requests = bus
        .read(Stream::Ctl, vec![subjects().req(&run)], None)
        .await;
    let request = requests.expect("the log can be read")[0].payload.len() as u64;
    assert!(request > 500_000, "{request} bytes");
    let info = bus.request("$JS.API.STREAM.INFO.LP_CTL", Bytes::new(), STEP_TIMEOUT);
    let info = info.await.expect("the server answers");
    let info: Value = serde_json::from_slice(&info).expect("JSON");
    let stored = info["state"]["bytes"].as_u64().expect("a number");
    assert!(
        stored < request + 5_000,
        "LP_CTL has {stored} bytes, the request {request}"
    );
}

fn seal(last: Decision) -> RunSealed {
    match last {
        Decision::RunSealed(seal) => seal,
        other => panic!("ended by {other:?}"),
    }
}

/// Broken if a run does not go from its request to its seal over a log.
async fn a_run_goes_from_request_to_seal(rig: Rig) {
    let bus = rig.open().await;
    let _coordinator = rig.coordinator(false).await;
    let _agent = rig.agent("a", false).await;
    let run = request_run(&bus).await;
    let seal = seal(end(&bus, &run).await);
    assert_eq!(seal.ending, Ending::Completed);
    assert_eq!(
        (seal.finals.len(), seal.missing.len(), seal.data_seq),
        (1, 0, 1)
    );
    assert_eq!(decision_names(&bus, &run).await, UNDISTURBED);
}

/// Broken if racing coordinators store a decision twice: two assignments, two starts, two ends.
async fn racing_coordinators_decide_everything_once(rig: Rig) {
    const RUNS: usize = 12;
    let bus = rig.open().await;
    let _coordinators = [
        rig.coordinator(false).await,
        rig.coordinator(false).await,
        rig.coordinator(false).await,
    ];
    let _agent = rig.agent("a", false).await;
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        runs.push(request_run(&bus).await);
    }
    for run in &runs {
        assert_eq!(seal(end(&bus, run).await).ending, Ending::Completed);
        assert_eq!(decision_names(&bus, run).await, UNDISTURBED, "{run}");
    }
}

/// Broken if a coordinator has state that is not in the log: its successor must continue the run.
async fn a_coordinator_may_die_at_every_step(rig: Rig) {
    let bus = rig.open().await;
    let _agent = rig.agent("a", false).await;
    for step in 0..UNDISTURBED.len() {
        let first = rig.coordinator(false).await;
        let run = if step == 0 {
            drop(first);
            request_run(&bus).await
        } else {
            let run = request_run(&bus).await;
            decisions(&bus, &run, step).await;
            drop(first);
            run
        };
        let _second = rig.coordinator(false).await;
        assert_eq!(
            seal(end(&bus, &run).await).ending,
            Ending::Completed,
            "after step {step}"
        );
        assert_eq!(
            decision_names(&bus, &run).await,
            UNDISTURBED,
            "after step {step}"
        );
    }
}

/// Broken if one unreadable event stops a tenant's runs, or a coordinator that starts later.
async fn poison_stops_nothing(rig: Rig) {
    let bus = rig.open().await;
    let poison = |subject: String| {
        let bus = bus.clone();
        async move {
            let id = format!("poison on {subject}");
            let stored = bus
                .append(Stream::Ctl, &subject, &id, Bytes::from_static(b"\xff{"))
                .await;
            stored.expect("a log takes any bytes");
        }
    };
    let unknown = RunId::parse("unknown").expect("a token");
    poison(subjects().req(&unknown)).await;
    poison(subjects().ctl(&unknown)).await;
    let first = rig.coordinator(false).await;
    let agent = rig.agent("a", false).await;
    let run = request_run(&bus).await;
    decisions(&bus, &run, 1).await;
    poison(subjects().ctl(&run)).await;
    poison(format!("lp.local.run.{run}.evt.a")).await;
    decisions(&bus, &run, 3).await;
    drop(first);
    let _second = rig.coordinator(false).await;
    assert_eq!(seal(end(&bus, &run).await).ending, Ending::Completed);
    assert_eq!(decision_names(&bus, &run).await, UNDISTURBED);
    drop(agent);
}

/// Broken if an agent that receives no live event misses a decision: heartbeat replies bring it.
async fn a_deaf_agent_learns_everything_by_heartbeat(rig: Rig) {
    let bus = rig.open().await;
    let _coordinator = rig.coordinator(false).await;
    let run = request_run(&bus).await;
    decisions(&bus, &run, 1).await;
    let _late = rig.agent("late", true).await;
    assert_eq!(seal(end(&bus, &run).await).ending, Ending::Completed);
}

/// Broken if a new local stack generates the load of an earlier one.
async fn left_over_runs_are_sealed_where_that_is_wanted(rig: Rig) {
    let bus = rig.open().await;
    let first = rig.coordinator(false).await;
    let scheduled = request_run(&bus).await;
    let agent = rig.agent("a", false).await;
    decisions(&bus, &scheduled, 2).await;
    drop((first, agent));
    let requested = request_run(&bus).await;
    let _second = rig.coordinator(true).await;
    assert_eq!(seal(end(&bus, &scheduled).await).ending, Ending::Aborted);
    assert!(matches!(
        end(&bus, &requested).await,
        Decision::RunRefused(_)
    ));
    let _agent = rig.agent("a", false).await;
    let new = request_run(&bus).await;
    assert_eq!(seal(end(&bus, &new).await).ending, Ending::Completed);
}

/// Broken if a coordinator that was restarted mid-run does not continue the run.
async fn left_over_runs_go_on_where_it_is_not(rig: Rig) {
    let bus = rig.open().await;
    let first = rig.coordinator(false).await;
    let run = request_run(&bus).await;
    decisions(&bus, &run, 1).await;
    drop(first);
    let _agent = rig.agent("a", false).await;
    let _second = rig.coordinator(false).await;
    assert_eq!(seal(end(&bus, &run).await).ending, Ending::Completed);
}

/// The reply to an agent that requests the secrets of a run.
async fn request_secrets(bus: &Bus, run: &RunId, agent: &str) -> Result<Bytes, RequestError> {
    let agent = AgentId::parse(agent).expect("a token");
    let subject = subjects().secret(run, &agent);
    bus.request(&subject, Bytes::new(), REPLY_TIMEOUT).await
}

/// Broken if an agent without shards gets secrets, one with shards does not, or they outlive the
/// run.
async fn secrets_are_handed_over_and_end_with_the_run(rig: Rig) {
    let bus = rig.open().await;
    let _coordinator = rig.coordinator(false).await;
    let run = request_run(&bus).await;
    decisions(&bus, &run, 1).await;
    let values = Bytes::from_static(br#"{"s":"Bearer x"}"#);
    let key = subjects().secret_key(&run);
    bus.kv_put(&key, values.clone(), STEP_TIMEOUT)
        .await
        .expect("it is stored");
    assert!(
        request_secrets(&bus, &run, "a").await.is_err(),
        "it has no shards"
    );
    let _agent = rig.agent("a", false).await;
    let handed = async {
        loop {
            if let Ok(values) = request_secrets(&bus, &run, "a").await {
                return values;
            }
        }
    };
    let received = timeout(STEP_TIMEOUT, handed).await.expect("it has shards");
    assert_eq!(received, values);
    assert!(
        request_secrets(&bus, &run, "b").await.is_err(),
        "it has no shards"
    );
    end(&bus, &run).await;
    let gone = async { while bus.kv_get(&key).await.expect("it answers").is_some() {} };
    timeout(STEP_TIMEOUT, gone)
        .await
        .expect("they are shredded");
}

/// Broken if clock samples are wrong: agents compute each due time from them.
async fn clock_samples_are_answered(rig: Rig) {
    let bus = rig.open().await;
    let _coordinator = rig.coordinator(false).await;
    // A coordinator listens once it has created a run.
    let run = request_run(&bus).await;
    decisions(&bus, &run, 1).await;
    let before = loadpilot_coordinator::Clock::system().now();
    let reply = bus
        .request(&subjects().clock(), Bytes::new(), STEP_TIMEOUT)
        .await;
    let sample: ClockSample = serde_json::from_slice(&reply.expect("an answer")).expect("JSON");
    let after = loadpilot_coordinator::Clock::system().now();
    let bound_us = sample.bound_us;
    assert!(before <= sample.received_at.plus_us(bound_us));
    assert!(sample.received_at <= sample.replied_at);
    assert!(sample.replied_at <= after.plus_us(bound_us));
}

/// Broken if a restart of the log's server stops a run, or a process has to be restarted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_may_restart_mid_run() {
    let Some(server) = TestServer::start_or_skip("the_server_may_restart_mid_run") else {
        return;
    };
    let mut rig = Rig::Real(server);
    let bus = rig.open().await;
    let _coordinator = rig.coordinator(false).await;
    let _agent = rig.agent("a", false).await;
    for step in 1..=3 {
        let run = request_run(&bus).await;
        decisions(&bus, &run, step).await;
        if let Rig::Real(server) = &mut rig {
            server.kill();
            server.restart().expect("it starts again");
        }
        assert_eq!(
            seal(end(&bus, &run).await).ending,
            Ending::Completed,
            "after step {step}"
        );
        assert_eq!(
            decision_names(&bus, &run).await,
            UNDISTURBED,
            "after step {step}"
        );
    }
}

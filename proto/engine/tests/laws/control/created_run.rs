//! A run's plan is stored once, in its request: the decision that creates the run names it.

use loadpilot_engine::control::agent_view::{AgentView, Applied};
use loadpilot_engine::control::created_run::{RequestedPlan, with_plan};
use loadpilot_engine::control::decide::{Observations, Policy, decide};
use loadpilot_engine::control::run_state::{Record, RunState};
use loadpilot_engine::control::{Control, ControlLog};
use loadpilot_engine::fold::as_of::AsOf;
use loadpilot_engine::verify::{Decided, decisions};
use loadpilot_events::Envelope;
use loadpilot_events::id::{EventId, RunId};
use loadpilot_events::log::ctl::{Decision, RunCreated, StartScheduled};
use loadpilot_events::log::envelope::{EVENT_VERSION, EVENT_VERSION_PLAN_IN_REQUEST, version_of};
use loadpilot_events::log::req::{Request, RunRequested};
use loadpilot_events::units::Timestamp;
use loadpilot_events::wire::heartbeat::News;
use loadpilot_events::wire::subject::Kind;
use serde::Serialize;

use crate::rules::dice::Dice;
use crate::rules::plans::{self, holder};

const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

/// Sequence of the request in every log here.
const REQUEST_SEQ: u64 = 7;

fn request() -> RunRequested {
    let mut dice = Dice::new(1);
    let plan = plans::plan(&mut dice);
    plans::request(plan, 2, 1, &mut dice)
}

/// The decision of a coordinator about the request.
fn created(request: &RunRequested) -> RunCreated {
    let request = Request::RunRequested(Box::new(request.clone()));
    let state = RunState::default().evolve(REQUEST_SEQ, NOW, Record::Request(&request));
    let observed = Observations {
        since: NOW,
        ..Observations::default()
    };
    match decide(&state, &observed, &Policy::default(), NOW) {
        Some(Decision::RunCreated(created)) => *created,
        other => panic!("{other:?}"),
    }
}

fn envelope<E>(at: Timestamp, event: E) -> Envelope<E> {
    let id = EventId::parse("id").expect("a token");
    Envelope {
        v: EVENT_VERSION_PLAN_IN_REQUEST,
        id,
        at,
        event,
    }
}

fn json<E: Serialize>(at: Timestamp, event: E) -> Vec<u8> {
    serde_json::to_vec(&envelope(at, event)).expect("it has a JSON form")
}

/// The log of a run that starts at once; `asked_at` is its request's time.
fn log(request: &RunRequested, created: RunCreated, asked_at: Timestamp) -> ControlLog {
    let mut log = ControlLog::new(RunId::parse("01run").expect("a token"));
    let request = Request::RunRequested(Box::new(request.clone()));
    let start = Decision::StartScheduled(StartScheduled { start_at: NOW });
    // Records may come in any order.
    log.add("ctl", &Kind::Ctl, 9, &json(NOW, start));
    let created = Decision::RunCreated(Box::new(created));
    log.add("ctl", &Kind::Ctl, 8, &json(NOW, created));
    log.add("req", &Kind::Req, REQUEST_SEQ, &json(asked_at, request));
    log
}

fn breaches(control: &Control, created: RunCreated) -> Vec<String> {
    let decision = Decision::RunCreated(Box::new(created));
    let decided = Decided {
        subject: "ctl",
        seq: 8,
        at: NOW,
        decision: &decision,
    };
    decisions(control.state.requested_plan(), [decided]).lines()
}

/// Broken if the log holds a plan twice, or a reader folds another plan than the request's.
#[test]
fn the_plan_is_that_of_the_request() {
    let request = request();
    let created = created(&request);
    assert_eq!((&created.plan, created.request), (&None, Some(REQUEST_SEQ)));
    let decision = Decision::RunCreated(Box::new(created.clone()));
    assert_eq!(version_of(&decision), EVENT_VERSION_PLAN_IN_REQUEST);
    let control = log(&request, created.clone(), NOW).close();
    let run = control.state.created.as_deref().expect("it is created");
    assert_eq!(run.plan, request.plan);
    assert_eq!(run.plan_hash, request.plan.hash());
    assert_eq!(breaches(&control, created), Vec::<String>::new());
}

/// Broken if a log of an earlier version, which repeats the plan, folds to another run.
#[test]
fn a_plan_in_the_decision_is_read_as_before() {
    let request = request();
    let created = created(&request);
    let repeated = RunCreated {
        plan: Some(request.plan.clone()),
        request: None,
        ..created.clone()
    };
    let decision = Decision::RunCreated(Box::new(repeated.clone()));
    assert_eq!(version_of(&decision), EVENT_VERSION);
    let control = log(&request, repeated.clone(), NOW).close();
    let now = log(&request, created, NOW).close();
    assert_eq!(control.state.created, now.state.created);
    assert_eq!(breaches(&control, repeated), Vec::<String>::new());
}

/// Broken if a run is folded by the plan of a request that its decision does not name.
#[test]
fn another_request_is_named() {
    let request = request();
    let created = created(&request);
    let foreign = RunCreated {
        request: Some(REQUEST_SEQ - 1),
        ..created.clone()
    };
    let control = log(&request, foreign.clone(), NOW).close();
    assert_eq!(control.state.created, None);
    let lines = breaches(&control, foreign);
    assert!(lines[0].contains("it names request 6, which is not that of the run"));
    let neither = RunCreated {
        request: None,
        ..created
    };
    let lines = breaches(&control, neither);
    assert!(lines[0].contains("it has no plan and names no request"));
}

/// Broken if an agent, which reads no requests, has no plan, or an agent of an earlier version
/// cannot read the decision.
#[test]
fn agents_receive_the_plan_in_the_decision() {
    let request = request();
    let event = envelope(NOW, Decision::RunCreated(Box::new(created(&request))));
    let news = |event: Envelope<Decision>| News {
        tenant: None,
        run: RunId::parse("01run").expect("a token"),
        seq: 8,
        previous_seq: 0,
        event,
    };
    let mut view = AgentView::new(holder(1, 0));
    assert_eq!(view.apply(&news(event.clone())), Applied::Gap);
    let of = |seq| RequestedPlan {
        seq,
        plan: &request.plan,
    };
    let foreign = with_plan(event.clone(), Some(of(REQUEST_SEQ + 1)));
    assert_eq!(foreign, event);
    let whole = with_plan(event, Some(of(REQUEST_SEQ)));
    assert_eq!(whole.v, EVENT_VERSION);
    assert_eq!(view.apply(&news(whole)), Applied::Applied);
    let plan = view.created().map(|created| &created.plan);
    assert_eq!(plan, Some(&request.plan));
}

/// Broken if a view of an earlier instant has no plan, where the submitter's clock is ahead.
#[test]
fn an_earlier_instant_keeps_the_request_of_the_plan() {
    let request = request();
    let ahead = NOW.plus_us(60_000_000);
    let log = log(&request, created(&request), ahead);
    let then = AsOf::new(&log, 1_000_000).expect("it has started");
    let created = then.control().state.created.as_deref();
    assert_eq!(created.map(|run| &run.plan), Some(&request.plan));
}

//! The run that the crowd plays: five tasks, and so many arrivals per second for each agent that
//! every delta has rows and histograms of all five.

use bytes::Bytes;
use loadpilot_bus::{Bus, Stream};
use loadpilot_events::log::envelope::EVENT_VERSION;
use loadpilot_events::log::req::{Request, RunRequested};
use loadpilot_events::plan::Plan;
use loadpilot_events::wire::subject::Subjects;
use loadpilot_events::{Envelope, EventId, RunId, Timestamp};
use serde_json::{Value, json};

use crate::Trouble;

/// Number of tasks of the plan, each with one call.
const TASKS: u64 = 5;

/// Arrivals per second for each agent.
const RPS_EACH: u64 = 50;

/// Maximum wait for the agents, in µs.
const WAIT_US: u64 = 120_000_000;

/// Time from the decision to start to the start, in µs: the time offered for a fleet.
const LEAD_US: u64 = 3_000_000;

/// Requests a run of `agents` agents that offers load for `secs` seconds.
pub(crate) async fn ask(
    bus: &Bus,
    subjects: &Subjects,
    (agents, secs): (u32, u64),
    now: Timestamp,
) -> Result<RunId, Trouble> {
    let run = RunId::from_ulid(ulid::Ulid::generate());
    let request = request(agents, secs)?;
    let event = Envelope {
        v: EVENT_VERSION,
        id: EventId::from_ulid(ulid::Ulid::generate()),
        at: now,
        event: Request::RunRequested(Box::new(request)),
    };
    let payload = Bytes::from(serde_json::to_vec(&event)?);
    bus.append(Stream::Ctl, &subjects.req(&run), event.id.as_str(), payload)
        .await?;
    Ok(run)
}

/// The plan of the request.
pub(crate) fn request(agents: u32, secs: u64) -> Result<RunRequested, Trouble> {
    let wanted = json!({"want": agents, "min": agents, "wait_us": WAIT_US});
    Ok(serde_json::from_value(json!({
        "plan": plan(agents, secs)?, "seed": 1, "agents": wanted, "lead_us": LEAD_US,
    }))?)
}

fn plan(agents: u32, secs: u64) -> Result<Plan, Trouble> {
    let rate = u64::from(agents) * RPS_EACH * 1_000_000;
    let task = |number: u64| -> Value {
        let step = json!({"name": format!("GET /{number}"), "method": "GET",
            "path": format!("/{number}"), "headers": []});
        json!({"name": format!("task_{number}"), "weight": 1, "steps": [step]})
    };
    let tasks: Vec<Value> = (1..=TASKS).map(task).collect();
    Ok(serde_json::from_value(json!({
        "schema": "loadpilot.plan/1", "scenario": "Crowd", "target": "http://127.0.0.1:1",
        "profile": {"shape": "constant", "pieces": [
            {"duration_us": secs * 1_000_000, "from": rate, "to": rate}]},
        "tasks": tasks, "warm_up_us": 0, "timeout_us": 1_000_000, "max_wait_us": 0,
        "max_lateness_us": 500_000, "tick_us": 1_000_000,
    }))?)
}

//! Runs that callers of the gateway post: checks and submits them.
//!
//! Must never parse a body while the GIL is held.

use std::collections::BTreeMap;

use bytes::Bytes;
use loadpilot_client::idempotency::{IdempotencyKey, SubmittedRun};
use loadpilot_client::run_request::{self, PostedRun, RequestDefaults, problems};
use loadpilot_engine::check;
use loadpilot_engine::check::changes::{Changes, adjust};
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::threshold::Metric;
use loadpilot_events::refusal::{Problem, Refusal, first};
use loadpilot_events::units;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use serde_json::{Value, json};

use super::errors::{failed, invalid};
use super::plans::facts;
use super::session::PySession;
use crate::session::SessionError;

/// Defaults of a request: number of agents, timeout for them and lead, both in µs.
type Defaults = (u32, u64, u64);

fn read(
    body: &[u8],
    (agents, wait_us, lead_us): Defaults,
    seed: u64,
) -> Result<PostedRun, SessionError> {
    let defaults = RequestDefaults {
        seed,
        agents,
        wait_us,
        lead_us,
    };
    Ok(run_request::read(body, &defaults)?)
}

/// Checks a posted body; JSON: `{"problems", "facts"}`.
#[pyfunction]
pub(super) fn check_asked(
    py: Python<'_>,
    body: PyBackedBytes,
    defaults: Defaults,
) -> PyResult<String> {
    py.detach(|| {
        let answer = match read(&body, defaults, 0) {
            Ok(posted) => {
                let problems = problems(&posted.request, &posted.secrets, &posted.bodies);
                let plan = &posted.request.plan;
                // An invalid plan has no workload.
                let is_valid = check::plan(plan).is_empty();
                let workload = is_valid.then(|| Workload::new(plan, posted.request.seed));
                let facts = workload.map(|workload| facts(plan, &workload));
                json!({ "problems": first(problems), "facts": facts })
            }
            Err(SessionError::Refused(Refusal { problems })) => {
                json!({ "problems": first(problems), "facts": null })
            }
            Err(other) => return Err(other),
        };
        Ok(answer.to_string())
    })
    .map_err(|error| failed(py, &error))
}

/// Changes the plan of a posted body; JSON: `{"plan", "agents", "seed", "problems", "facts",
/// "form"}`. Fields of the body beside `plan` are not read.
#[pyfunction]
pub(super) fn adjust_asked(
    py: Python<'_>,
    body: PyBackedBytes,
    changes: &str,
    defaults: Defaults,
) -> PyResult<String> {
    let changes: Changes = serde_json::from_str(changes)
        .map_err(|error| invalid(&Problem::new("changes", error.to_string(), "")))?;
    py.detach(|| {
        let (agents, wait_us, lead_us) = defaults;
        let answer = match run_request::plan_of(&body) {
            Ok(plan) => adjusted(
                &RequestDefaults {
                    seed: 0,
                    agents,
                    wait_us,
                    lead_us,
                }
                .request(plan),
                &changes,
            ),
            Err(problem) => json!({
                "plan": null, "agents": null, "seed": null, "problems": [problem],
                "facts": null, "form": null,
            }),
        };
        Ok(answer.to_string())
    })
}

fn adjusted(request: &RunRequested, changes: &Changes) -> Value {
    let (request, mut problems) = adjust(request, changes);
    problems.extend(check::request(&request));
    let workload = problems
        .is_empty()
        .then(|| Workload::new(&request.plan, request.seed));
    json!({
        "plan": serde_json::to_string_pretty(&request.plan).unwrap_or_default(),
        "agents": request.agents,
        "seed": changes.seed.as_ref().map(|_| request.seed),
        "facts": workload.map(|workload| facts(&request.plan, &workload)),
        "form": form(&request.plan),
        "problems": first(problems),
    })
}

/// The settings of a plan as people write them, for a form.
fn form(plan: &Plan) -> Value {
    let lengths = plan.profile.pieces.iter().map(|piece| piece.duration_us);
    let closed = plan.users.is_some();
    let offered = Metric::ALL.into_iter();
    let metrics = offered.filter(|metric| !(closed && metric.needs_schedule()));
    let gates = plan.thresholds.iter().map(|gate| {
        json!({
            "key": gate.key(),
            "operator": gate.operator(),
            "limit": format!("{}", gate.limit),
        })
    });
    json!({
        "scenario": plan.scenario,
        "target": plan.target,
        "rate": (!closed).then(|| units::format_rate(plan.profile.peak())),
        "users": plan.users,
        "duration": units::format_duration(lengths.fold(0, u64::saturating_add)),
        "warm_up": units::format_duration(plan.warm_up_us),
        "thresholds": gates.collect::<Vec<_>>(),
        "metrics": metrics
            .map(|metric| json!({"key": metric.key(), "operator": metric.operator()}))
            .collect::<Vec<_>>(),
        "tasks": plan.tasks.iter().map(|task| &task.name).collect::<Vec<_>>(),
        "secrets": plan.secrets(),
        "objects": plan.objects(),
        "prepared": plan.prepared().is_some(),
    })
}

/// Submits a posted run, once for each key of a caller; JSON: `{"run", "is_new"}`. `bodies` are
/// those that the caller did not post, by their SHA-256.
#[pyfunction]
#[pyo3(signature = (session, body, defaults, seed, key = None, caller = "", bodies = None))]
#[expect(
    clippy::too_many_arguments,
    reason = "the Python interface has them by name"
)]
pub(super) fn ask(
    py: Python<'_>,
    session: &PySession,
    body: PyBackedBytes,
    defaults: Defaults,
    seed: u64,
    key: Option<&str>,
    caller: &str,
    bodies: Option<BTreeMap<String, PyBackedBytes>>,
) -> PyResult<String> {
    let key = key.map(|key| IdempotencyKey::of(key, caller));
    let connection = session.connection();
    let mut session = connection.lock(py)?;
    let submission = async {
        let posted = read(&body, defaults, key.map_or(seed, |key| key.seed()))?;
        if let Some(run) = posted.run {
            let rule = "must be absent: the gateway creates it; send an Idempotency-Key instead";
            return Err(Problem::new("run", rule, run).into());
        }
        let (request, secrets) = (posted.request, posted.secrets);
        let stored = bodies.into_iter().flatten();
        let mut bodies: BTreeMap<String, Bytes> = stored
            .map(|(sha256, content)| (sha256, Bytes::from_owner(content)))
            .collect();
        bodies.extend(posted.bodies);
        match key {
            Some(key) => session.submit_once(request, &secrets, &bodies, key).await,
            None => {
                let run = session.submit(request, &secrets, &bodies, None).await?;
                Ok(SubmittedRun { run, is_new: true })
            }
        }
    };
    let submitted = connection.result(py, submission)?;
    Ok(json!({ "run": submitted.run, "is_new": submitted.is_new }).to_string())
}

//! What a caller of the gateway posts, as Python hands it on: read, judged and asked for in Rust.
//!
//! Must never parse a large text while the GIL is held.

use loadpilot_client::idempotency::{IdempotencyKey, SubmittedRun};
use loadpilot_client::run_request::{self, PostedRun, RequestDefaults, problems};
use loadpilot_client::session::SessionError;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::refusal::{Problem, Refusal, first};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use serde_json::json;

use crate::python::{PySession, facts, failed, wait};

/// What holds where a caller says nothing: how many agents, their patience and the lead, in µs.
type Given = (u32, u64, u64);

fn read(
    body: &[u8],
    (agents, wait_us, lead_us): Given,
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

/// Judges what was posted; JSON: `{"problems", "facts"}`.
#[pyfunction]
pub(crate) fn check_asked(py: Python<'_>, body: PyBackedBytes, given: Given) -> PyResult<String> {
    py.detach(|| {
        let answer = match read(&body, given, 0) {
            Ok(asked) => {
                let problems = problems(&asked.request, &asked.secrets, &asked.bodies);
                let plan = &asked.request.plan;
                // What a plan amounts to can be told of a sound one only.
                let is_sound = loadpilot_engine::check::plan(plan).is_empty();
                let workload = is_sound.then(|| Workload::new(plan, asked.request.seed));
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

/// Asks for the run that was posted, once for each key of a caller; JSON: `{"run", "is_new"}`.
#[pyfunction]
#[pyo3(signature = (session, body, given, seed, key = None, caller = ""))]
pub(crate) fn ask(
    py: Python<'_>,
    session: &PySession,
    body: PyBackedBytes,
    given: Given,
    seed: u64,
    key: Option<&str>,
    caller: &str,
) -> PyResult<String> {
    let mark = key.map(|key| IdempotencyKey::of(key, caller));
    let runtime = session.runtime();
    let mut guard = session.alone(py)?;
    let session = &mut *guard;
    let asking = async {
        let asked = read(&body, given, mark.map_or(seed, |mark| mark.seed()))?;
        if let Some(run) = asked.run {
            let rule = "is made up here; say an Idempotency-Key instead";
            return Err(Problem::new("run", rule, run).into());
        }
        let (request, secrets, bodies) = (asked.request, asked.secrets, asked.bodies);
        match mark {
            Some(mark) => session.submit_once(request, &secrets, &bodies, mark).await,
            None => {
                let run = session.submit(request, &secrets, &bodies, None).await?;
                Ok(SubmittedRun { run, is_new: true })
            }
        }
    };
    let once = wait(py, &runtime, asking)?.map_err(|error| failed(py, &error))?;
    Ok(json!({ "run": once.run, "is_new": once.is_new }).to_string())
}

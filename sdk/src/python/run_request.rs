//! Runs that callers of the gateway post: checks and submits them.
//!
//! Must never parse a body while the GIL is held.

use loadpilot_client::idempotency::{IdempotencyKey, SubmittedRun};
use loadpilot_client::run_request::{self, PostedRun, RequestDefaults, problems};
use loadpilot_engine::check;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::refusal::{Problem, Refusal, first};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use serde_json::json;

use super::errors::failed;
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

/// Submits a posted run, once for each key of a caller; JSON: `{"run", "is_new"}`.
#[pyfunction]
#[pyo3(signature = (session, body, defaults, seed, key = None, caller = ""))]
pub(super) fn ask(
    py: Python<'_>,
    session: &PySession,
    body: PyBackedBytes,
    defaults: Defaults,
    seed: u64,
    key: Option<&str>,
    caller: &str,
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
        let (request, secrets, bodies) = (posted.request, posted.secrets, posted.bodies);
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

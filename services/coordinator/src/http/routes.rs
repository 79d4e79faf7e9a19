//! The routes of the interface: submits, stops and reports runs.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use loadpilot_client::indexed_run::metric_export::{
    Figures, Format, coordinator_families, exposition,
};
use loadpilot_events::refusal::Problem;
use loadpilot_events::{OwnerId, RunId, Timestamp};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;

use super::api::Api;
use super::error::HttpError;
use super::follow::{self, Attached};
use super::guard::guard;
use super::request_body;
use super::teardown;
use loadpilot_client::run_request::{self, PostedRun, RequestDefaults};

/// Author of a stop over HTTP.
const BY: &str = "a caller of the HTTP API";
/// Author of a halt over HTTP.
const BY_HALT: &str = "a caller of the HTTP API (halt)";

/// All routes, behind the guard.
pub(super) fn routes(api: Api) -> Router {
    let guard = middleware::from_fn_with_state(api.clone(), guard);
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/run", post(run))
        .route("/run/{run}/report", get(report))
        .route("/run/{run}/stop", post(stop))
        .route("/run/{run}/halt", post(halt))
        .nest("/run/{run}/owed", teardown::routes())
        .fallback(|| async {
            HttpError::NotFound("unknown path; POST /run submits a run".to_owned())
        })
        .layer(guard)
        .with_state(api)
}

/// The query of `POST /run`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunQuery {
    /// Answer at once; the run continues without the caller.
    #[serde(default)]
    detach: bool,
    /// Send all updates, timeline and snapshots, from the request on.
    #[serde(default)]
    events: bool,
}

async fn ready(State(api): State<Api>) -> Result<&'static str, HttpError> {
    match api.status.unready() {
        Some(reason) => Err(HttpError::Unavailable(reason.to_owned())),
        None => Ok("ready\n"),
    }
}

/// Metrics of this process and, with `--export-runs`, of the runs in the log.
async fn metrics(State(api): State<Api>, headers: HeaderMap) -> Response {
    let accept = headers.get_all(header::ACCEPT).iter();
    let accept: Vec<&str> = accept.filter_map(|value| value.to_str().ok()).collect();
    let format = Format::negotiated(&accept.join(","));
    let mut families = api.status.families();
    let body = match &api.exported_runs {
        None => exposition(format, &[], families),
        Some(runs) => {
            let mut runs = runs.lock().await;
            // Without NATS, the figures of the last read are shown, and nats_up is 0.
            if let Err(error) = runs.refresh(&api.session(), now()).await {
                tracing::warn!(%error, "runs cannot be read for /metrics");
            }
            families.extend(coordinator_families(runs.counts()));
            let figures: Vec<&Figures> = runs.figures().collect();
            exposition(format, &figures, families)
        }
    };
    ([(header::CONTENT_TYPE, format.content_type())], body).into_response()
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let us = since.map_or(0, |since| since.as_micros());
    Timestamp(u64::try_from(us).unwrap_or(u64::MAX))
}

async fn run(
    State(api): State<Api>,
    query: Result<Query<RunQuery>, QueryRejection>,
    request: Request,
) -> Result<Response, HttpError> {
    let query = query.map_err(|error| {
        let rule = "must be detach=true or events=true, or nothing";
        Problem::new("query", rule, error.body_text())
    });
    let Query(query) = query?;
    if let Some(reason) = api.status.unready() {
        return Err(HttpError::Unavailable(reason.to_owned()));
    }
    let permit = match query.detach {
        true => None,
        false => Some(follow_permit(&api)?),
    };
    let posted = read(&api, request).await?;
    let (attached, run) = submit(&api, posted, query.detach).await?;
    let Some((attached, permit)) = attached.zip(permit) else {
        return Ok((StatusCode::ACCEPTED, Json(json!({ "run_id": run }))).into_response());
    };
    follow::answer(api, attached, permit, query.events).await
}

fn follow_permit(api: &Api) -> Result<OwnedSemaphorePermit, HttpError> {
    let permit = api.follow_permits.clone().try_acquire_owned();
    permit.map_err(|_| HttpError::Unavailable("too many runs are followed here".to_owned()))
}

async fn read(api: &Api, request: Request) -> Result<PostedRun, HttpError> {
    let body = request_body::read(api, request).await?;
    let random = ulid::Ulid::generate().0;
    let seed = u64::try_from(random & u128::from(u64::MAX)).unwrap_or_default();
    Ok(run_request::read(&body, &RequestDefaults::for_fleet(seed))?)
}

/// Stores the request. A run that is not detached stops with [`Attached`].
async fn submit(
    api: &Api,
    posted: PostedRun,
    detach: bool,
) -> Result<(Option<Attached>, RunId), HttpError> {
    let PostedRun {
        mut request,
        run,
        secrets,
        bodies,
        claimant,
    } = posted;
    // A run with a setup is in the log already; its claim decides whether it may be requested.
    if let (Some(run), None) = (&run, &claimant)
        && api.has_request(run).await?
    {
        return Err(Problem::new("run", "must be new", run).into());
    }
    if !detach {
        let owner = format!("http-{}", ulid::Ulid::generate()).to_ascii_lowercase();
        request.owner = Some(OwnerId::parse(&owner)?);
    }
    let mut session = api.session();
    session.set_up = run.clone().zip(claimant);
    let run = session.submit(request, &secrets, &bodies, run).await?;
    tracing::info!(%run, detach, "requested over HTTP");
    let attached = (!detach).then(|| Attached::new(session, run.clone()));
    Ok((attached, run))
}

async fn report(State(api): State<Api>, Path(run): Path<String>) -> Result<Response, HttpError> {
    let (session, run) = api.known_run(&run).await?;
    Ok(Json(session.report(&run).await?).into_response())
}

async fn stop(State(api): State<Api>, Path(run): Path<String>) -> Result<Response, HttpError> {
    let (session, run) = api.known_run(&run).await?;
    session.stop(&run, BY).await?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "run_id": run }))).into_response())
}

async fn halt(State(api): State<Api>, Path(run): Path<String>) -> Result<Response, HttpError> {
    let (session, run) = api.known_run(&run).await?;
    session.halt(&run).await?;
    // The kill switch is not stored as an event; this request stores its author.
    session.stop(&run, BY_HALT).await?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "run_id": run }))).into_response())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::body::Body;
    use loadpilot_bus::Bus;
    use loadpilot_events::wire::subject::Subjects;
    use tokio::sync::{Semaphore, watch};

    use super::super::status::{Facts, Status};
    use super::*;

    /// The interface of a coordinator that already follows its maximum number of runs.
    async fn busy_api() -> Api {
        let bus = Bus::memory();
        bus.open_log().await.expect("streams");
        let status = Status::default();
        status.set(Facts {
            caught_up: true,
            linked: true,
            runs_open: 0,
            agents_heard: 0,
            agents_wanted: 0,
        });
        Api {
            bus,
            subjects: Subjects::new("lp", "local").expect("tokens"),
            status,
            token: None,
            is_tls: false,
            body_permits: Arc::new(Semaphore::new(1)),
            follow_permits: Arc::new(Semaphore::new(0)),
            ending: watch::channel(false).1,
            exported_runs: None,
        }
    }

    /// Broken if a run that no caller follows is refused because others are followed.
    #[tokio::test]
    async fn a_detached_run_needs_no_room_to_follow_it() {
        let api = busy_api().await;
        for detach in [true, false] {
            let query = Query(RunQuery {
                detach,
                events: false,
            });
            let plan = include_str!("../../../../proto/golden/plan-closed.v1.json");
            let posted = Request::builder()
                .header(header::CONTENT_TYPE, "application/json")
                .body(Body::from(plan))
                .expect("a request");
            match run(State(api.clone()), Ok(query), posted).await {
                Ok(answer) => assert!(detach && answer.status() == StatusCode::ACCEPTED),
                Err(HttpError::Unavailable(_)) => assert!(!detach),
                Err(other) => panic!("{other:?}"),
            }
        }
    }
}

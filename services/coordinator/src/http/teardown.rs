//! Setup and teardown of a run for a caller without NATS: the claims of [`loadpilot_client`], as
//! paths. The caller sends a heartbeat once a second, so that any coordinator can answer any path.
//! Must never send a secret to a caller without a token.

use std::collections::BTreeMap;

use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use loadpilot_engine::check;
use loadpilot_events::log::teardown::SetupClaimed;
use loadpilot_events::{OwnerId, RunId};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::api::Api;
use super::error::HttpError;
use super::request_body;
use loadpilot_client::run_request;
use loadpilot_client::teardown::{ClaimResult, TeardownInputs, TeardownStatus};

/// The paths below `/run/{run}/owed`.
pub(super) fn routes() -> Router<Api> {
    Router::new()
        .route("/", get(owed))
        .route("/setup", post(set_up))
        .route("/states", post(keep))
        .route("/alive", post(beat))
        .route("/claim", post(claim))
        .route("/finish", post(finish))
        .route("/means", get(means))
        .route("/kept", get(archive))
}

/// A claim of a setup, before it is played.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetupForm {
    claim: Box<SetupClaimed>,
    /// Archive that the claim names, in base64.
    bundle: String,
    #[serde(default)]
    secrets: BTreeMap<String, String>,
}

/// The states that a setup produced so far.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatesForm {
    claimant: OwnerId,
    /// Sealed with `key`, in base64.
    states: String,
    key: String,
}

/// A heartbeat of the claimant.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AliveForm {
    claimant: OwnerId,
}

/// A claim of a teardown, before it is played.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimForm {
    claimant: OwnerId,
    /// User and machine of the claimant, for messages.
    by: String,
}

/// The result of a teardown.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FinishForm {
    claimant: OwnerId,
    /// Names of the methods that failed.
    failed: Vec<String>,
}

/// Selects one of two archives.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArchiveQuery {
    /// Selects the states that the setup produced, instead of the scenario's files.
    #[serde(default)]
    states: bool,
}

async fn owed(
    State(api): State<Api>,
    Path(run): Path<String>,
) -> Result<Json<TeardownStatus>, HttpError> {
    let (session, run) = api.known_run(&run).await?;
    Ok(Json(session.teardown_status(&run).await?))
}

async fn set_up(
    State(api): State<Api>,
    Path(run): Path<String>,
    request: Request,
) -> Result<StatusCode, HttpError> {
    let run = RunId::parse(&run)?;
    let form: SetupForm = read(&api, request).await?;
    let problems = check::plan(&form.claim.plan);
    if !problems.is_empty() {
        return Err(HttpError::Invalid(problems));
    }
    let bundle = run_request::from_base64("bundle", &form.bundle, "not shown")?;
    let mut session = api.session();
    session
        .claim_setup(&run, *form.claim, bundle, &form.secrets)
        .await?;
    Ok(StatusCode::CREATED)
}

async fn keep(
    State(api): State<Api>,
    Path(run): Path<String>,
    request: Request,
) -> Result<StatusCode, HttpError> {
    let (session, run) = api.known_run(&run).await?;
    let form: StatesForm = read(&api, request).await?;
    let states = run_request::from_base64("states", &form.states, "not shown")?;
    session
        .store_setup_states(&run, &form.claimant, states, &form.key)
        .await?;
    Ok(StatusCode::CREATED)
}

async fn beat(
    State(api): State<Api>,
    Path(run): Path<String>,
    request: Request,
) -> Result<StatusCode, HttpError> {
    let run = RunId::parse(&run)?;
    let form: AliveForm = read(&api, request).await?;
    let session = api.session();
    session.beat(&run, &form.claimant).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn claim(
    State(api): State<Api>,
    Path(run): Path<String>,
    request: Request,
) -> Result<Json<ClaimResult>, HttpError> {
    let (mut session, run) = api.known_run(&run).await?;
    let form: ClaimForm = read(&api, request).await?;
    let claimed = session.claim_teardown(&run, &form.claimant, &form.by, false);
    Ok(Json(claimed.await?))
}

async fn finish(
    State(api): State<Api>,
    Path(run): Path<String>,
    request: Request,
) -> Result<StatusCode, HttpError> {
    let (session, run) = api.known_run(&run).await?;
    let form: FinishForm = read(&api, request).await?;
    session
        .finish_teardown(&run, &form.claimant, form.failed)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn means(
    State(api): State<Api>,
    Path(run): Path<String>,
) -> Result<Json<TeardownInputs>, HttpError> {
    if api.token.is_none() {
        let reason =
            "a teardown is played with secrets, which only a coordinator with a token gives";
        return Err(HttpError::Forbidden(reason));
    }
    let (session, run) = api.known_run(&run).await?;
    Ok(Json(session.teardown_inputs(&run).await?))
}

async fn archive(
    State(api): State<Api>,
    Path(run): Path<String>,
    Query(query): Query<ArchiveQuery>,
) -> Result<impl IntoResponse, HttpError> {
    let (session, run) = api.known_run(&run).await?;
    Ok(session.teardown_archive(&run, query.states).await?)
}

async fn read<T: DeserializeOwned>(api: &Api, request: Request) -> Result<T, HttpError> {
    Ok(run_request::form(&request_body::read(api, request).await?)?)
}

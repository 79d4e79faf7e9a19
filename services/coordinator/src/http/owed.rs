//! Setup and teardown of a run for a submitter without NATS: the claims of [`loadpilot_client`], as
//! paths. The caller says each second that it lives, so that any coordinator can answer anything.
//! Must never hand out a secret to somebody who has shown no token.

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

use super::Api;
use super::answer::No;
use super::routes::{body, known};
use loadpilot_client::run_request;
use loadpilot_client::teardown::{ClaimResult, TeardownInputs, TeardownStatus};

/// What stands below `/run/{run}/owed`.
pub(super) fn routes() -> Router<Api> {
    Router::new()
        .route("/", get(owed))
        .route("/setup", post(set_up))
        .route("/states", post(keep))
        .route("/alive", post(beat))
        .route("/claim", post(claim))
        .route("/finish", post(finish))
        .route("/means", get(means))
        .route("/kept", get(kept))
}

/// A setup that is about to begin.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetupForm {
    claim: Box<SetupClaimed>,
    /// The archive that the claim names, base64.
    bundle: String,
    #[serde(default)]
    secrets: BTreeMap<String, String>,
}

/// What a setup has left.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatesForm {
    claimant: OwnerId,
    /// Sealed with `key`, base64.
    states: String,
    key: String,
}

/// Somebody who lives.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AliveForm {
    claimant: OwnerId,
}

/// Somebody who is about to play a teardown.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimForm {
    claimant: OwnerId,
    /// Who that is, for people.
    by: String,
}

/// A teardown that was played.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FinishForm {
    claimant: OwnerId,
    /// The methods that failed.
    failed: Vec<String>,
}

/// Which of both is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    /// What the setup left; else the scenario's files.
    #[serde(default)]
    states: bool,
}

async fn owed(State(api): State<Api>, Path(run): Path<String>) -> Result<Json<TeardownStatus>, No> {
    let (session, run) = known(&api, &run).await?;
    Ok(Json(session.teardown_status(&run).await?))
}

async fn set_up(
    State(api): State<Api>,
    Path(run): Path<String>,
    request: Request,
) -> Result<StatusCode, No> {
    let run = RunId::parse(&run)?;
    let form: SetupForm = read(&api, request).await?;
    let problems = check::plan(&form.claim.plan);
    if !problems.is_empty() {
        return Err(No::Bad(problems));
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
) -> Result<StatusCode, No> {
    let (session, run) = known(&api, &run).await?;
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
) -> Result<StatusCode, No> {
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
) -> Result<Json<ClaimResult>, No> {
    let (mut session, run) = known(&api, &run).await?;
    let form: ClaimForm = read(&api, request).await?;
    let claimed = session.claim_teardown(&run, &form.claimant, &form.by, false);
    Ok(Json(claimed.await?))
}

async fn finish(
    State(api): State<Api>,
    Path(run): Path<String>,
    request: Request,
) -> Result<StatusCode, No> {
    let (session, run) = known(&api, &run).await?;
    let form: FinishForm = read(&api, request).await?;
    session
        .finish_teardown(&run, &form.claimant, form.failed)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn means(
    State(api): State<Api>,
    Path(run): Path<String>,
) -> Result<Json<TeardownInputs>, No> {
    if api.token.is_none() {
        let why = "a teardown is played with secrets, which only a coordinator with a token gives";
        return Err(No::Forbidden(why));
    }
    let (session, run) = known(&api, &run).await?;
    Ok(Json(session.teardown_inputs(&run).await?))
}

async fn kept(
    State(api): State<Api>,
    Path(run): Path<String>,
    Query(which): Query<Which>,
) -> Result<impl IntoResponse, No> {
    let (session, run) = known(&api, &run).await?;
    Ok(session.teardown_archive(&run, which.states).await?)
}

async fn read<T: DeserializeOwned>(api: &Api, request: Request) -> Result<T, No> {
    Ok(run_request::form(&body(api, request).await?)?)
}

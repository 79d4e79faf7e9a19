//! The stream of `POST /run`: a line of JSON a second, for as long as the caller reads. When the
//! connection ends, the run is stopped. Must never buffer lines for a slow caller.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use loadpilot_bus::Fault;
use loadpilot_events::RunId;
use loadpilot_events::answers::certificate::Grade;
use loadpilot_events::answers::report::{Report, RunState};
use loadpilot_events::log::ctl::Ending;
use serde::Serialize;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use super::api::Api;
use super::error::HttpError;
use super::status::Following;
use loadpilot_client::follow::{RunUpdate, follow_run};
use loadpilot_client::session::Session;

/// Media type of lines of JSON.
const LINES_TYPE: &str = "application/x-ndjson";
/// Author of the stop of a run whose caller is gone.
const GONE: &str = "the HTTP API: its caller is gone";
/// Author of the stop of a run that cannot be followed any more.
const LEFT: &str = "the HTTP API: it cannot follow the run any more";

/// A run, and the session that keeps it owned. Dropping it before the end stops the run.
#[derive(Debug)]
pub(super) struct Attached {
    session: Option<Session>,
    run: RunId,
    over: bool,
}

impl Attached {
    pub(super) fn new(session: Session, run: RunId) -> Self {
        Self {
            session: Some(session),
            run,
            over: false,
        }
    }

    /// Stops the run, and waits until the request is stored.
    async fn stop(&mut self, by: &str) {
        let Some(session) = &self.session else {
            return;
        };
        self.over = true;
        if let Err(error) = session.stop(&self.run, by).await {
            let run = &self.run;
            tracing::warn!(%run, %error, "not stopped: it stops when its owner is missed");
        }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let Some(session) = self.session.take().filter(|_| !self.over) else {
            return;
        };
        let run = self.run.clone();
        // Without a runtime the process ends, and the run with its owner's beat.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            if let Err(error) = session.stop(&run, GONE).await {
                tracing::warn!(%run, %error, "not stopped: it stops when its owner is missed");
            }
        });
    }
}

/// Answers with the stream of a run: with `events` at once; else when agents have the run, since
/// until then it may be refused.
pub(super) async fn answer(
    api: Api,
    attached: Attached,
    place: OwnedSemaphorePermit,
    events: bool,
) -> Result<Response, HttpError> {
    let changes = follow_run(api.bus.clone(), api.subjects.clone(), attached.run.clone());
    let run = attached.run.clone();
    let mut lines = Lines {
        attached,
        changes,
        events,
        ready: VecDeque::new(),
        ended: false,
        ending: api.ending.clone(),
        _following: api.status.follow(),
        _place: place,
    };
    if events {
        lines.ready.push_back(line(&json!({ "accepted": run })));
    } else {
        lines.admitted().await?;
    }
    let stream = futures_util::stream::unfold(lines, |mut lines| async move {
        let line = lines.next().await?;
        Some((Ok::<Bytes, Infallible>(line), lines))
    });
    let kind = [(header::CONTENT_TYPE, LINES_TYPE)];
    Ok((kind, Body::from_stream(stream)).into_response())
}

struct Lines {
    attached: Attached,
    changes: mpsc::Receiver<RunUpdate>,
    events: bool,
    ready: VecDeque<Bytes>,
    /// Whether `ready` holds the last lines.
    ended: bool,
    ending: watch::Receiver<bool>,
    _following: Following,
    _place: OwnedSemaphorePermit,
}

impl Lines {
    /// Waits until agents have the run.
    ///
    /// # Errors
    /// When it was refused, or cannot be followed.
    async fn admitted(&mut self) -> Result<(), HttpError> {
        loop {
            match self.change().await {
                RunUpdate::Snapshot(snapshot) => {
                    let waits = matches!(snapshot.state, RunState::Requested | RunState::Gathering);
                    if !waits {
                        self.ready.push_back(line(&snapshot));
                        return Ok(());
                    }
                }
                RunUpdate::Story(_) | RunUpdate::Unstored(_) => {}
                RunUpdate::Sealed(_) => {
                    self.attached.over = true;
                    self.ended = true;
                    let report = self.report().await?;
                    if report.run.state == RunState::Refused {
                        return Err(HttpError::Refused(report.run.refused));
                    }
                    self.ready.push_back(line(&Ended::of(&report)));
                    return Ok(());
                }
                RunUpdate::Fault(why) => {
                    self.attached.stop(LEFT).await;
                    return Err(HttpError::Unavailable(why));
                }
            }
        }
    }

    /// The next line; `None` after the last.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(line);
            }
            if self.ended {
                return None;
            }
            match self.change().await {
                RunUpdate::Snapshot(snapshot) if !self.events => {
                    self.ready.push_back(line(&snapshot))
                }
                RunUpdate::Story(_) if !self.events => {}
                RunUpdate::Unstored(why) if !self.events => {
                    self.ready.push_back(line(&json!({ "warning": why })));
                }
                RunUpdate::Sealed(_) => {
                    self.attached.over = true;
                    self.ended = true;
                    let last = match (self.events, self.report().await) {
                        (true, _) => line(&RunUpdate::Sealed(true)),
                        (false, Ok(report)) => line(&Ended::of(&report)),
                        (false, Err(_)) => line(&json!({ "error": "its log cannot be read" })),
                    };
                    self.ready.push_back(last);
                }
                RunUpdate::Fault(why) => {
                    self.attached.stop(LEFT).await;
                    self.ended = true;
                    let last = match self.events {
                        true => line(&RunUpdate::Fault(why)),
                        false => line(&json!({ "error": why })),
                    };
                    self.ready.push_back(last);
                }
                change => self.ready.push_back(line(&change)),
            }
        }
    }

    /// The next change; a fault when this coordinator ends.
    async fn change(&mut self) -> RunUpdate {
        let fault = || RunUpdate::Fault("this coordinator ends; the run is stopped".to_owned());
        tokio::select! {
            change = self.changes.recv() => change.unwrap_or_else(|| {
                RunUpdate::Fault(Fault::Disconnected.to_string())
            }),
            _ = self.ending.wait_for(|ends| *ends) => fault(),
        }
    }

    async fn report(&self) -> Result<Report, HttpError> {
        let session = self.attached.session.as_ref();
        let session = session.ok_or_else(|| HttpError::Unavailable("it is over".to_owned()))?;
        Ok(session.report(&self.attached.run).await?)
    }
}

/// The last line: how the run ended, and figures under their names in the report.
#[derive(Serialize)]
struct Ended<'a> {
    run_id: &'a RunId,
    state: RunState,
    ending: Option<Ending>,
    passed: bool,
    certificate: Grade,
    digest: &'a str,
    scenario: &'a str,
    target_url: &'a str,
    rps_target: f64,
    rps_actual: f64,
    requests_total: u64,
    errors_total: u64,
    error_rate_pct: Option<f64>,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
    max_ms: Option<f64>,
    duration_secs: f64,
}

impl<'a> Ended<'a> {
    fn of(report: &'a Report) -> Self {
        Self {
            run_id: &report.run.id,
            state: report.run.state,
            ending: report.run.ending,
            passed: report.verdict.passed,
            certificate: report.certificate.grade,
            digest: &report.digest,
            scenario: &report.scenario,
            target_url: &report.target_url,
            rps_target: report.rps_target,
            rps_actual: report.rps_actual,
            requests_total: report.requests_total,
            errors_total: report.errors_total,
            error_rate_pct: report.error_rate_pct,
            p50_ms: report.p50_ms,
            p95_ms: report.p95_ms,
            p99_ms: report.p99_ms,
            max_ms: report.max_ms,
            duration_secs: report.duration_secs,
        }
    }
}

fn line(value: &impl Serialize) -> Bytes {
    // Strings, integers and finite floats can always be written.
    let mut text = serde_json::to_vec(value).unwrap_or_default();
    text.push(b'\n');
    Bytes::from(text)
}

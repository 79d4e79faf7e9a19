//! The stream of `POST /run`: one line of JSON per second, for as long as the caller reads. The end
//! of the connection stops the run. Must never buffer lines for a slow caller.

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
use loadpilot_client::follow::{Detail, RunUpdate, follow_run};
use loadpilot_client::session::Session;

/// Media type of lines of JSON.
const LINES_TYPE: &str = "application/x-ndjson";
/// Author of the stop of a run whose caller is gone.
const GONE: &str = "the HTTP API: its caller is gone";
/// Author of the stop of a run that cannot be followed any more.
const UNFOLLOWED: &str = "the HTTP API: it cannot follow the run any more";

/// A run, and the session that renews its ownership. Dropping it before the end stops the run.
#[derive(Debug)]
pub(super) struct Attached {
    session: Option<Session>,
    run: RunId,
    is_over: bool,
}

impl Attached {
    pub(super) fn new(session: Session, run: RunId) -> Self {
        Self {
            session: Some(session),
            run,
            is_over: false,
        }
    }

    /// Stops the run, and waits until the request is stored.
    async fn stop(&mut self, by: &str) {
        let Some(session) = &self.session else {
            return;
        };
        self.is_over = true;
        request_stop(session, &self.run, by).await;
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let Some(session) = self.session.take().filter(|_| !self.is_over) else {
            return;
        };
        let run = self.run.clone();
        // Without a runtime the process ends, and the run stops without its owner's heartbeat.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.spawn(async move { request_stop(&session, &run, GONE).await });
    }
}

async fn request_stop(session: &Session, run: &RunId, by: &str) {
    if let Err(error) = session.stop(run, by).await {
        tracing::warn!(%run, %error, "stop not stored: the run ends without its owner");
    }
}

/// Answers with the stream of a run. Without `events` the answer begins only when agents have the
/// run: until then the run may be refused, which has an answer of its own.
pub(super) async fn answer(
    api: Api,
    attached: Attached,
    permit: OwnedSemaphorePermit,
    events: bool,
) -> Result<Response, HttpError> {
    let run = attached.run.clone();
    let detail = Detail::default();
    let updates = follow_run(api.bus.clone(), api.subjects.clone(), run.clone(), detail);
    let mut lines = Lines {
        attached,
        updates,
        events,
        ready: VecDeque::new(),
        is_last: false,
        ending: api.ending.clone(),
        _following: api.status.follow(),
        _permit: permit,
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
    let headers = [(header::CONTENT_TYPE, LINES_TYPE)];
    Ok((headers, Body::from_stream(stream)).into_response())
}

/// The lines of one run.
struct Lines {
    attached: Attached,
    updates: mpsc::Receiver<RunUpdate>,
    events: bool,
    ready: VecDeque<Bytes>,
    /// Whether `ready` contains the last line.
    is_last: bool,
    ending: watch::Receiver<bool>,
    _following: Following,
    _permit: OwnedSemaphorePermit,
}

impl Lines {
    /// Waits until agents have the run.
    ///
    /// # Errors
    /// When the run was refused, or cannot be followed.
    async fn admitted(&mut self) -> Result<(), HttpError> {
        loop {
            match self.update().await {
                RunUpdate::Snapshot(snapshot) => {
                    let waits = matches!(
                        snapshot.state,
                        RunState::Requested | RunState::Waiting | RunState::Gathering
                    );
                    if !waits {
                        self.ready.push_back(line(&snapshot));
                        return Ok(());
                    }
                }
                RunUpdate::Story(_)
                | RunUpdate::Gates(_)
                | RunUpdate::Unstored(_)
                | RunUpdate::Connection(_) => {}
                RunUpdate::Sealed(_) => {
                    self.attached.is_over = true;
                    self.is_last = true;
                    let report = self.report().await?;
                    if report.run.state == RunState::Refused {
                        return Err(HttpError::Refused(report.run.refused));
                    }
                    self.ready.push_back(line(&LastLine::of(&report)));
                    return Ok(());
                }
                RunUpdate::Fault(reason) => {
                    self.attached.stop(UNFOLLOWED).await;
                    return Err(HttpError::Unavailable(reason));
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
            if self.is_last {
                return None;
            }
            match self.update().await {
                RunUpdate::Snapshot(snapshot) if !self.events => {
                    self.ready.push_back(line(&snapshot))
                }
                RunUpdate::Story(_) | RunUpdate::Gates(_) if !self.events => {}
                RunUpdate::Unstored(what) | RunUpdate::Connection(what) if !self.events => {
                    self.ready.push_back(line(&json!({ "warning": what })));
                }
                RunUpdate::Sealed(_) => {
                    self.attached.is_over = true;
                    self.is_last = true;
                    let last = match (self.events, self.report().await) {
                        (true, _) => line(&RunUpdate::Sealed(true)),
                        (false, Ok(report)) => line(&LastLine::of(&report)),
                        (false, Err(_)) => line(&json!({ "error": "its log cannot be read" })),
                    };
                    self.ready.push_back(last);
                }
                RunUpdate::Fault(reason) => {
                    self.attached.stop(UNFOLLOWED).await;
                    self.is_last = true;
                    let last = match self.events {
                        true => line(&RunUpdate::Fault(reason)),
                        false => line(&json!({ "error": reason })),
                    };
                    self.ready.push_back(last);
                }
                update => self.ready.push_back(line(&update)),
            }
        }
    }

    /// The next update; a fault when this coordinator ends.
    async fn update(&mut self) -> RunUpdate {
        let fault = || RunUpdate::Fault("this coordinator ends; the run is stopped".to_owned());
        tokio::select! {
            update = self.updates.recv() => update.unwrap_or_else(|| {
                RunUpdate::Fault(Fault::Disconnected.to_string())
            }),
            _ = self.ending.wait_for(|ends| *ends) => fault(),
        }
    }

    async fn report(&self) -> Result<Report, HttpError> {
        let session = self.attached.session.as_ref();
        let session =
            session.ok_or_else(|| HttpError::Unavailable("the run is over".to_owned()))?;
        Ok(session.report(&self.attached.run).await?)
    }
}

/// The last line: how the run ended, and figures under their names in the report.
#[derive(Serialize)]
struct LastLine<'a> {
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

impl<'a> LastLine<'a> {
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

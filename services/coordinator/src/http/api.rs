//! Shared state of the routes.

use std::sync::Arc;

use loadpilot_bus::{Bus, Stream};
use loadpilot_client::indexed_run::metric_export::ExportedRuns;
use loadpilot_client::session::Session;
use loadpilot_events::RunId;
use loadpilot_events::wire::subject::Subjects;
use tokio::sync::{Mutex, Semaphore, watch};

use super::config::Token;
use super::error::HttpError;
use super::status::Status;

/// Maximum number of bodies that are read at the same time: each is held in memory.
pub(super) const BODIES_MAX: usize = 8;
/// Maximum number of runs that are followed at the same time.
pub(super) const FOLLOWED_MAX: usize = 64;

/// Shared state of the routes.
#[derive(Debug, Clone)]
pub(super) struct Api {
    pub(super) bus: Bus,
    pub(super) subjects: Subjects,
    pub(super) status: Status,
    pub(super) token: Option<Token>,
    pub(super) is_tls: bool,
    pub(super) body_permits: Arc<Semaphore>,
    pub(super) follow_permits: Arc<Semaphore>,
    pub(super) ending: watch::Receiver<bool>,
    /// The runs whose figures are exported; `None` without `--export-runs`.
    pub(super) exported_runs: Option<Arc<Mutex<ExportedRuns>>>,
}

impl Api {
    /// A session on the connection of the interface.
    pub(super) fn session(&self) -> Session {
        Session::on(self.bus.clone(), self.subjects.clone())
    }

    /// The run of this id, if the log contains it, and a session for it.
    pub(super) async fn known_run(&self, run: &str) -> Result<(Session, RunId), HttpError> {
        let unknown = || HttpError::NotFound("unknown run in this log".to_owned());
        let run = RunId::parse(run).map_err(|_| unknown())?;
        match self.has_request(&run).await? {
            true => Ok((self.session(), run)),
            false => Err(unknown()),
        }
    }

    /// Whether the log contains a request event of this run.
    pub(super) async fn has_request(&self, run: &RunId) -> Result<bool, HttpError> {
        let last = self.bus.last(Stream::Ctl, &self.subjects.req(run)).await;
        let last = last.map_err(|fault| HttpError::Unavailable(fault.to_string()))?;
        Ok(last.is_some())
    }
}

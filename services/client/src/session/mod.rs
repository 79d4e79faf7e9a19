//! An open connection to a log: submit, stop, halt, report.
//!
//! - `annotations`: notes about a run that is over
//! - `retry`: repeats a call while the server is away
//! - `session_error`: why a session call failed
//!
//! A session keeps no state of a run: each answer is a fold of the log at the time of the call.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use loadpilot_bus::{AppendError, Appended, Bus, Fault, Stream};
use loadpilot_engine::control::{Control, ControlLog};
use loadpilot_engine::fold::project::Projection;
use loadpilot_engine::report::{NoReport, report};
use loadpilot_events::answers::report::Report;
use loadpilot_events::id::OwnerId;
use loadpilot_events::log::envelope::EVENT_VERSION;
use loadpilot_events::log::req::{Breach, Request, RunRequested, StopRequested};
use loadpilot_events::log::steer::RateChangeRequested;
use loadpilot_events::log::steer::hold::HoldWindow;
use loadpilot_events::plan::Plan;
use loadpilot_events::refusal::Refusal;
use loadpilot_events::units::Rate;
use loadpilot_events::wire::heartbeat::Heartbeat;
use loadpilot_events::wire::subject::{Kind, Subjects};
use loadpilot_events::{Envelope, EventId, RunId, Timestamp};
use serde::Serialize;
use tokio::task::JoinHandle;

use super::delta_stream::DeltaStream;
use super::{bodies, run_request};

mod annotations;
mod retry;
pub(crate) mod session_error;

pub(crate) use retry::{AppendAttempts, SERVER_TIMEOUT, retry_unreachable};
pub use session_error::SessionError;

/// Interval of the heartbeats of a run's owner.
const OWNER_HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// Time for which secrets stay stored beyond the planned length of their run, which may first wait
/// for its admission. The coordinator deletes them when the run is over.
const SECRETS_AFTER_RUN: Duration = Duration::from_secs(7 * 24 * 3600);

/// An open connection.
#[derive(Debug)]
pub struct Session {
    bus: Bus,
    subjects: Subjects,
    owner_beat: Option<JoinHandle<()>>,
    /// The run that this session has set up, and the holder of the run's teardown.
    pub set_up: Option<(RunId, OwnerId)>,
}

impl Session {
    /// A session on an open bus.
    #[must_use]
    pub fn on(bus: Bus, subjects: Subjects) -> Self {
        Self {
            bus,
            subjects,
            owner_beat: None,
            set_up: None,
        }
    }

    /// Clones of the connection and the subjects, to follow a run.
    #[must_use]
    pub fn parts(&self) -> (Bus, Subjects) {
        (self.bus.clone(), self.subjects.clone())
    }

    /// Submits a run: stores its bodies and secrets, then the request, and sends its owner's
    /// heartbeats from now on. `bodies` holds the bodies that the plan names, by their SHA-256;
    /// `run` is its id, if it has one already.
    ///
    /// # Errors
    /// Every problem of the request; or a fault of the bus.
    pub async fn submit(
        &mut self,
        request: RunRequested,
        secrets: &BTreeMap<String, String>,
        bodies: &BTreeMap<String, Bytes>,
        run: Option<RunId>,
    ) -> Result<RunId, SessionError> {
        let problems = run_request::problems(&request, secrets, bodies);
        if !problems.is_empty() {
            return Err(Refusal { problems }.into());
        }
        bodies::store(&self.bus, &self.subjects, &request.plan, bodies).await?;
        let run = run.unwrap_or_else(|| RunId::from_ulid(ulid::Ulid::generate()));
        let owner = request.owner.clone();
        if let Err(error) = self.store_with_secrets(&run, request, secrets).await {
            self.shred_unrequested(&run, &error).await;
            return Err(error);
        }
        if let Some(owner) = owner {
            self.start_owner_beat(&run, &owner);
        }
        Ok(run)
    }

    async fn store_with_secrets(
        &self,
        run: &RunId,
        request: RunRequested,
        secrets: &BTreeMap<String, String>,
    ) -> Result<(), SessionError> {
        self.store_secrets(run, &request, secrets).await?;
        let request = Request::RunRequested(Box::new(request));
        match &self.set_up {
            Some((prepared, claimant)) if prepared == run => {
                self.store_as_claimant(run, claimant, request).await
            }
            _ => self.store(run, request).await.map(|_seq| ()),
        }
    }

    /// Requests a stop: no further call is started, and calls in flight finish. `by` names the
    /// requester.
    ///
    /// # Errors
    /// A fault of the bus.
    pub async fn stop(&self, run: &RunId, by: &str) -> Result<(), SessionError> {
        self.stop_because(run, by, None).await
    }

    /// Requests a stop because of a gate that failed, if there is one.
    ///
    /// # Errors
    /// A fault of the bus.
    pub async fn stop_because(
        &self,
        run: &RunId,
        by: &str,
        breach: Option<Breach>,
    ) -> Result<(), SessionError> {
        let by = by.to_owned();
        self.store(run, Request::StopRequested(StopRequested { by, breach }))
            .await?;
        Ok(())
    }

    /// Requests another rate, to hold the gates of the run.
    ///
    /// # Errors
    /// A fault of the bus.
    pub(crate) async fn change_rate(
        &self,
        run: &RunId,
        by: &str,
        rate: Rate,
        measured: HoldWindow,
    ) -> Result<(), SessionError> {
        let request = RateChangeRequested {
            by: by.to_owned(),
            rate,
            hold: Some(measured),
        };
        self.store(run, Request::RateChangeRequested(request))
            .await?;
        Ok(())
    }

    /// Kill switch: every agent stops at once and cancels calls in flight.
    ///
    /// # Errors
    /// A fault of the bus.
    pub async fn halt(&self, run: &RunId) -> Result<(), SessionError> {
        self.bus
            .publish(&self.subjects.halt(run), bytes::Bytes::new())
            .await?;
        Ok(self.bus.flush().await?)
    }

    /// The report of a run: the fold of its log.
    ///
    /// # Errors
    /// When the log holds no such run; or a fault of the bus.
    pub async fn report(&self, run: &RunId) -> Result<Report, SessionError> {
        let control = self.control(run).await?;
        let data = self.fold(run, &control).await?;
        Ok(report(&control, &data)?)
    }

    /// The plan of a run.
    ///
    /// # Errors
    /// When the log holds no such run; or a fault of the bus.
    pub async fn plan(&self, run: &RunId) -> Result<Plan, SessionError> {
        let control = self.control(run).await?;
        let plan = plans(&control).last().cloned();
        plan.ok_or_else(|| NoReport::Unknown(run.to_string()).into())
    }

    /// The stored bodies that the plan of a run names, by their SHA-256; those that were removed
    /// are absent.
    ///
    /// # Errors
    /// When the log holds no such run, or the bodies exceed the size that may be posted; or a fault
    /// of the bus.
    pub async fn bodies(&self, run: &RunId) -> Result<BTreeMap<String, Bytes>, SessionError> {
        let plan = self.plan(run).await?;
        let bytes_max = run_request::POST_BYTES_MAX as u64;
        bodies::stored(&self.bus, &self.subjects, &plan, bytes_max).await
    }

    /// Folds the deltas of a run.
    async fn fold(&self, run: &RunId, control: &Control) -> Result<Projection, SessionError> {
        let mut data = Projection::default();
        let mut deltas = DeltaStream::open(&self.bus, &self.subjects, run, 1).await?;
        while let Some(batch) = deltas.next().await? {
            for record in &batch.records {
                data.add_parsed(control, record, None);
            }
        }
        Ok(data)
    }

    /// Ends the owner's heartbeats.
    pub fn close(&mut self) {
        if let Some(beat) = self.owner_beat.take() {
            beat.abort();
        }
    }

    pub(crate) async fn control(&self, run: &RunId) -> Result<Control, SessionError> {
        Ok(self.control_at(run).await?.0)
    }

    /// The control side of a run now, and the last sequence of its request subject.
    pub(crate) async fn control_at(&self, run: &RunId) -> Result<(Control, u64), SessionError> {
        let (log, last) = self.control_log(run).await?;
        Ok((log.close(), last))
    }

    /// The records of the control side of a run now, and the last sequence of its request subject.
    pub(crate) async fn control_log(&self, run: &RunId) -> Result<(ControlLog, u64), SessionError> {
        let filters = control_of(&self.subjects, run);
        let req = self.subjects.req(run);
        let stored =
            retry_unreachable(|| self.bus.read(Stream::Ctl, filters.clone(), None)).await?;
        let (mut log, mut last) = (ControlLog::new(run.clone()), 0);
        for record in stored {
            if record.subject == req {
                last = record.seq;
            }
            if let Some(kind) = self.kind(&record.subject) {
                log.add(&record.subject, &kind, record.seq, &record.payload);
            }
        }
        Ok((log, last))
    }

    pub(crate) fn kind(&self, subject: &str) -> Option<Kind> {
        self.subjects.parse(subject).map(|subject| subject.kind)
    }

    /// Stores the secrets of a run in the key-value bucket, from where its agents get them.
    pub(crate) async fn store_secrets(
        &self,
        run: &RunId,
        request: &RunRequested,
        secrets: &BTreeMap<String, String>,
    ) -> Result<(), SessionError> {
        if secrets.is_empty() {
            return Ok(());
        }
        let values = encoded("the secrets", secrets)?;
        let length = Duration::from_micros(request.plan.profile.duration_us());
        let wait = Duration::from_micros(request.agents.wait_us);
        let ttl = length + wait + SECRETS_AFTER_RUN;
        let key = self.subjects.secret_key(run);
        Ok(self.bus.kv_put(&key, values, ttl).await?)
    }

    /// Shreds the secrets of a run whose request failed with `error`, unless the run is or may be
    /// in the log: its agents would need them.
    pub(crate) async fn shred_unrequested(&self, run: &RunId, error: &SessionError) {
        let key = self.subjects.secret_key(run);
        let is_request = |request: &Request| matches!(request, Request::RunRequested(_));
        self.shred_unused(&key, run, error, is_request).await;
    }

    /// Shreds a secret after `error`, unless the log holds, or may hold, a request of the run that
    /// needs it.
    pub(crate) async fn shred_unused(
        &self,
        key: &str,
        run: &RunId,
        error: &SessionError,
        needs: impl Fn(&Request) -> bool,
    ) {
        if matches!(error, SessionError::Append(AppendError::Unknown)) {
            return;
        }
        let filters = vec![self.subjects.req(run)];
        let Ok(stored) = self.bus.read(Stream::Ctl, filters, None).await else {
            return;
        };
        let is_needed = stored.iter().any(|one| {
            let known = serde_json::from_slice::<Envelope<Request>>(&one.payload);
            known.is_ok_and(|known| needs(&known.event))
        });
        if !is_needed {
            // A secret that cannot be shredded now is removed at the end of its time to live.
            let _ = self.bus.kv_shred(key).await;
        }
    }

    /// Appends a request and returns its sequence. An append without an acknowledgement is repeated
    /// under the same id.
    pub(crate) async fn store(&self, run: &RunId, request: Request) -> Result<u64, SessionError> {
        Ok(self.store_as(new_id(), run, request).await?.seq)
    }

    /// As [`Session::store`], with the caller's event id; the log drops repeats of an id for 10
    /// min.
    pub(crate) async fn store_as(
        &self,
        id: EventId,
        run: &RunId,
        request: Request,
    ) -> Result<Appended, SessionError> {
        let envelope = envelope(id, request);
        let payload = encoded("the request", &envelope)?;
        let subject = self.subjects.req(run);
        let id = envelope.id.as_str();
        let mut attempts = AppendAttempts::begin();
        loop {
            let stored = self
                .bus
                .append(Stream::Ctl, &subject, id, payload.clone())
                .await;
            match stored {
                Ok(stored) => return Ok(stored),
                Err(error) => attempts.wait_after(error).await?,
            }
        }
    }

    /// Sends one heartbeat of a run's owner.
    ///
    /// # Errors
    /// A fault of the bus.
    pub async fn beat(&self, run: &RunId, owner: &OwnerId) -> Result<(), SessionError> {
        let (subject, beat) = self.owner_beat_of(run, owner);
        self.bus.publish(&subject, beat).await?;
        Ok(())
    }

    fn owner_beat_of(&self, run: &RunId, owner: &OwnerId) -> (String, bytes::Bytes) {
        let beat = serde_json::to_vec(&Heartbeat::Owner { run: run.clone() }).unwrap_or_default();
        (self.subjects.owner_heartbeat(owner), beat.into())
    }

    pub(crate) fn start_owner_beat(&mut self, run: &RunId, owner: &OwnerId) {
        self.close();
        let bus = self.bus.clone();
        let (subject, beat) = self.owner_beat_of(run, owner);
        self.owner_beat = Some(tokio::spawn(async move {
            let mut interval = tokio::time::interval(OWNER_HEARTBEAT_INTERVAL);
            loop {
                interval.tick().await;
                // The next heartbeat replaces one that is lost while the server is away.
                let _ = bus.publish(&subject, beat.clone()).await;
            }
        }));
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.close();
    }
}

/// The plans of a run that exist: of its setup, of its request and of its creation, in this order.
pub(crate) fn plans(control: &Control) -> impl Iterator<Item = &Plan> {
    let requested = control.state.requested.as_ref().map(|run| &run.plan);
    let created = control.state.created.as_ref().map(|created| &created.plan);
    let set_up = control.teardown.setup.as_ref().map(|setup| &setup.plan);
    set_up.into_iter().chain(requested).chain(created)
}

/// A new, unique event id.
pub(crate) fn new_id() -> EventId {
    EventId::from_ulid(ulid::Ulid::generate())
}

/// Wraps a request for the log.
pub(crate) fn envelope(id: EventId, event: Request) -> Envelope<Request> {
    Envelope {
        v: EVENT_VERSION,
        id,
        at: now(),
        event,
    }
}

/// Encodes a value as JSON; an error contains `what` was encoded, not its content.
pub(crate) fn encoded(what: &str, value: &impl Serialize) -> Result<bytes::Bytes, Fault> {
    let json = serde_json::to_vec(value).map_err(|error| Fault::Server {
        what: format!("encoding {what}"),
        why: error.to_string(),
    })?;
    Ok(json.into())
}

/// The subjects of one run in LP_CTL.
#[must_use]
pub fn control_of(subjects: &Subjects, run: &RunId) -> Vec<String> {
    vec![subjects.req(run), subjects.ctl(run), subjects.evt_all(run)]
}

/// The wall clock of this machine.
#[must_use]
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Timestamp(since.map_or(0, |since| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }))
}

//! A command line's connection to a log: submit, stop, read, prune.
//!
//! Must never keep a run's state: every answer is a fold of the log at the time of the question.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use loadpilot_bus::{AppendError, Appended, Bus, Fault, Step, Stream};
use loadpilot_engine::control::{Control, ControlLog};
use loadpilot_engine::fold::project::Projection;
use loadpilot_engine::report::samples::{HEAD, Sheet};
use loadpilot_engine::report::{NoReport, report};
use loadpilot_events::answers::report::Report;
use loadpilot_events::id::{AgentId, OwnerId};
use loadpilot_events::log::delta::DeltaReported;
use loadpilot_events::log::envelope::EVENT_VERSION;
use loadpilot_events::log::req::{Request, RunRequested, StopRequested};
use loadpilot_events::plan::Plan;
use loadpilot_events::refusal::{Problem, Refusal};
use loadpilot_events::wire::heartbeat::Heartbeat;
use loadpilot_events::wire::subject::{Kind, Subjects};
use loadpilot_events::{Envelope, EventId, RunId, Timestamp};
use serde::Serialize;
use tokio::task::JoinHandle;

use super::run_list::plans;
use super::server_address::NoFleet;
use super::{bodies, run_request};

/// How often an attached command line renews its ownership.
const OWNER_BEAT: Duration = Duration::from_secs(1);
/// How long secrets outlive the planned end of their run.
const SECRETS_AFTER_RUN: Duration = Duration::from_secs(3600);
/// How long a server that is being restarted is waited for.
pub(crate) const SERVER_TIMEOUT: Duration = Duration::from_secs(20);
/// How soon it is asked again.
pub(crate) const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Why a session could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The user can fix it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There is no fleet where one was looked for.
    #[error(transparent)]
    NoFleet(#[from] NoFleet),
    /// The world.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The disk, while a table was written.
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
    /// The world, while something was stored.
    #[error("cannot store the request: {0}")]
    Append(#[from] AppendError),
}

impl From<Problem> for SessionError {
    fn from(problem: Problem) -> Self {
        Self::Refused(Refusal {
            problems: vec![problem],
        })
    }
}

impl From<NoReport> for SessionError {
    fn from(unknown: NoReport) -> Self {
        let NoReport::Unknown(run) = unknown;
        Self::from(Problem::new("run", "must be a run of this log", run))
    }
}

/// What stands in a table of calls, and what does not.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct WrittenSamples {
    /// Calls.
    pub rows: u64,
    /// Calls that the plan asked for and that found no room in the deltas.
    pub dropped: u64,
    /// Deltas whose calls cannot be read.
    pub unreadable: u64,
}

/// An open connection.
#[derive(Debug)]
pub struct Session {
    bus: Bus,
    subjects: Subjects,
    owner_beat: Option<JoinHandle<()>>,
    /// The run that was set up here, and who it is on.
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

    /// The connection and the subjects, for following a run.
    #[must_use]
    pub fn parts(&self) -> (Bus, Subjects) {
        (self.bus.clone(), self.subjects.clone())
    }

    /// Asks for a run, handing over its bodies and secrets first, and keeps it owned from now on.
    /// `bodies` holds, by their hash, those that the plan keeps beside itself; `run` is what it is
    /// called, if that is known already.
    ///
    /// # Errors
    /// Everything that is wrong with the request; or the world.
    pub async fn submit(
        &mut self,
        request: RunRequested,
        secrets: &BTreeMap<String, String>,
        bodies: &BTreeMap<String, bytes::Bytes>,
        run: Option<RunId>,
    ) -> Result<RunId, SessionError> {
        let problems = run_request::problems(&request, secrets, bodies);
        if !problems.is_empty() {
            return Err(Refusal { problems }.into());
        }
        bodies::store(&self.bus, &self.subjects, &request.plan, bodies).await?;
        let run = run.unwrap_or_else(|| RunId::from_ulid(ulid::Ulid::generate()));
        self.store_secrets(&run, &request, secrets).await?;
        let owner = request.owner.clone();
        let request = Request::RunRequested(Box::new(request));
        match &self.set_up {
            Some((prepared, claimant)) if *prepared == run => {
                self.store_as_claimant(&run, claimant, request).await?;
            }
            _ => {
                self.store(&run, request).await?;
            }
        }
        if let Some(owner) = owner {
            self.start_owner_beat(&run, &owner);
        }
        Ok(run)
    }

    /// Asks for a stop: nothing is started any more, what is in flight finishes.
    ///
    /// # Errors
    /// The world.
    pub async fn stop(&self, run: &RunId, by: &str) -> Result<(), SessionError> {
        self.store(
            run,
            Request::StopRequested(StopRequested { by: by.to_owned() }),
        )
        .await?;
        Ok(())
    }

    /// Throws the kill switch: every agent stops and cancels what is in flight.
    ///
    /// # Errors
    /// The world.
    pub async fn halt(&self, run: &RunId) -> Result<(), SessionError> {
        self.bus
            .publish(&self.subjects.halt(run), bytes::Bytes::new())
            .await?;
        Ok(self.bus.flush().await?)
    }

    /// The report of a run: the fold of its log.
    ///
    /// # Errors
    /// When the log holds no such run; or the world.
    pub async fn report(&self, run: &RunId) -> Result<Report, SessionError> {
        let control = self.control(run).await?;
        let data = self.fold(run, &control, |_, _| Ok(())).await?;
        Ok(report(&control, &data)?)
    }

    /// The plan of a run.
    ///
    /// # Errors
    /// When the log holds no such run; or the world.
    pub async fn plan(&self, run: &RunId) -> Result<Plan, SessionError> {
        let control = self.control(run).await?;
        let plan = plans(&control).last().cloned();
        plan.ok_or_else(|| NoReport::Unknown(run.to_string()).into())
    }

    /// Every call of a run that its plan asked for one by one, as CSV into `table`.
    ///
    /// # Errors
    /// When the log holds no such run, or its plan asked for none; or the world.
    pub async fn samples(
        &self,
        run: &RunId,
        table: &mut impl io::Write,
    ) -> Result<WrittenSamples, SessionError> {
        let control = self.control(run).await?;
        let sheet = Sheet::new(&control);
        let sheet = sheet.map_err(|none| Problem::new("run", none.to_string(), run))?;
        let mut written = WrittenSamples::default();
        table.write_all(HEAD.as_bytes())?;
        let mut text = String::new();
        let each = |agent: &AgentId, delta: &DeltaReported| {
            text.clear();
            match sheet.lines(agent, delta, &mut text) {
                Ok(lines) => written.rows += lines,
                Err(_) => written.unreadable += 1,
            }
            written.dropped = written.dropped.saturating_add(delta.samples_dropped);
            table.write_all(text.as_bytes())
        };
        self.fold(run, &control, each).await?;
        table.flush()?;
        Ok(written)
    }

    /// Folds the deltas of a run, and shows each that counts to `each`.
    async fn fold(
        &self,
        run: &RunId,
        control: &Control,
        mut each: impl FnMut(&AgentId, &DeltaReported) -> io::Result<()>,
    ) -> Result<Projection, SessionError> {
        let mut data = Projection::default();
        let deltas = vec![self.subjects.delta_all(run)];
        let mut tail = retry_unreachable(|| self.bus.tail(Stream::Data, deltas.clone(), 1)).await?;
        while let Step::Event(stored) = tail.next().await? {
            if let Some(Kind::Delta(agent)) = self.kind(&stored.subject) {
                let (subject, payload) = (&stored.subject, &stored.payload);
                if let Some(delta) = data.add(control, &agent, subject, stored.seq, payload) {
                    each(&agent, &delta)?;
                }
            }
        }
        Ok(data)
    }

    /// Ends the renewal of ownership.
    pub fn close(&mut self) {
        if let Some(beat) = self.owner_beat.take() {
            beat.abort();
        }
    }

    pub(crate) async fn control(&self, run: &RunId) -> Result<Control, SessionError> {
        Ok(self.control_at(run).await?.0)
    }

    /// A run as it is, and the last sequence of its request subject.
    pub(crate) async fn control_at(&self, run: &RunId) -> Result<(Control, u64), SessionError> {
        let filters = control_of(&self.subjects, run);
        let asked = self.subjects.req(run);
        let stored =
            retry_unreachable(|| self.bus.read(Stream::Ctl, filters.clone(), None)).await?;
        let (mut log, mut last) = (ControlLog::new(run.clone()), 0);
        for record in stored {
            if record.subject == asked {
                last = record.seq;
            }
            if let Some(kind) = self.kind(&record.subject) {
                log.add(&record.subject, &kind, record.seq, &record.payload);
            }
        }
        Ok((log.close(), last))
    }

    pub(crate) fn kind(&self, subject: &str) -> Option<Kind> {
        self.subjects.parse(subject).map(|subject| subject.kind)
    }

    /// Puts the secrets of a run where its agents get them.
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

    /// Appends a request and tells its sequence; one whose end is unknown is sent again under the
    /// same id.
    pub(crate) async fn store(&self, run: &RunId, request: Request) -> Result<u64, SessionError> {
        Ok(self.store_as(new_id(), run, request).await?.seq)
    }

    /// The same under an id of the caller's, which the log takes once in a while (10 min).
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
        let give_up = Instant::now() + SERVER_TIMEOUT;
        loop {
            let stored = self
                .bus
                .append(Stream::Ctl, &subject, id, payload.clone())
                .await;
            match stored {
                Ok(stored) => return Ok(stored),
                Err(AppendError::Unknown | AppendError::Fault(Fault::Disconnected))
                    if Instant::now() < give_up =>
                {
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Says once that `owner` of a run lives.
    ///
    /// # Errors
    /// The world.
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
            let mut interval = tokio::time::interval(OWNER_BEAT);
            loop {
                interval.tick().await;
                // A beat that is lost while the server is away is followed by the next one.
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

/// The id of an event that nobody has stored yet.
pub(crate) fn new_id() -> EventId {
    EventId::from_ulid(ulid::Ulid::generate())
}

/// A request as the log takes it.
pub(crate) fn envelope(id: EventId, event: Request) -> Envelope<Request> {
    Envelope {
        v: EVENT_VERSION,
        id,
        at: now(),
        event,
    }
}

/// The JSON of a value, of which an error says no more than `what` it was.
pub(crate) fn encoded(what: &str, value: &impl Serialize) -> Result<bytes::Bytes, Fault> {
    let json = serde_json::to_vec(value).map_err(|error| Fault::Server {
        what: format!("encoding {what}"),
        why: error.to_string(),
    })?;
    Ok(json.into())
}

/// Everything of LP_CTL about one run.
#[must_use]
pub fn control_of(subjects: &Subjects, run: &RunId) -> Vec<String> {
    vec![subjects.req(run), subjects.ctl(run), subjects.evt_all(run)]
}

/// Asks again while the server is away: a supervisor starts a dead one anew.
///
/// # Errors
/// The last fault, when the server stayed away or is there and refuses.
pub(crate) async fn retry_unreachable<T, F>(mut ask: impl FnMut() -> F) -> Result<T, Fault>
where
    F: Future<Output = Result<T, Fault>>,
{
    let give_up = Instant::now() + SERVER_TIMEOUT;
    loop {
        match ask().await {
            Err(Fault::Disconnected | Fault::TimedOut { .. }) if Instant::now() < give_up => {
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
            answer => return answer,
        }
    }
}

/// The wall clock of this machine.
#[must_use]
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Timestamp(since.map_or(0, |since| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }))
}

//! Setup and teardown of a run: the claims of the commands that play them, and their inputs.
//!
//! Each claim is appended at the exact last sequence of the run's request subject, so that the log
//! accepts only one of several claimants. A secret or a key must never enter the log (tested): both
//! are in the key-value bucket with a time to live, and are shredded once the teardown is played.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use loadpilot_bus::{AppendError, Fault, Stream};
use loadpilot_engine::control::teardown::{ClaimRefusal, TeardownState};
use loadpilot_events::limits::OBJECTS_BYTES_MAX;
use loadpilot_events::log::req::Request;
use loadpilot_events::log::teardown::{SetupClaimed, SetupKept, TeardownClaimed, TeardownFinished};
use loadpilot_events::plan::Object;
use loadpilot_events::refusal::Problem;
use loadpilot_events::{Envelope, OwnerId, RunId};
use serde::Serialize;
use tokio::time::timeout;

use super::session::{
    AppendAttempts, Session, SessionError, control_of, encoded, envelope, new_id, retry_unreachable,
};

/// Time that the inputs of a teardown outlive the planned end of the run: a long weekend and a day.
const INPUTS_AFTER_RUN: Duration = Duration::from_secs(5 * 24 * 3600);
/// Timeout for a heartbeat of a command, which sends one every second; after it the command counts
/// as gone.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of times that a claimant listens for heartbeats while its connection is lost.
const LISTENS_MAX: usize = 3;
/// Maximum number of attempts to append a request; requests of other clients may win each time.
const ATTEMPTS_MAX: usize = 64;

/// State of the teardown of a run.
#[derive(Debug, Clone, Serialize)]
pub struct TeardownStatus {
    /// The setup that was begun; null when there was none.
    pub setup: Option<Box<SetupClaimed>>,
    /// Whether a teardown is owed.
    pub is_owed: bool,
    /// Whether the run was requested.
    pub asked: bool,
    /// Whether it is sealed or refused.
    pub over: bool,
    /// The command that holds the teardown, or that played it.
    pub holder: Option<OwnerId>,
}

/// The inputs of a teardown. It has no `Debug` because it holds secrets.
#[derive(Clone, Serialize)]
pub struct TeardownInputs {
    /// The secrets by handle; null when they have expired.
    pub secrets: Option<BTreeMap<String, String>>,
    /// Whether the setup stored states.
    pub left: bool,
    /// The key that seals the states; null when it has expired, or there are none.
    pub key: Option<String>,
}

/// The result of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "claim", rename_all = "snake_case")]
pub enum ClaimResult {
    /// The claimant holds the teardown now.
    Taken,
    /// There was no setup, or the teardown was played already.
    Settled,
    /// The run is not over, or can still be requested.
    NotOver,
    /// Another live command holds it.
    Held {
        /// That command.
        by: OwnerId,
    },
}

impl Session {
    /// The state of a run's teardown.
    ///
    /// # Errors
    /// A fault of the bus.
    pub async fn teardown_status(&self, run: &RunId) -> Result<TeardownStatus, SessionError> {
        let control = self.control(run).await?;
        let debt = control.teardown;
        Ok(TeardownStatus {
            is_owed: debt.is_owed(),
            asked: debt.requested,
            over: control.state.over,
            holder: debt.holder,
            setup: debt.setup,
        })
    }

    /// Claims the setup of a new run and sends the claimant's heartbeats from now on. The inputs of
    /// the teardown are stored before the claim makes it owed.
    ///
    /// # Errors
    /// When the run exists already; or a fault of the bus.
    pub async fn claim_setup(
        &mut self,
        run: &RunId,
        claim: SetupClaimed,
        bundle: Bytes,
        secrets: &BTreeMap<String, String>,
    ) -> Result<(), SessionError> {
        let (bus, subjects) = self.parts();
        let rule = "must be the archive that the claim names";
        if Object::of(&bundle) != claim.bundle {
            return Err(Problem::new("bundle", rule, &claim.bundle.sha256).into());
        }
        let exists =
            || SessionError::from(Problem::new("run", "must be new: it exists already", run));
        // Checked before anything is stored: otherwise the inputs of an existing run's teardown
        // would be replaced.
        let records = control_of(&subjects, run);
        let known = retry_unreachable(|| bus.read(Stream::Ctl, records.clone(), Some(1)));
        if !known.await?.is_empty() {
            return Err(exists());
        }
        let name = subjects.object(&claim.bundle.sha256);
        if bus.object_touch(&name).await.ok().flatten() != Some(claim.bundle.bytes) {
            bus.object_put(&name, bundle).await?;
        }
        let claimant = claim.claimant.clone();
        match self.append_claim(run, claim, secrets).await {
            Ok(true) => {}
            // Another claimant of this id was first: the stored secrets may be its own.
            Ok(false) => return Err(exists()),
            Err(error) => {
                let key = subjects.owed_key(run);
                self.shred_unused(&key, run, &error, |_| true).await;
                return Err(error);
            }
        }
        self.start_owner_beat(run, &claimant);
        self.set_up = Some((run.clone(), claimant));
        Ok(())
    }

    /// Stores the secrets of a teardown, then the claim that makes it owed; false when the run
    /// exists already.
    async fn append_claim(
        &self,
        run: &RunId,
        claim: SetupClaimed,
        secrets: &BTreeMap<String, String>,
    ) -> Result<bool, SessionError> {
        let (bus, subjects) = self.parts();
        if !secrets.is_empty() {
            let values = encoded("the secrets", secrets)?;
            let ttl = inputs_ttl(&claim);
            bus.kv_put(&subjects.owed_key(run), values, ttl).await?;
        }
        let event = envelope(new_id(), Request::SetupClaimed(Box::new(claim)));
        Ok(self.append_request(run, 0, &event).await?.is_some())
    }

    /// Stores the states that a setup has produced so far, sealed with `key`.
    ///
    /// # Errors
    /// When `claimant` does not hold the setup any more; or a fault of the bus.
    pub async fn store_setup_states(
        &self,
        run: &RunId,
        claimant: &OwnerId,
        sealed: Bytes,
        key: &str,
    ) -> Result<(), SessionError> {
        let (bus, subjects) = self.parts();
        let states = Object::of(&sealed);
        let debt = self.control(run).await?.teardown;
        let Some(setup) = &debt.setup else {
            return Err(taken(run));
        };
        bus.object_put(&subjects.object(&states.sha256), sealed)
            .await?;
        let name = subjects.owed_state_key(run, &states.sha256);
        let key = Bytes::from(key.to_owned());
        bus.kv_put(&name, key, inputs_ttl(setup)).await?;
        self.append_as(run, claimant, || {
            Request::SetupKept(SetupKept {
                claimant: claimant.clone(),
                states: states.clone(),
            })
        })
        .await
    }

    /// Stores the request for a run whose setup `claimant` played, unless another command has
    /// claimed the teardown.
    pub(crate) async fn store_as_claimant(
        &self,
        run: &RunId,
        claimant: &OwnerId,
        request: Request,
    ) -> Result<(), SessionError> {
        self.append_as(run, claimant, || request.clone()).await
    }

    /// Claims the teardown of a run for `claimant` and sends its heartbeats from then on. The
    /// previous holder must be gone: by `is_gone`, else by listening for its heartbeats.
    ///
    /// # Errors
    /// A fault of the bus.
    pub async fn claim_teardown(
        &mut self,
        run: &RunId,
        claimant: &OwnerId,
        by: &str,
        is_gone: bool,
    ) -> Result<ClaimResult, SessionError> {
        let mut silent: Option<OwnerId> = None;
        for _ in 0..ATTEMPTS_MAX {
            let (control, last) = self.control_at(run).await?;
            let debt = &control.teardown;
            let gone = match is_gone {
                true => debt.holder.as_ref(),
                false => silent.as_ref(),
            };
            let instead_of = match debt.claim(claimant, gone, control.state.over) {
                Ok(instead_of) => instead_of,
                Err(ClaimRefusal::Nothing | ClaimRefusal::Settled) => {
                    return Ok(ClaimResult::Settled);
                }
                Err(ClaimRefusal::NotOver) => return Ok(ClaimResult::NotOver),
                Err(ClaimRefusal::Held(holder)) if self.is_heard(&holder).await? => {
                    return Ok(ClaimResult::Held { by: holder });
                }
                Err(ClaimRefusal::Held(holder)) => {
                    silent = Some(holder);
                    continue;
                }
            };
            let event = envelope(
                new_id(),
                Request::TeardownClaimed(TeardownClaimed {
                    claimant: claimant.clone(),
                    by: by.to_owned(),
                    instead_of,
                }),
            );
            if self.append_request(run, last, &event).await?.is_some() {
                self.start_owner_beat(run, claimant);
                return Ok(ClaimResult::Taken);
            }
        }
        Err(contended(run))
    }

    /// Records that the teardown was played, with the names of `failed` functions, and shreds its
    /// inputs.
    ///
    /// # Errors
    /// When `claimant` does not hold it any more; or a fault of the bus.
    pub async fn finish_teardown(
        &self,
        run: &RunId,
        claimant: &OwnerId,
        failed: Vec<String>,
    ) -> Result<(), SessionError> {
        self.append_as(run, claimant, || {
            Request::TeardownFinished(TeardownFinished {
                claimant: claimant.clone(),
                failed: failed.clone(),
            })
        })
        .await?;
        let debt = self.control(run).await?.teardown;
        self.shred_teardown_inputs(run, &debt).await
    }

    /// The inputs of a teardown.
    ///
    /// # Errors
    /// A fault of the bus.
    pub async fn teardown_inputs(&self, run: &RunId) -> Result<TeardownInputs, SessionError> {
        let (bus, subjects) = self.parts();
        let debt = self.control(run).await?.teardown;
        let values = bus.kv_get(&subjects.owed_key(run)).await?;
        // The parser's error may quote a secret: it is dropped on purpose.
        let secrets = values.and_then(|values| serde_json::from_slice(&values).ok());
        let key = match debt.saved_states.last() {
            None => None,
            Some(states) => {
                let name = subjects.owed_state_key(run, &states.sha256);
                let found = bus.kv_get(&name).await?;
                found.and_then(|key| String::from_utf8(key.to_vec()).ok())
            }
        };
        Ok(TeardownInputs {
            secrets,
            left: !debt.saved_states.is_empty(),
            key,
        })
    }

    /// The archive of the scenario's files or, with `states`, the sealed states of its setup.
    ///
    /// # Errors
    /// When the store lacks it; or a fault of the bus.
    pub async fn teardown_archive(&self, run: &RunId, states: bool) -> Result<Bytes, SessionError> {
        let (bus, subjects) = self.parts();
        let debt = self.control(run).await?.teardown;
        let object = match states {
            true => debt.saved_states.last(),
            false => debt.setup.as_ref().map(|setup| &setup.bundle),
        };
        let missing = || {
            let rule = "must have the inputs of its teardown in the object store, which lacks them";
            SessionError::from(Problem::new("run", rule, run))
        };
        let object = object.ok_or_else(missing)?;
        let name = subjects.object(&object.sha256);
        let content = bus.object_get(&name, OBJECTS_BYTES_MAX).await?;
        let content = content.ok_or_else(missing)?;
        match Object::of(&content) == *object {
            true => Ok(content),
            false => Err(missing()),
        }
    }

    /// Shreds the secrets and keys of a run's teardown.
    pub(crate) async fn shred_teardown_inputs(
        &self,
        run: &RunId,
        debt: &TeardownState,
    ) -> Result<(), SessionError> {
        let (bus, subjects) = self.parts();
        bus.kv_shred(&subjects.owed_key(run)).await?;
        for states in &debt.saved_states {
            let name = subjects.owed_state_key(run, &states.sha256);
            bus.kv_shred(&name).await?;
        }
        Ok(())
    }

    /// Whether a command sends heartbeats. Listens for [`HEARTBEAT_TIMEOUT`], and again if its own
    /// connection was lost meanwhile: heartbeats were lost with it.
    async fn is_heard(&self, owner: &OwnerId) -> Result<bool, SessionError> {
        let (bus, subjects) = self.parts();
        let subject = subjects.owner_heartbeat(owner);
        for _ in 0..LISTENS_MAX {
            let mut beats = retry_unreachable(|| async {
                let beats = bus.subscribe(&subject).await?;
                bus.flush().await?;
                Ok(beats)
            })
            .await?;
            let link = bus.link();
            match timeout(HEARTBEAT_TIMEOUT, beats.next()).await {
                Ok(Some(_beat)) => return Ok(true),
                Err(_elapsed) if link.is_up() && bus.link() == link => return Ok(false),
                Ok(None) | Err(_) => {}
            }
        }
        Err(Fault::Disconnected.into())
    }

    /// Appends a request of `claimant` while it holds the teardown.
    async fn append_as(
        &self,
        run: &RunId,
        claimant: &OwnerId,
        request: impl Fn() -> Request,
    ) -> Result<(), SessionError> {
        for _ in 0..ATTEMPTS_MAX {
            let (control, last) = self.control_at(run).await?;
            let debt = &control.teardown;
            let request = request();
            let is_end = matches!(request, Request::TeardownFinished(_));
            let is_holder = match is_end {
                true => debt.is_owed() && debt.begun && debt.holder.as_ref() == Some(claimant),
                false => debt.may_request(claimant),
            };
            if !is_holder {
                return Err(taken(run));
            }
            let event = envelope(new_id(), request);
            if self.append_request(run, last, &event).await?.is_some() {
                return Ok(());
            }
        }
        Err(contended(run))
    }

    /// Appends a request at an exact last sequence; `None` when another client was first. An append
    /// without an acknowledgement is repeated; if it was stored, it is found in the log.
    async fn append_request(
        &self,
        run: &RunId,
        last: u64,
        event: &Envelope<Request>,
    ) -> Result<Option<u64>, SessionError> {
        let (bus, subjects) = self.parts();
        let subject = subjects.req(run);
        let payload = encoded("the request", event)?;
        let id = event.id.as_str();
        let mut attempts = AppendAttempts::begin();
        loop {
            match bus.append_at(&subject, last, id, payload.clone()).await {
                Ok(seq) => return Ok(Some(seq)),
                // The repeat of a stored append conflicts with itself.
                Err(AppendError::Conflict) => return self.stored_as(run, last, event).await,
                Err(error) => attempts.wait_after(error).await?,
            }
        }
    }

    /// The sequence of an event, if it was stored after `last`.
    async fn stored_as(
        &self,
        run: &RunId,
        last: u64,
        event: &Envelope<Request>,
    ) -> Result<Option<u64>, SessionError> {
        let (bus, subjects) = self.parts();
        let filters = vec![subjects.req(run)];
        let stored = retry_unreachable(|| bus.read(Stream::Ctl, filters.clone(), None)).await?;
        let is_it = |payload: &Bytes| {
            let known = serde_json::from_slice::<Envelope<Request>>(payload);
            known.is_ok_and(|known| known.id == event.id)
        };
        let mut later = stored.iter().filter(|stored| stored.seq > last);
        Ok(later.find(|one| is_it(&one.payload)).map(|one| one.seq))
    }
}

fn inputs_ttl(setup: &SetupClaimed) -> Duration {
    Duration::from_micros(setup.plan.profile.duration_us()) + INPUTS_AFTER_RUN
}

fn taken(run: &RunId) -> SessionError {
    let rule = "must still be held by this command: another one claimed its teardown";
    Problem::new("run", rule, run).into()
}

fn contended(run: &RunId) -> SessionError {
    let why = "other clients kept appending requests of this run".to_owned();
    let what = format!("claiming run {run}");
    Fault::Server { what, why }.into()
}

#[cfg(test)]
mod tests;

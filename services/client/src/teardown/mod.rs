//! Setup and teardown of a run: the claims of whoever plays them, and what a teardown needs.
//!
//! Each claim is appended at the exact last sequence of the run's request subject: of several
//! candidates the log takes one. Must never let a secret or a key into the log: they lie in the
//! key-value bucket, with an end, and are shredded when nothing is owed any more.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use loadpilot_bus::{AppendError, Fault, Stream};
use loadpilot_engine::control::teardown::{Debt, NotOwed};
use loadpilot_events::limits::OBJECTS_BYTES_MAX;
use loadpilot_events::log::req::Request;
use loadpilot_events::log::teardown::{SetupClaimed, SetupKept, TeardownClaimed, TeardownFinished};
use loadpilot_events::plan::Object;
use loadpilot_events::refusal::Problem;
use loadpilot_events::{Envelope, OwnerId, RunId};
use serde::Serialize;
use tokio::time::{sleep, timeout};

use super::session::{
    RETRY_INTERVAL, SERVER_TIMEOUT, Session, SessionError, encoded, envelope, new_id,
    retry_unreachable,
};

/// How long what a teardown needs outlives the planned end of its run: a long weekend and a day.
const KEPT_AFTER_RUN: Duration = Duration::from_secs(5 * 24 * 3600);
/// A command that is not heard for so long is gone; it beats every second.
const GONE_AFTER: Duration = Duration::from_secs(10);
/// How often others may come between a claim and the log before it is given up.
const TRIES_MAX: usize = 64;

/// What a run owes, for its submitter's side.
#[derive(Debug, Clone, Serialize)]
pub struct TeardownStatus {
    /// The setup that was begun; null when there was none.
    pub setup: Option<Box<SetupClaimed>>,
    /// Whether a teardown is owed.
    pub is_owed: bool,
    /// Whether the run was asked for.
    pub asked: bool,
    /// Whether it is sealed or refused.
    pub over: bool,
    /// On whom the teardown is, or who played it.
    pub holder: Option<OwnerId>,
}

/// What a teardown is played with. `Debug` is not for it: it holds secrets.
#[derive(Clone, Serialize)]
pub struct TeardownInputs {
    /// The secrets by handle; null when they have ended.
    pub secrets: Option<BTreeMap<String, String>>,
    /// Whether the setup left anything.
    pub left: bool,
    /// The key of what it left; null when it has ended, or nothing was left.
    pub key: Option<String>,
}

/// What became of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "claim", rename_all = "snake_case")]
pub enum ClaimResult {
    /// It is on the claimant now.
    Taken,
    /// Nothing was set up, or it was played already.
    Settled,
    /// The run goes on, or can.
    NotOver,
    /// It is on somebody who is alive.
    Held {
        /// Who.
        by: OwnerId,
    },
}

impl Session {
    /// What a run owes.
    ///
    /// # Errors
    /// The world.
    pub async fn teardown_status(&self, run: &RunId) -> Result<TeardownStatus, SessionError> {
        let control = self.control(run).await?;
        let debt = control.debt;
        Ok(TeardownStatus {
            is_owed: debt.is_owed(),
            asked: debt.asked,
            over: control.state.over,
            holder: debt.holder,
            setup: debt.setup,
        })
    }

    /// Begins the setup of a run that nobody has asked for, and beats for it from now on. What its
    /// teardown needs is stored before that is owed.
    ///
    /// # Errors
    /// When there is such a run; or the world.
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
        let name = subjects.object(&claim.bundle.sha256);
        if bus.object_touch(&name).await.ok().flatten() != Some(claim.bundle.bytes) {
            bus.object_put(&name, bundle).await?;
        }
        if !secrets.is_empty() {
            let values = encoded("the secrets", secrets)?;
            let ttl = inputs_ttl(&claim);
            bus.kv_put(&subjects.owed_key(run), values, ttl).await?;
        }
        let claimant = claim.claimant.clone();
        let event = envelope(new_id(), Request::SetupClaimed(Box::new(claim)));
        if self.append_request(run, 0, &event).await?.is_none() {
            let rule = "must be one that nobody has begun";
            return Err(Problem::new("run", rule, run).into());
        }
        self.start_owner_beat(run, &claimant);
        self.set_up = Some((run.clone(), claimant));
        Ok(())
    }

    /// Keeps what a setup has left so far, sealed with `key`.
    ///
    /// # Errors
    /// When the setup is not on `claimant` any more; or the world.
    pub async fn store_setup_states(
        &self,
        run: &RunId,
        claimant: &OwnerId,
        sealed: Bytes,
        key: &str,
    ) -> Result<(), SessionError> {
        let (bus, subjects) = self.parts();
        let states = Object::of(&sealed);
        let debt = self.control(run).await?.debt;
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

    /// Stores the request for a run whose setup `claimant` played, unless somebody took the
    /// teardown meanwhile.
    pub(crate) async fn store_as_claimant(
        &self,
        run: &RunId,
        claimant: &OwnerId,
        request: Request,
    ) -> Result<(), SessionError> {
        self.append_as(run, claimant, || request.clone()).await
    }

    /// Takes the teardown of a run upon `claimant`, which beats from then on. Whoever owed it must
    /// be gone: `is_gone` says that this is known, else it is listened for.
    ///
    /// # Errors
    /// The world.
    pub async fn claim_teardown(
        &mut self,
        run: &RunId,
        claimant: &OwnerId,
        by: &str,
        is_gone: bool,
    ) -> Result<ClaimResult, SessionError> {
        let mut silent: Option<OwnerId> = None;
        for _ in 0..TRIES_MAX {
            let (control, last) = self.control_at(run).await?;
            let debt = &control.debt;
            let gone = match is_gone {
                true => debt.holder.as_ref(),
                false => silent.as_ref(),
            };
            let instead_of = match debt.claim(claimant, gone, control.state.over) {
                Ok(instead_of) => instead_of,
                Err(NotOwed::Nothing | NotOwed::Settled) => return Ok(ClaimResult::Settled),
                Err(NotOwed::NotOver) => return Ok(ClaimResult::NotOver),
                Err(NotOwed::Held(holder)) if self.is_heard(&holder).await? => {
                    return Ok(ClaimResult::Held { by: holder });
                }
                Err(NotOwed::Held(holder)) => {
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

    /// Says that the teardown was played, and shreds what it needed.
    ///
    /// # Errors
    /// When it is not on `claimant` any more; or the world.
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
        let debt = self.control(run).await?.debt;
        self.shred_teardown_inputs(run, &debt).await
    }

    /// What a teardown is played with.
    ///
    /// # Errors
    /// The world.
    pub async fn teardown_inputs(&self, run: &RunId) -> Result<TeardownInputs, SessionError> {
        let (bus, subjects) = self.parts();
        let debt = self.control(run).await?.debt;
        let values = bus.kv_get(&subjects.owed_key(run)).await?;
        // The parser's error may quote a secret: it is dropped on purpose.
        let secrets = values.and_then(|values| serde_json::from_slice(&values).ok());
        let key = match debt.kept.last() {
            None => None,
            Some(states) => {
                let name = subjects.owed_state_key(run, &states.sha256);
                let found = bus.kv_get(&name).await?;
                found.and_then(|key| String::from_utf8(key.to_vec()).ok())
            }
        };
        Ok(TeardownInputs {
            secrets,
            left: !debt.kept.is_empty(),
            key,
        })
    }

    /// The archive of the scenario's files, or what its setup left, as it lies in the store.
    ///
    /// # Errors
    /// When it is not there; or the world.
    pub async fn teardown_archive(&self, run: &RunId, states: bool) -> Result<Bytes, SessionError> {
        let (bus, subjects) = self.parts();
        let debt = self.control(run).await?.debt;
        let object = match states {
            true => debt.kept.last(),
            false => debt.setup.as_ref().map(|setup| &setup.bundle),
        };
        let missing = || {
            let rule = "must have what its teardown needs in the object store, which has it not";
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

    /// Shreds what the teardown of a run needed.
    pub(crate) async fn shred_teardown_inputs(
        &self,
        run: &RunId,
        debt: &Debt,
    ) -> Result<(), SessionError> {
        let (bus, subjects) = self.parts();
        bus.kv_shred(&subjects.owed_key(run)).await?;
        for states in &debt.kept {
            let name = subjects.owed_state_key(run, &states.sha256);
            bus.kv_shred(&name).await?;
        }
        Ok(())
    }

    /// Whether a command beats.
    async fn is_heard(&self, owner: &OwnerId) -> Result<bool, SessionError> {
        let (bus, subjects) = self.parts();
        let mut beats = bus.subscribe(&subjects.owner_heartbeat(owner)).await?;
        bus.flush().await?;
        Ok(timeout(GONE_AFTER, beats.next())
            .await
            .is_ok_and(|beat| beat.is_some()))
    }

    /// Appends what `claimant` says while the debt is on it.
    async fn append_as(
        &self,
        run: &RunId,
        claimant: &OwnerId,
        say: impl Fn() -> Request,
    ) -> Result<(), SessionError> {
        for _ in 0..TRIES_MAX {
            let (control, last) = self.control_at(run).await?;
            let debt = &control.debt;
            let request = say();
            let is_end = matches!(request, Request::TeardownFinished(_));
            let may = match is_end {
                true => debt.is_owed() && debt.begun && debt.holder.as_ref() == Some(claimant),
                false => debt.may_ask(claimant),
            };
            if !may {
                return Err(taken(run));
            }
            let event = envelope(new_id(), request);
            if self.append_request(run, last, &event).await?.is_some() {
                return Ok(());
            }
        }
        Err(contended(run))
    }

    /// Appends a request at an exact last sequence; `None` when somebody else was first. An append
    /// of which nobody knows whether it is stored is looked for.
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
        let mut again = SERVER_TIMEOUT.as_millis() / RETRY_INTERVAL.as_millis();
        loop {
            match bus.append_at(&subject, last, id, payload.clone()).await {
                Ok(seq) => return Ok(Some(seq)),
                // A repeat of what was stored conflicts with itself.
                Err(AppendError::Conflict) => return self.stored_as(run, last, event).await,
                Err(AppendError::Unknown | AppendError::Fault(Fault::Disconnected))
                    if again > 0 =>
                {
                    again -= 1;
                    sleep(RETRY_INTERVAL).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Where an event stands that may have been stored, if it was.
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
    Duration::from_micros(setup.plan.profile.duration_us()) + KEPT_AFTER_RUN
}

fn taken(run: &RunId) -> SessionError {
    let rule = "must still be on this command: another one found it gone and took its teardown";
    Problem::new("run", rule, run).into()
}

fn contended(run: &RunId) -> SessionError {
    let why = "others write requests of this run all the time".to_owned();
    let what = format!("claiming run {run}");
    Fault::Server { what, why }.into()
}

#[cfg(test)]
mod tests;

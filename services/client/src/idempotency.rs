//! One run per `Idempotency-Key`, however often its request is repeated.
//!
//! Keys are remembered only in the log, as two hashes of key and caller that are stored with the
//! run. The random part of the run id finds the run again. The id of the request event makes the
//! log's deduplication accept one of several racing clients. The event id also depends on the
//! secrets, which the log does not hold: a request with other secrets is a different request.

use std::collections::BTreeMap;

use bytes::Bytes;
use loadpilot_bus::Stream;
use loadpilot_events::id::EventId;
use loadpilot_events::limits;
use loadpilot_events::log::req::{Request, RunRequested};
use loadpilot_events::refusal::{Problem, Refusal};
use loadpilot_events::{Envelope, RunId};
use sha2::{Digest, Sha256};
use ulid::Ulid;

use super::bodies;
use super::run_request::problems;
use super::session::{Session, SessionError, now, retry_unreachable};

/// Name of the header, as the field of a problem.
const HEADER: &str = "Idempotency-Key";
/// Number of random bits of a run id (a ULID); the others are its time.
const RANDOM_BITS: u32 = 80;
/// Maximum number of searches for the request that won a race under the same key.
const LOOKS_MAX: u32 = 3;

/// The hashes of a key and its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdempotencyKey {
    random: u128,
    event: u128,
    seed: u64,
}

/// A request for a run, as stored in the log.
struct StoredRequest {
    run: RunId,
    event: EventId,
    requested: RunRequested,
}

/// A run that was requested under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmittedRun {
    /// Its id.
    pub run: RunId,
    /// Whether this call created it; false for a repeat.
    pub is_new: bool,
}

impl IdempotencyKey {
    /// Hashes a key of `caller`; equal keys of two callers differ.
    #[must_use]
    pub fn of(key: &str, caller: &str) -> Self {
        let part = |what: &str| digest(&[what.as_bytes(), caller.as_bytes(), key.as_bytes()]);
        Self {
            random: part("run") >> (u128::BITS - RANDOM_BITS),
            event: part("request"),
            seed: u64::try_from(part("seed") & u128::from(limits::SEED_MAX)).unwrap_or_default(),
        }
    }

    /// Default seed of a request without one: the same for each repeat.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The event id of a request with these secrets.
    fn event(&self, secrets: &BTreeMap<String, String>) -> EventId {
        let of_key = self.event.to_be_bytes();
        let mut parts = vec![of_key.as_slice()];
        for (handle, value) in secrets {
            parts.extend([handle.as_bytes(), value.as_bytes()]);
        }
        EventId::from_ulid(Ulid::from(digest(&parts)))
    }

    fn is_of(&self, run: &RunId) -> bool {
        Ulid::from_string(run.as_str()).is_ok_and(|ulid| ulid.random() == self.random)
    }
}

/// The first 128 bits of the SHA-256 of the parts, each preceded by its length.
fn digest(parts: &[&[u8]]) -> u128 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let bytes = hash.finalize();
    let half = bytes.iter().take(16);
    half.fold(0, |sum, byte| (sum << 8) | u128::from(*byte))
}

impl Session {
    /// Requests a run under a key, or finds the one that was requested under it before.
    ///
    /// # Errors
    /// Every problem of the request; a different request under the same key; or a fault of the bus.
    pub async fn submit_once(
        &self,
        request: RunRequested,
        secrets: &BTreeMap<String, String>,
        bodies: &BTreeMap<String, Bytes>,
        key: IdempotencyKey,
    ) -> Result<SubmittedRun, SessionError> {
        let problems = problems(&request, secrets, bodies);
        if !problems.is_empty() {
            return Err(Refusal { problems }.into());
        }
        let event = key.event(secrets);
        if let Some(known) = self.find_request(key).await? {
            return same(known, &request, &event);
        }
        let (bus, subjects) = self.parts();
        bodies::store(&bus, &subjects, &request.plan, bodies).await?;
        let run = RunId::from_ulid(Ulid::from_parts(now().0 / 1_000, key.random));
        let submitted = self.submit_as(&run, event, request, secrets, key).await;
        if let Err(error) = &submitted {
            self.shred_unrequested(&run, error).await;
        }
        submitted
    }

    /// Stores secrets and request under the id `run`, or finds the run of a caller that stored its
    /// request first.
    async fn submit_as(
        &self,
        run: &RunId,
        event: EventId,
        request: RunRequested,
        secrets: &BTreeMap<String, String>,
        key: IdempotencyKey,
    ) -> Result<SubmittedRun, SessionError> {
        let (bus, subjects) = self.parts();
        self.store_secrets(run, &request, secrets).await?;
        let wanted = Request::RunRequested(Box::new(request.clone()));
        if !self.store_as(event.clone(), run, wanted).await?.duplicate {
            let run = run.clone();
            return Ok(SubmittedRun { run, is_new: true });
        }
        for _ in 0..LOOKS_MAX {
            if let Some(known) = self.find_request(key).await? {
                // The same run id: this call's own append is stored, and its first acknowledgement
                // was lost.
                if known.run != *run {
                    bus.kv_shred(&subjects.secret_key(run)).await?;
                }
                return same(known, &request, &event);
            }
        }
        let rule = "must be new: the key of a deleted run stays taken for ten minutes";
        Err(Problem::new(HEADER, rule, "not shown").into())
    }

    /// The stored request under a key, with its run.
    async fn find_request(
        &self,
        key: IdempotencyKey,
    ) -> Result<Option<StoredRequest>, SessionError> {
        let (bus, subjects) = self.parts();
        let filters = vec![subjects.req_of_all_runs()];
        let mut tail = retry_unreachable(|| bus.tail(Stream::Ctl, filters.clone(), 1)).await?;
        while let Some(stored) = tail.next_stored().await? {
            let run = subjects.parse(&stored.subject).map(|subject| subject.run);
            let Some(run) = run.filter(|run| key.is_of(run)) else {
                continue;
            };
            let envelope: Result<Envelope<Request>, _> = serde_json::from_slice(&stored.payload);
            let Ok(Envelope { id, event, .. }) = envelope else {
                continue;
            };
            if let Request::RunRequested(requested) = event {
                return Ok(Some(StoredRequest {
                    run,
                    event: id,
                    requested: *requested,
                }));
            }
        }
        Ok(None)
    }
}

fn same(
    known: StoredRequest,
    request: &RunRequested,
    event: &EventId,
) -> Result<SubmittedRun, SessionError> {
    let StoredRequest { run, .. } = known;
    if known.requested == *request && known.event == *event {
        return Ok(SubmittedRun { run, is_new: false });
    }
    let rule = "must be new: it stands for another request";
    Err(Problem::new(HEADER, rule, format!("that of run {run}")).into())
}

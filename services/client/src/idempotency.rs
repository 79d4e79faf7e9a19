//! Asking for a run once, however often it is said: what an `Idempotency-Key` is for.
//!
//! Must never remember a key anywhere but in the log. What follows from a key and its caller is
//! written there with the run: the random part of its id, by which it is found again, and the id of
//! the request, by which the log itself lets one of several racing askers win. That id follows from
//! the secrets, too, which the log holds nowhere else: a request with other secrets is another one.

use std::collections::BTreeMap;

use bytes::Bytes;
use loadpilot_bus::{Step, Stream};
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

/// Where a key is said.
const HEADER: &str = "Idempotency-Key";
/// Bits of a run id that say no time.
const RANDOM_BITS: u32 = 80;
/// How often a request that lost to one of the same key is looked for.
const LOOKS_MAX: u32 = 3;

/// What follows from a key and its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdempotencyKey {
    random: u128,
    event: u128,
    seed: u64,
}

/// A request that the log holds.
struct StoredRequest {
    run: RunId,
    event: EventId,
    requested: RunRequested,
}

/// A run that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmittedRun {
    /// Its id.
    pub run: RunId,
    /// Whether it is this request that asked for it.
    pub is_new: bool,
}

impl IdempotencyKey {
    /// The mark of a key of `caller`: another caller's key is another one.
    #[must_use]
    pub fn of(key: &str, caller: &str) -> Self {
        let part = |what: &str| digest(&[what.as_bytes(), caller.as_bytes(), key.as_bytes()]);
        Self {
            random: part("run") >> (u128::BITS - RANDOM_BITS),
            event: part("request"),
            seed: u64::try_from(part("seed") & u128::from(limits::SEED_MAX)).unwrap_or_default(),
        }
    }

    /// The seed of a request that says none: the same each time it is sent.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The id of a request with these secrets.
    fn event(&self, secrets: &BTreeMap<String, String>) -> EventId {
        let of_mark = self.event.to_be_bytes();
        let mut parts = vec![of_mark.as_slice()];
        for (handle, value) in secrets {
            parts.extend([handle.as_bytes(), value.as_bytes()]);
        }
        EventId::from_ulid(Ulid::from(digest(&parts)))
    }

    fn is_of(&self, run: &RunId) -> bool {
        Ulid::from_string(run.as_str()).is_ok_and(|ulid| ulid.random() == self.random)
    }
}

/// The first half of a hash over parts, each after its length.
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
    /// Asks for a run under a key, or finds the one that was asked for under it.
    ///
    /// # Errors
    /// Everything that is wrong with the request, another one of the same key among it; or the
    /// world.
    pub async fn submit_once(
        &self,
        request: RunRequested,
        secrets: &BTreeMap<String, String>,
        bodies: &BTreeMap<String, Bytes>,
        mark: IdempotencyKey,
    ) -> Result<SubmittedRun, SessionError> {
        let problems = problems(&request, secrets, bodies);
        if !problems.is_empty() {
            return Err(Refusal { problems }.into());
        }
        let event = mark.event(secrets);
        if let Some(known) = self.find_request(mark).await? {
            return same(known, &request, &event);
        }
        let (bus, subjects) = self.parts();
        bodies::store(&bus, &subjects, &request.plan, bodies).await?;
        let run = RunId::from_ulid(Ulid::from_parts(now().0 / 1_000, mark.random));
        self.store_secrets(&run, &request, secrets).await?;
        let wanted = Request::RunRequested(Box::new(request.clone()));
        if !self.store_as(event.clone(), &run, wanted).await?.duplicate {
            return Ok(SubmittedRun { run, is_new: true });
        }
        for _ in 0..LOOKS_MAX {
            if let Some(known) = self.find_request(mark).await? {
                // A repeat of ours whose first answer was lost is known under the same id.
                if known.run != run {
                    bus.kv_shred(&subjects.secret_key(&run)).await?;
                }
                return same(known, &request, &event);
            }
        }
        bus.kv_shred(&subjects.secret_key(&run)).await?;
        let rule = "must be a new one: that of a run which was deleted is taken for ten minutes";
        Err(Problem::new(HEADER, rule, "not shown").into())
    }

    /// The run that was asked for under a key, with what was asked.
    async fn find_request(
        &self,
        mark: IdempotencyKey,
    ) -> Result<Option<StoredRequest>, SessionError> {
        let (bus, subjects) = self.parts();
        let filters = vec![subjects.req_of_all_runs()];
        let mut tail = retry_unreachable(|| bus.tail(Stream::Ctl, filters.clone(), 1)).await?;
        while let Step::Event(stored) = tail.next().await? {
            let run = subjects.parse(&stored.subject).map(|subject| subject.run);
            let Some(run) = run.filter(|run| mark.is_of(run)) else {
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
    let rule = "must be a new one: it stands for another request";
    Err(Problem::new(HEADER, rule, format!("that of run {run}")).into())
}

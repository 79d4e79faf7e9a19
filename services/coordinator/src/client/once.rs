//! Asking for a run once, however often it is said: what an `Idempotency-Key` is for.
//!
//! Must never remember a key anywhere but in the log. What follows from a key is written there with
//! the run: the random part of its id, by which it is found again, and the id of the request, by
//! which the log itself lets one of several racing askers win.

use std::collections::BTreeMap;

use bytes::Bytes;
use loadpilot_bus::{Step, Stream};
use loadpilot_events::id::EventId;
use loadpilot_events::limits;
use loadpilot_events::refusal::{Problem, Refusal};
use loadpilot_events::req::{Request, RunRequested};
use loadpilot_events::{Envelope, RunId};
use sha2::{Digest, Sha256};
use ulid::Ulid;

use super::asked::problems;
use super::bodies;
use super::session::{Session, SessionError, now, patiently};

/// Where a key is said.
const PLACE: &str = "Idempotency-Key";
/// Bits of a run id that say no time.
const RANDOM_BITS: u32 = 80;
/// How often a request that lost to one of the same key is looked for.
const LOOKS_MAX: u32 = 3;

/// What follows from a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    random: u128,
    event: u128,
    seed: u64,
}

/// A run that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    /// Its id.
    pub run: RunId,
    /// Whether it is this request that asked for it.
    pub is_new: bool,
}

impl Mark {
    /// The mark of a key.
    #[must_use]
    pub fn of(key: &str) -> Self {
        let part = |what: &str| {
            let digest = Sha256::new_with_prefix(what).chain_update(key).finalize();
            digest
                .iter()
                .take(16)
                .fold(0, |sum, byte| (sum << 8) | u128::from(*byte))
        };
        Self {
            random: part("run\0") >> (u128::BITS - RANDOM_BITS),
            event: part("request\0"),
            seed: u64::try_from(part("seed\0") & u128::from(limits::SEED_MAX)).unwrap_or_default(),
        }
    }

    /// The seed of a request that says none: the same each time it is sent.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    fn is_of(&self, run: &RunId) -> bool {
        Ulid::from_string(run.as_str()).is_ok_and(|ulid| ulid.random() == self.random)
    }
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
        mark: Mark,
    ) -> Result<Once, SessionError> {
        let problems = problems(&request, secrets, bodies);
        if !problems.is_empty() {
            return Err(Refusal { problems }.into());
        }
        if let Some(known) = self.asked_under(mark).await? {
            return same(known, &request);
        }
        let (bus, subjects) = self.parts();
        bodies::store(&bus, &subjects, &request.plan, bodies).await?;
        let run = RunId::from_ulid(Ulid::from_parts(now().0 / 1_000, mark.random));
        self.hand_over(&run, &request, secrets).await?;
        let event = EventId::from_ulid(Ulid::from(mark.event));
        let wanted = Request::RunRequested(Box::new(request.clone()));
        if !self.store_as(event, &run, wanted).await?.duplicate {
            return Ok(Once { run, is_new: true });
        }
        for _ in 0..LOOKS_MAX {
            if let Some(known) = self.asked_under(mark).await? {
                // A repeat of ours whose first answer was lost is known under the same id.
                if known.0 != run {
                    bus.kv_shred(&subjects.secret_key(&run)).await?;
                }
                return same(known, &request);
            }
        }
        bus.kv_shred(&subjects.secret_key(&run)).await?;
        let rule = "must be a new one: that of a run which was deleted is taken for ten minutes";
        Err(Problem::new(PLACE, rule, "not shown").into())
    }

    /// The run that was asked for under a key, with what was asked.
    async fn asked_under(&self, mark: Mark) -> Result<Option<(RunId, RunRequested)>, SessionError> {
        let (bus, subjects) = self.parts();
        let filters = vec![subjects.req_of_all_runs()];
        let mut tail = patiently(|| bus.tail(Stream::Ctl, filters.clone(), 1)).await?;
        while let Step::Event(stored) = tail.next().await? {
            let run = subjects.parse(&stored.subject).map(|subject| subject.run);
            let Some(run) = run.filter(|run| mark.is_of(run)) else {
                continue;
            };
            let envelope: Result<Envelope<Request>, _> = serde_json::from_slice(&stored.payload);
            if let Ok(Request::RunRequested(requested)) = envelope.map(|envelope| envelope.event) {
                return Ok(Some((run, *requested)));
            }
        }
        Ok(None)
    }
}

fn same(
    (run, requested): (RunId, RunRequested),
    request: &RunRequested,
) -> Result<Once, SessionError> {
    if requested == *request {
        return Ok(Once { run, is_new: false });
    }
    let rule = "must be a new one: it stands for another request";
    Err(Problem::new(PLACE, rule, format!("that of run {run}")).into())
}

//! Appends one decision and determines its outcome. It never retries: after any outcome except
//! success the run is folded and decided again.

use std::fmt;

use bytes::Bytes;
use loadpilot_bus::{AppendError, Bus, Fault, Stream};
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::wire::heartbeat::News;
use loadpilot_events::{Envelope, EventId, RunId, TenantId, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::clock::Clock;

/// Maximum age of a decision in µs when it is sent. An older decision is dropped: the process was
/// frozen, and the instants in the decision are out of date.
const PENDING_APPEND_US_MAX: u64 = 1_000_000;

/// A decision to be appended.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingAppend<D = Decision> {
    /// Tenant of its subject.
    pub tenant: TenantId,
    /// Its run.
    pub run: RunId,
    /// The subject to append it to.
    pub subject: String,
    /// The last folded sequence of this subject; 0 before any.
    pub expected: u64,
    /// Sequence of the control event before it in the news for agents.
    pub previous_seq: u64,
    /// Time of the decision.
    pub at: Timestamp,
    /// The decision.
    pub decision: D,
}

impl PendingAppend {
    /// The news for the tenant's watchers, if `event` was stored.
    pub(crate) fn news(&self, outcome: &Outcome, event: Envelope<Decision>) -> Option<News> {
        let Outcome::Stored { seq } = outcome else {
            return None;
        };
        Some(News {
            run: self.run.clone(),
            tenant: None,
            seq: *seq,
            previous_seq: self.previous_seq,
            event,
        })
    }
}

/// The outcome of an append.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The log holds it.
    Stored {
        /// Its sequence.
        seq: u64,
    },
    /// Another coordinator was first, or may have been: the log has to be read.
    Lost,
    /// The log does not contain it. (If it is stored late nevertheless, the next append loses.)
    NotStored,
    /// The log has no room for it.
    Full,
    /// The server rejects events of this size.
    TooLarge {
        /// Its number of bytes.
        bytes: u64,
        /// Maximum number of bytes that the server accepts.
        limit: u64,
    },
    /// A fault of the bus.
    Fault(Fault),
}

impl Outcome {
    /// Its label in metrics.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Stored { .. } => "stored",
            Self::Lost => "lost",
            Self::NotStored => "not_stored",
            Self::Full => "full",
            Self::TooLarge { .. } => "too_large",
            Self::Fault(_) => "fault",
        }
    }
}

/// Appends `pending`, an event of version `v`; on success also returns the event.
pub(crate) async fn append<D: Clone + Serialize + DeserializeOwned>(
    bus: &Bus,
    clock: &Clock,
    pending: &PendingAppend<D>,
    v: u16,
) -> (Outcome, Option<Envelope<D>>) {
    let event = Envelope {
        v,
        id: EventId::from_ulid(ulid::Ulid::generate()),
        at: pending.at,
        event: pending.decision.clone(),
    };
    let payload = match serde_json::to_vec(&event) {
        Ok(json) => Bytes::from(json),
        Err(error) => {
            let (what, why) = ("encode a decision".to_owned(), error.to_string());
            return (Outcome::Fault(Fault::Server { what, why }), None);
        }
    };
    if clock.now().since_us(pending.at) > PENDING_APPEND_US_MAX {
        return (Outcome::NotStored, None);
    }
    let id = event.id.as_str();
    let bytes = payload.len() as u64;
    let outcome = match bus
        .append_at(&pending.subject, pending.expected, id, payload)
        .await
    {
        Ok(seq) => Outcome::Stored { seq },
        Err(AppendError::Conflict) => Outcome::Lost,
        Err(AppendError::Unknown) => look_for(bus, pending, &event.id).await,
        Err(AppendError::Full { .. }) => Outcome::Full,
        Err(AppendError::TooLarge { limit }) => Outcome::TooLarge { bytes, limit },
        Err(AppendError::Fault(fault)) => Outcome::Fault(fault),
    };
    let stored = matches!(outcome, Outcome::Stored { .. }).then_some(event);
    (outcome, stored)
}

/// Determines the outcome of an append without an acknowledgement. Other events may follow it
/// already.
async fn look_for<D: DeserializeOwned>(
    bus: &Bus,
    pending: &PendingAppend<D>,
    id: &EventId,
) -> Outcome {
    let stored = match bus
        .read(Stream::Ctl, vec![pending.subject.clone()], None)
        .await
    {
        Ok(stored) => stored,
        Err(fault) => {
            tracing::debug!(run = %pending.run, %fault, "the outcome of an append is unknown");
            return Outcome::Lost;
        }
    };
    let mut newer = stored
        .iter()
        .filter(|stored| stored.seq > pending.expected)
        .peekable();
    if newer.peek().is_none() {
        return Outcome::NotStored;
    }
    let is_it = |payload: &Bytes| {
        serde_json::from_slice::<Envelope<D>>(payload).is_ok_and(|event| event.id == *id)
    };
    let found = newer.find(|stored| is_it(&stored.payload));
    found.map_or(Outcome::Lost, |stored| Outcome::Stored { seq: stored.seq })
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stored { seq } => write!(f, "stored at {seq}"),
            Self::Lost => f.write_str("another coordinator was first"),
            Self::NotStored => f.write_str("not stored"),
            Self::Full => f.write_str("the log is full"),
            Self::TooLarge { bytes, limit } => {
                write!(f, "it has {bytes} bytes and the server takes {limit}")
            }
            Self::Fault(fault) => write!(f, "{fault}"),
        }
    }
}

//! Appending one decision and finding out what became of it. It must never retry by itself: after
//! anything but success the run is folded and decided about again.

use std::fmt;

use bytes::Bytes;
use loadpilot_bus::{AppendError, Bus, Fault, Stream};
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::envelope::version_of;
use loadpilot_events::wire::heartbeat::News;
use loadpilot_events::{Envelope, EventId};

use crate::clock::Clock;
use crate::run_state::PendingAppend;

/// A decision that did not leave within this time (µs) is thrown away: the process was frozen and
/// the instants in it mean nothing any more.
const PENDING_APPEND_US_MAX: u64 = 1_000_000;

/// What became of an append.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It stands in the log.
    Stored {
        /// Where.
        seq: u64,
    },
    /// Somebody else was first, or may have been: the log tells.
    Lost,
    /// It does not stand in the log. (Should it come to stand there late, the next append is the
    /// one that loses.)
    NotStored,
    /// The log has no room for it.
    Full,
    /// The server never takes an event of this size.
    TooLarge {
        /// Its length.
        bytes: u64,
        /// The longest that the server takes.
        limit: u64,
    },
    /// The world is not as it should be.
    Fault(Fault),
}

impl Outcome {
    /// What it is called among figures.
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

/// Appends `pending`; with success comes what agents are to be told.
pub(crate) async fn append(
    bus: &Bus,
    clock: &Clock,
    pending: &PendingAppend,
) -> (Outcome, Option<News>) {
    let event = Envelope {
        v: version_of(&pending.decision),
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
    let news = match outcome {
        Outcome::Stored { seq } => {
            let (run, previous_seq) = (pending.run.clone(), pending.previous_seq);
            Some(News {
                run,
                seq,
                previous_seq,
                event,
            })
        }
        _ => None,
    };
    (outcome, news)
}

/// After an append without an answer: whether it is there. Others may have followed it already.
async fn look_for(bus: &Bus, pending: &PendingAppend, id: &EventId) -> Outcome {
    let stored = match bus
        .read(Stream::Ctl, vec![pending.subject.clone()], None)
        .await
    {
        Ok(stored) => stored,
        Err(fault) => {
            tracing::debug!(run = %pending.run, %fault, "an append's fate is unknown");
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
        serde_json::from_slice::<Envelope<Decision>>(payload).is_ok_and(|event| event.id == *id)
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

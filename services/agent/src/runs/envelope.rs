//! Envelopes of this agent's events.

use loadpilot_events::log::envelope::EVENT_VERSION;
use loadpilot_events::{Envelope, EventId};

/// Wraps `event`, with a new id and the current time.
#[must_use]
pub(crate) fn envelope<E>(event: E) -> Envelope<E> {
    Envelope {
        v: EVENT_VERSION,
        id: EventId::from_ulid(ulid::Ulid::generate()),
        at: crate::wall_clock::now(),
        event,
    }
}

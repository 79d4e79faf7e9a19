//! The envelope around every stored event.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::EventId;
use crate::units::Timestamp;

/// The version of the event formats that this build writes.
pub const EVENT_VERSION: u16 = 1;

/// One stored event: what happened, which one it is, and when its writer says it happened.
///
/// `at` is the writer's wall clock and informs people; order comes from the stream's sequence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Envelope<E> {
    /// Version of the event formats.
    pub v: u16,
    /// Equal ids are the same event, however often it was sent.
    pub id: EventId,
    /// The writer's wall clock, in µs since the Unix epoch.
    pub at: Timestamp,
    /// What happened.
    pub event: E,
}

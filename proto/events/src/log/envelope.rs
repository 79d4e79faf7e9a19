//! The envelope around every stored event.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::EventId;
use crate::log::ctl::Decision;
use crate::log::shards;
use crate::units::Timestamp;

/// Version of the event formats that this build writes wherever it suffices.
pub const EVENT_VERSION: u16 = 1;

/// Version of decisions with strides of shards (ADR 0030).
pub const EVENT_VERSION_STRIDES: u16 = 2;

/// Version of a `RunCreated` that names the request with its plan (ADR 0066).
pub const EVENT_VERSION_PLAN_IN_REQUEST: u16 = 3;

/// Newest version that this build reads.
pub const EVENT_VERSION_NEWEST: u16 = EVENT_VERSION_PLAN_IN_REQUEST;

/// Lowest version whose readers understand a decision.
#[must_use]
pub fn version_of(decision: &Decision) -> u16 {
    let map = match decision {
        Decision::RunCreated(created) if created.plan.is_none() => {
            return EVENT_VERSION_PLAN_IN_REQUEST;
        }
        Decision::ShardsAssigned(assigned) => &assigned.holdings,
        Decision::ShardsReassigned(next) => &next.holdings,
        Decision::RateChanged(changed) => &changed.holdings,
        _ => return EVENT_VERSION,
    };
    let has_strides = map
        .iter()
        .any(|holding| shards::has_strides(&holding.shards));
    match has_strides {
        true => EVENT_VERSION_STRIDES,
        false => EVENT_VERSION,
    }
}

/// One stored event with its version, its id and its writer's time.
///
/// `at` is the writer's wall clock and informs people; the order comes from the stream's sequence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Envelope<E> {
    /// Version of the event formats.
    pub v: u16,
    /// Id of the event; a repeated send has the same id.
    pub id: EventId,
    /// Wall clock of the writer.
    pub at: Timestamp,
    /// What happened.
    pub event: E,
}

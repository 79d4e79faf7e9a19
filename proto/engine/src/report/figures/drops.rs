//! Dropped arrivals by reason.

use loadpilot_events::answers::report::ArrivalCounts;
use loadpilot_events::log::outcome::DropReason;

/// Arrivals that were dropped for `reason`.
#[must_use]
pub fn dropped_for(counts: &ArrivalCounts, reason: DropReason) -> u64 {
    counts.dropped.get(&reason).copied().unwrap_or(0)
}

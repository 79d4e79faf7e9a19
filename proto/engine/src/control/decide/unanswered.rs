//! The stop of a run none of whose calls reached a server.
//!
//! Must never end a run whose target any agent reached once: some load tests are about a target
//! that restarts.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_events::id::Holder;
use loadpilot_events::log::ctl::Unanswered;
use loadpilot_events::wire::heartbeat::Unreached;

/// Time, in µs, from the first call of a run, by its tick, after which the run is stopped if every
/// call failed to connect.
pub const UNANSWERED_US: u64 = 5_000_000;

/// The calls and causes of a run to be stopped; `None` while it goes on. Each process that ever
/// held shards must have reported that it reached no server, up to [`UNANSWERED_US`] after the
/// first call of the run. A process without a report may have reached it.
#[must_use]
pub fn unanswered(
    holders: &BTreeSet<Holder>,
    reports: &BTreeMap<Holder, Unreached>,
) -> Option<Unanswered> {
    let reports: Option<Vec<&Unreached>> =
        holders.iter().map(|holder| reports.get(holder)).collect();
    let reports = reports?;
    let since_us = reports.iter().filter_map(|one| one.since_us).min()?;
    let end_us = since_us.saturating_add(UNANSWERED_US);
    if reports.iter().any(|one| one.until_us < end_us) {
        return None;
    }
    let mut found = Unanswered {
        calls: reports.iter().map(|one| one.calls).sum(),
        causes: BTreeMap::new(),
    };
    for one in reports {
        for (&cause, &calls) in &one.causes {
            *found.causes.entry(cause).or_default() += calls;
        }
    }
    Some(found)
}

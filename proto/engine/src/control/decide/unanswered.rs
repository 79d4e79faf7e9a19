//! When a run is stopped because its target answers nothing.
//!
//! Must never end a run whose target was reached once, by whichever agent: a target that restarts
//! is what some load tests are about.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_events::id::Holder;
use loadpilot_events::log::ctl::Unanswered;
use loadpilot_events::wire::heartbeat::Unreached;

/// Time (µs) from the first call of a run, by its tick, after which the run is stopped if every
/// call failed to connect.
pub const UNANSWERED_US: u64 = 5_000_000;

/// What there is to say of a run to be stopped because nothing answers: each process that ever
/// held shards said that it reached no server, all of them up to [`UNANSWERED_US`] after the first
/// call of the run. One that said nothing may have reached it.
#[must_use]
pub fn unanswered(
    holders: &BTreeSet<Holder>,
    said: &BTreeMap<Holder, Unreached>,
) -> Option<Unanswered> {
    let said: Option<Vec<&Unreached>> = holders.iter().map(|holder| said.get(holder)).collect();
    let said = said?;
    let since_us = said.iter().filter_map(|one| one.since_us).min()?;
    let end_us = since_us.saturating_add(UNANSWERED_US);
    if said.iter().any(|one| one.until_us < end_us) {
        return None;
    }
    let mut found = Unanswered {
        calls: said.iter().map(|one| one.calls).sum(),
        causes: BTreeMap::new(),
    };
    for one in said {
        for (&cause, &calls) in &one.causes {
            *found.causes.entry(cause).or_default() += calls;
        }
    }
    Some(found)
}

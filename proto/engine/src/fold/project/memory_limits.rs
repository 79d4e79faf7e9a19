//! Limits on the memory that the histograms of a run take in a reader.
//!
//! A few bytes of a delta can claim many counts. Honest runs stay far below these limits; a delta
//! beyond one is quarantined as `too_many`. The limit of one delta applies to it alone. The limits
//! of an agent and of a run depend on the order of the log: the first deltas are accepted. Must be
//! checked before a delta is added up.

use std::collections::BTreeMap;

use loadpilot_events::id::AgentId;
use loadpilot_events::limits::{
    CALL_NAMES_MAX, HIST_COUNTS_PER_AGENT_MAX, HIST_COUNTS_PER_AGENT_MIN, HIST_COUNTS_PER_CALL,
    HIST_COUNTS_RUN_FACTOR,
};
use loadpilot_events::log::delta::Phase;
use loadpilot_events::log::hist::Hist;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::plan::Plan;

// Circle: the limits of a delta depend on the projection that is about to add it up.
use super::Projection;
use super::prepared::{Prepared, too_many};
use super::window::{Window, window};
use crate::control::Control;
use crate::tally::call_ids::{CallId, CallNames};

/// The key of a stored histogram.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum HistogramKey {
    Call(Window, CallId, Outcome),
    Phase(Window, CallId, Phase),
}

/// Number of histogram counts that a delta adds to those stored.
///
/// # Errors
/// Too many counts, in words.
pub(super) fn grown(
    data: &Projection,
    (control, agent): (&Control, &AgentId),
    prepared: &Prepared<'_>,
    names: &CallNames,
) -> Result<u64, String> {
    let mut sizes: BTreeMap<HistogramKey, (usize, usize)> = BTreeMap::new();
    for (row, sums, _) in prepared.calls.iter().filter(|(.., excess)| !excess) {
        let key = (
            window(control, row.tick),
            names.call_id(row.call),
            row.outcome,
        );
        let stored = data.calls.get(&key);
        let stored = stored.map_or(0, |stored| {
            stored.response.distinct_values() + stored.service.distinct_values()
        });
        let counts = sums.response.buckets() + sums.service.buckets();
        let size = sizes.entry(HistogramKey::Call(key.0, key.1, key.2));
        let size = size.or_insert((stored, stored));
        size.1 = size.1.max(counts);
    }
    for (row, phases) in &prepared.anatomy {
        let key = (window(control, row.tick), names.call_id(row.call));
        let stored = data.anatomy.get(&key);
        for (phase, filled) in phases {
            let stored = stored.and_then(|stored| stored.phases.get(phase));
            let stored = stored.map_or(0, Hist::distinct_values);
            let size = sizes.entry(HistogramKey::Phase(key.0, key.1.clone(), *phase));
            let size = size.or_insert((stored, stored));
            size.1 = size.1.max(filled.buckets());
        }
    }
    let grown: usize = sizes.values().map(|(before, after)| after - before).sum();
    let grown = grown as u64;
    let of_agent = data.counts.get(agent).copied().unwrap_or(0) + grown;
    let of_run = data.counts.values().sum::<u64>() + grown;
    let created = control.state.created.as_ref();
    let most = created.map_or(0, |created| most(&created.plan));
    if of_agent > most {
        return Err(too_many("counts of its agent"));
    }
    if of_run > most * HIST_COUNTS_RUN_FACTOR {
        return Err(too_many("counts of its run"));
    }
    Ok(grown)
}

/// Maximum number of histogram counts of one agent.
fn most(plan: &Plan) -> u64 {
    let calls = |steps: usize| {
        if steps == 0 {
            CALL_NAMES_MAX + 1
        } else {
            steps
        }
    };
    let calls: usize = plan.tasks.iter().map(|task| calls(task.steps.len())).sum();
    let most = HIST_COUNTS_PER_AGENT_MIN + HIST_COUNTS_PER_CALL * calls as u64;
    most.min(HIST_COUNTS_PER_AGENT_MAX)
}

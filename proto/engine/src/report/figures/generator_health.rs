//! Figures of the generator, and the phases of calls.

use std::collections::BTreeMap;

use loadpilot_events::answers::report::GeneratorReport;
use loadpilot_events::id::AgentId;
use loadpilot_events::log::delta::Phase;

use crate::fold::project::{HolderSums, Projection, Window};
use crate::report::figures::percentiles::ladders;
use crate::tally::aggregates::AnatomySums;
use crate::tally::call_ids::CallId;
use crate::tally::ratio::percent;

/// The phases of the calls that `keep` selects, in the measured time.
#[must_use]
pub(crate) fn anatomy(data: &Projection, keep: impl Fn(&CallId) -> bool) -> AnatomySums {
    let mut sums = AnatomySums::default();
    for ((window, call), more) in &data.anatomy {
        if *window == Window::Measured && keep(call) {
            sums.add(more);
        }
    }
    sums
}

/// Figures of the generator.
#[must_use]
pub(crate) fn generator(data: &Projection) -> GeneratorReport {
    let sums = anatomy(data, |_| true);
    let mut phases = ladders(&sums);
    let generator = &data.generator;
    GeneratorReport {
        schedule_lag: phases.remove(&Phase::ScheduleLag),
        queue: phases.remove(&Phase::Queue),
        connections_opened: sums.opened,
        connections_reused: sums.reused,
        resent: sums.resent,
        redirects: sums.redirects,
        redirects_not_followed: sums.redirects_not_followed,
        retransmits_max: most(data, |holder| holder.retransmits),
        listen_overflows_max: most(data, |holder| holder.listen_overflows),
        busiest_core_permille: generator.busiest_core_permille,
        busy_deltas_pct: percent(generator.busy_deltas, generator.deltas),
        stall_us_max: generator.stall_us,
    }
}

/// The maximum over agents: agents may share a machine, which a sum would count twice.
fn most(data: &Projection, of: impl Fn(&HolderSums) -> u64) -> u64 {
    let mut agents: BTreeMap<&AgentId, u64> = BTreeMap::new();
    for (holder, sums) in &data.holders {
        *agents.entry(&holder.agent).or_default() += of(sums);
    }
    agents.into_values().max().unwrap_or(0)
}

//! Figures of each process that ever held shards of a run.

use loadpilot_events::answers::report::{HolderFacts, TailFacts};
use loadpilot_events::id::Holder;
use loadpilot_events::is_development;

use crate::control::Control;
use crate::fold::project::{HolderSums, Projection};

/// Figures of each process that ever held shards.
pub(crate) fn holders(control: &Control, data: &Projection) -> Vec<HolderFacts> {
    let state = &control.state;
    let nothing = HolderSums::default();
    let facts = |holder: &Holder| {
        let sums = data.holders.get(holder).unwrap_or(&nothing);
        let holdings = control.assignments.iter().filter_map(|a| a.of(holder));
        let shards = holdings.map(|holding| holding.shards.len()).max();
        HolderFacts {
            holder: holder.clone(),
            shards: u32::try_from(shards.unwrap_or(0)).unwrap_or(u32::MAX),
            started: sums.started,
            calls: sums.calls,
            deltas: sums.chain.seqs().count(),
            finished: state.finished.contains_key(holder),
            lost: state.lost.get(holder).map(|loss| loss.reason),
            clock_bound_us: state.ready.get(holder).map(|ready| ready.clock.bound_us),
            tail: state.tails.get(holder).map(|tail| TailFacts {
                indeterminate: tail.indeterminate,
                lost: tail.lost.as_ref().map(|lost| lost.reason.clone()),
            }),
            development: state
                .offers
                .get(holder)
                .is_some_and(|offer| is_development(&offer.version)),
        }
    };
    state.ever_held.iter().map(facts).collect()
}

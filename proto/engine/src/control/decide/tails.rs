//! The wait of a left-over run for what its killed agents left behind.

use loadpilot_events::id::Holder;
use loadpilot_events::units::Timestamp;

use crate::control::decide::Run;

/// Time, in µs, that a run of an earlier stack waits for the agents of this one to say whether they
/// found anything of it.
const SUCCESSORS_US: u64 = 3_000_000;

impl Run<'_> {
    /// When the wait for killed agents ends: for those without a successor yet, and for all.
    pub(crate) fn tails_by(&self) -> [Timestamp; 2] {
        let since = self.observed.since;
        [
            since.plus_us(SUCCESSORS_US),
            since.plus_us(self.policy.finish_us),
        ]
    }

    /// Whether a report about killed agents of a left-over run may still come.
    pub(crate) fn awaits_tails(&self) -> bool {
        let [first_by, all_by] = self.tails_by();
        let state = self.state;
        let is_owed = |holder: &&Holder| {
            !state.finished.contains_key(holder) && !state.tails.contains_key(holder)
        };
        let may_come = |holder: &Holder| {
            self.is_recovered(holder) || self.clock < first_by && !self.was_replaced(holder)
        };
        let mut owed = state.ever_held.iter().filter(is_owed);
        state.start.is_some() && self.clock < all_by && owed.any(may_come)
    }
}

//! Calls that never reached a server, and the report of an agent that has made no other calls.

use std::collections::BTreeMap;

use loadpilot_events::RunId;
use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::wire::heartbeat::Unreached;

use crate::tally::aggregates::add_counts;
use crate::tally::rows::Rows;

/// Number of calls without a connection over which a request could be sent, among `count` calls
/// that ended in `outcome` for `causes`.
#[must_use]
pub fn unconnected(outcome: Outcome, count: u64, causes: &BTreeMap<Cause, u64>) -> u64 {
    match outcome {
        Outcome::Connect | Outcome::Tls => count,
        Outcome::Timeout => {
            let before = [
                Cause::WhileResolving,
                Cause::WhileConnecting,
                Cause::WhileSecuring,
            ];
            let cut = before.iter().filter_map(|cause| causes.get(cause));
            cut.sum::<u64>().min(count)
        }
        _ => 0,
    }
}

/// State of one agent about the target of a run, as long as none of its calls reached a server.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    reached: bool,
    /// End of the time that was counted; `None` before the first count.
    until_us: Option<u64>,
    since_us: Option<u64>,
    calls: u64,
    causes: BTreeMap<Cause, u64>,
}

impl Reach {
    /// Adds the counts up to `until_us` after the start, in ticks of `tick_us`.
    pub fn add(&mut self, rows: &Rows, tick_us: u64, until_us: u64) {
        self.until_us = Some(until_us);
        for (tick, outcome, sums) in rows.ended() {
            if !outcome.is_finished() {
                continue;
            }
            self.reached |= unconnected(outcome, sums.count, &sums.causes) < sums.count;
            let since_us = u64::from(tick).saturating_mul(tick_us);
            self.since_us = Some(self.since_us.map_or(since_us, |known| known.min(since_us)));
            self.calls += sums.count;
            add_counts(&mut self.causes, &sums.causes);
        }
    }

    /// Whether calls have finished, and all of them failed to connect.
    #[must_use]
    pub fn is_unreached(&self) -> bool {
        !self.reached && self.calls > 0
    }

    /// The agent's report about `run`: `None` before the start, and once a call reached a server.
    #[must_use]
    pub fn report(&self, run: &RunId) -> Option<Unreached> {
        let until_us = self.until_us.filter(|_| !self.reached)?;
        Some(Unreached {
            run: run.clone(),
            until_us,
            since_us: self.since_us,
            calls: self.calls,
            causes: self.causes.clone(),
        })
    }
}

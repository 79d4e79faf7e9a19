//! The runs that are over. The events of the newest ones are kept, so that an agent that is behind
//! learns of the end of its run; of the others only their ids.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use loadpilot_events::RunId;

use crate::feed::NewsFeed;

/// Maximum number of finished runs whose events are kept.
const KEPT_RUNS_MAX: usize = 256;

/// Maximum number of bytes of events of finished runs that are kept.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// Maximum number of finished runs that are known; the oldest are forgotten first.
const KNOWN_RUNS_MAX: usize = 200_000;

/// The runs that are over.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    known: BTreeSet<RunId>,
    kept: BTreeMap<RunId, NewsFeed>,
    order: VecDeque<RunId>,
    bytes: usize,
}

impl Finished {
    /// Adds a run that has just ended.
    pub(crate) fn add(&mut self, run: RunId, feed: NewsFeed) {
        self.bytes += feed.bytes();
        self.kept.insert(run.clone(), feed);
        self.order.push_back(run.clone());
        while self.order.len() > KEPT_RUNS_MAX || self.bytes > KEPT_BYTES_MAX {
            let oldest = self
                .order
                .pop_front()
                .and_then(|run| self.kept.remove(&run));
            let Some(oldest) = oldest else { break };
            self.bytes -= oldest.bytes();
        }
        self.known.insert(run);
        if self.known.len() > KNOWN_RUNS_MAX {
            // Ids sort by creation time: this is the oldest run.
            self.known.pop_first();
        }
    }

    /// Whether this run is over.
    pub(crate) fn contains(&self, run: &RunId) -> bool {
        self.known.contains(run)
    }

    /// Its events, while they are kept.
    pub(crate) fn feed(&self, run: &RunId) -> Option<&NewsFeed> {
        self.kept.get(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a coordinator keeps every run and runs out of memory.
    #[test]
    fn only_the_newest_are_kept_and_all_are_known() {
        let mut finished = Finished::default();
        let run = |n: usize| RunId::parse(&format!("run{n:05}")).expect("a token");
        for n in 0..KEPT_RUNS_MAX + 10 {
            finished.add(run(n), NewsFeed::default());
        }
        assert_eq!(finished.kept.len(), KEPT_RUNS_MAX);
        assert!(finished.contains(&run(0)) && finished.feed(&run(0)).is_none());
        assert!(finished.feed(&run(10)).is_some());
    }
}

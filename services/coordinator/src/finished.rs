//! The runs that are over. For the newest runs the events stay in memory, so that an agent that is
//! behind receives the end of its run; for the others only their ids.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use loadpilot_events::RunId;

use crate::feed::NewsFeed;

/// Maximum number of finished runs whose events stay in memory.
const FEEDS_MAX: usize = 256;

/// Maximum number of bytes of events of finished runs.
const FEEDS_BYTES_MAX: usize = 64 << 20;

/// Maximum number of ids of finished runs; the oldest are forgotten first.
const KNOWN_RUNS_MAX: usize = 200_000;

/// The runs that are over.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    known: BTreeSet<RunId>,
    feeds: BTreeMap<RunId, NewsFeed>,
    order: VecDeque<RunId>,
    bytes: usize,
}

impl Finished {
    /// Adds a run that has just ended.
    pub(crate) fn add(&mut self, run: RunId, feed: NewsFeed) {
        self.bytes += feed.bytes();
        self.feeds.insert(run.clone(), feed);
        self.order.push_back(run.clone());
        while self.order.len() > FEEDS_MAX || self.bytes > FEEDS_BYTES_MAX {
            let oldest = self
                .order
                .pop_front()
                .and_then(|run| self.feeds.remove(&run));
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

    /// Its events, while they are in memory.
    pub(crate) fn feed(&self, run: &RunId) -> Option<&NewsFeed> {
        self.feeds.get(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if the events of every run stay, so that a coordinator runs out of memory.
    #[test]
    fn only_the_newest_have_events_and_all_are_known() {
        let mut finished = Finished::default();
        let run = |n: usize| RunId::parse(&format!("run{n:05}")).expect("a token");
        for n in 0..FEEDS_MAX + 10 {
            finished.add(run(n), NewsFeed::default());
        }
        assert_eq!(finished.feeds.len(), FEEDS_MAX);
        assert!(finished.contains(&run(0)) && finished.feed(&run(0)).is_none());
        assert!(finished.feed(&run(10)).is_some());
    }
}

//! Sums of rows: an agent counts them, the fold adds them up, a report shows them.
//!
//! Each is a commutative monoid: adding, in any order and in any grouping, gives the same. Must
//! never average, and never hold more than sums.

use std::collections::BTreeMap;

use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::delta::{AnatomyRow, CallRow, Phase, SessionCounts, TaskRaises};
use loadpilot_events::log::hist::{self, FilledBuckets, Hist};
use loadpilot_events::log::outcome::DropReason;
use loadpilot_events::plan::script::Checks;
use serde::{Deserialize, Serialize};

use crate::tally::cache_codec;

/// Arrivals, added up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrivalSums {
    /// Started.
    pub started: u64,
    /// Dropped, by reason.
    pub dropped: BTreeMap<DropReason, u64>,
    /// Started arrivals with a call that was not ok.
    pub task_errors: u64,
    /// Arrivals whose task raised an error.
    #[serde(with = "cache_codec::raises")]
    pub raises: TaskRaises,
    /// Checks that examined a response.
    pub checks: Checks,
    /// Sessions that began with one of the arrivals.
    pub sessions: SessionCounts,
}

impl ArrivalSums {
    /// Number of arrivals that were started or dropped.
    #[must_use]
    pub fn reported(&self) -> u64 {
        self.started + self.dropped.values().sum::<u64>()
    }

    /// Adds `more`.
    pub fn add(&mut self, more: &Self) {
        self.started += more.started;
        self.task_errors += more.task_errors;
        self.raises.add(more.raises);
        self.checks.passed += more.checks.passed;
        self.checks.failed += more.checks.failed;
        self.sessions.add(more.sessions);
        add_counts(&mut self.dropped, &more.dropped);
    }
}

/// Calls of one kind, merged.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallSums {
    /// Number of calls.
    pub count: u64,
    /// End − due, in µs.
    #[serde(with = "cache_codec::latency")]
    pub response: Hist,
    /// End − dispatch, in µs.
    #[serde(with = "cache_codec::latency")]
    pub service: Hist,
    /// Answers by status code.
    pub status: BTreeMap<u16, u64>,
    /// Calls without a complete answer, by cause.
    pub causes: BTreeMap<Cause, u64>,
    /// Bytes written.
    pub sent_bytes: u64,
    /// Bytes read.
    pub received_bytes: u64,
}

impl Default for CallSums {
    fn default() -> Self {
        Self {
            count: 0,
            response: hist::latency(),
            service: hist::latency(),
            status: BTreeMap::new(),
            causes: BTreeMap::new(),
            sent_bytes: 0,
            received_bytes: 0,
        }
    }
}

impl CallSums {
    /// Adds `more`; bytes saturate, since a log may claim any number of them.
    pub fn add(&mut self, more: &Self) {
        self.count += more.count;
        merge(&mut self.response, &more.response);
        merge(&mut self.service, &more.service);
        add_counts(&mut self.status, &more.status);
        add_counts(&mut self.causes, &more.causes);
        self.sent_bytes = self.sent_bytes.saturating_add(more.sent_bytes);
        self.received_bytes = self.received_bytes.saturating_add(more.received_bytes);
    }
}

impl CallSums {
    /// Adds a row and its histograms.
    pub(crate) fn add_row(
        &mut self,
        row: &CallRow,
        response: &FilledBuckets,
        service: &FilledBuckets,
    ) {
        self.count += row.count;
        response.add_to(&mut self.response);
        service.add_to(&mut self.service);
        add_counts(&mut self.status, &row.status);
        add_counts(&mut self.causes, &row.causes);
        self.sent_bytes = self.sent_bytes.saturating_add(row.sent_bytes);
        self.received_bytes = self.received_bytes.saturating_add(row.received_bytes);
    }
}

/// Where the time of the calls of one kind went, merged.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct AnatomySums {
    /// One histogram per phase, in µs.
    #[serde(with = "cache_codec::phases")]
    pub phases: BTreeMap<Phase, Hist>,
    /// Connections opened.
    pub opened: u64,
    /// Calls on an open connection.
    pub reused: u64,
    /// Requests sent a second time.
    pub resent: u64,
    /// Redirects followed.
    pub redirects: u64,
    /// Calls that ended with a redirect that was not followed.
    pub redirects_not_followed: u64,
}

impl AnatomySums {
    /// Adds `more`.
    pub fn add(&mut self, more: &Self) {
        for (&phase, hist) in &more.phases {
            merge(self.phases.entry(phase).or_insert_with(hist::anatomy), hist);
        }
        self.opened += more.opened;
        self.reused += more.reused;
        self.resent += more.resent;
        self.redirects += more.redirects;
        self.redirects_not_followed += more.redirects_not_followed;
    }
}

impl AnatomySums {
    /// Adds a row and its histograms.
    pub(crate) fn add_row<'a>(
        &mut self,
        row: &AnatomyRow,
        phases: impl IntoIterator<Item = (Phase, &'a FilledBuckets)>,
    ) {
        for (phase, filled) in phases {
            let sum = self.phases.entry(phase).or_insert_with(hist::anatomy);
            filled.add_to(sum);
        }
        self.opened += row.connections_opened;
        self.reused += row.connections_reused;
        self.resent += row.resent;
        self.redirects += row.redirects;
        self.redirects_not_followed += row.redirects_not_followed;
    }
}

/// Packs a tree whose keys were added in order: one that grows at its end is half empty.
pub(crate) fn pack<K: Ord, V>(tree: &mut BTreeMap<K, V>) {
    *tree = std::mem::take(tree).into_iter().collect();
}

/// Adds the counts of `more` to `sums`.
pub fn add_counts<K: Ord + Clone>(sums: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>) {
    for (key, &count) in more {
        *sums.entry(key.clone()).or_default() += count;
    }
}

/// Adds `more` to `sum`.
///
/// # Panics
/// Never: histograms grow on demand.
pub fn merge(sum: &mut Hist, more: &Hist) {
    sum.add(more)
        .expect("an auto-resizing histogram takes any other");
}

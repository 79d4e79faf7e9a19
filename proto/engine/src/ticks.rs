//! Finished calls by due tick: what the series of a report is made of.
//!
//! Must never keep as many histograms of a tick as there are agents: a thousand of them send five
//! thousand a second.

use loadpilot_events::delta::CallRow;
use loadpilot_events::hist::{self, EncodedHistogram, Hist};

use crate::sums::merge;

/// Most histograms of one tick that are kept as reported; then they are merged into one.
const RESPONSES_MAX: usize = 256;

/// Calls due in one tick.
#[derive(Debug, Clone, Default)]
pub struct TickCalls {
    /// Finished.
    pub finished: u64,
    /// Finished and not ok.
    pub errors: u64,
    /// Their response times, encoded, to stay small.
    responses: Vec<EncodedHistogram>,
}

impl TickCalls {
    /// Adds calls that finished, whose histograms were decoded once.
    pub fn add(&mut self, row: &CallRow) {
        self.finished += row.count;
        self.errors += if row.outcome.is_error() { row.count } else { 0 };
        self.responses.push(row.response.clone());
        if self.responses.len() >= RESPONSES_MAX {
            self.responses = vec![hist::encode(&self.response())];
        }
    }

    /// Their response times in µs, merged.
    #[must_use]
    pub fn response(&self) -> Hist {
        let mut response = hist::latency();
        for more in self.responses.iter().flat_map(hist::decode) {
            merge(&mut response, &more);
        }
        response
    }
}

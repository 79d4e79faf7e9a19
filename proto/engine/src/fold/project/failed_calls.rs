//! Examples of failed calls: the first of each call and outcome, whatever the order of deltas.

use std::collections::BTreeSet;

use loadpilot_events::limits::{FAILURES_MAX, FAILURES_PER_OUTCOME_MAX};
use loadpilot_events::log::exchange::ExchangeSeen;
use loadpilot_events::log::outcome::Outcome;
use serde::{Deserialize, Serialize};

use crate::tally::call_ids::CallId;

/// An example; they are sorted by call, outcome and arrival.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FailureSeen {
    /// The call.
    pub call: CallId,
    /// How it ended.
    pub outcome: Outcome,
    /// The exchange.
    pub exchange: ExchangeSeen,
}

/// Adds an example, and drops those beyond the limits. One that is there already changes nothing.
pub(super) fn add(examples: &mut BTreeSet<FailureSeen>, call: CallId, exchange: &ExchangeSeen) {
    let example = FailureSeen {
        call,
        outcome: exchange.outcome,
        exchange: exchange.clone(),
    };
    if examples.contains(&example) {
        return;
    }
    let is_same = |one: &FailureSeen| one.call == example.call && one.outcome == example.outcome;
    let same: Vec<&FailureSeen> = examples.iter().filter(|one| is_same(one)).collect();
    if let Some(&last) = same
        .last()
        .filter(|_| same.len() >= FAILURES_PER_OUTCOME_MAX)
    {
        if *last < example {
            return;
        }
        let last = last.clone();
        examples.remove(&last);
    }
    examples.insert(example);
    while examples.len() > FAILURES_MAX {
        examples.pop_last();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(arrival: u64, outcome: Outcome) -> ExchangeSeen {
        ExchangeSeen {
            arrival,
            call: 0,
            request: Vec::new(),
            request_body_bytes: 0,
            answer: Vec::new(),
            body: String::new(),
            received_bytes: 0,
            outcome,
            cause: None,
            response_us: 0,
        }
    }

    /// Broken if the order of deltas decides which examples stay, or one call hides another.
    #[test]
    fn the_first_stay_whatever_the_order() {
        let mut all = Vec::new();
        for call in 0..20 {
            for arrival in 0..5 {
                all.push((CallId::Planned(call), seen(arrival, Outcome::Http5xx)));
                all.push((CallId::Planned(call), seen(arrival, Outcome::Io)));
            }
        }
        let folded = |all: &[(CallId, ExchangeSeen)]| {
            let mut examples = BTreeSet::new();
            for (call, seen) in all {
                add(&mut examples, call.clone(), seen);
            }
            examples
        };
        let forward = folded(&all);
        let twice = [all.clone(), all.clone()].concat();
        // Without ids two failures may be equal, such as those of two threads.
        let again = [all.clone(), all[..1].to_vec()].concat();
        assert_eq!(forward, folded(&again));
        all.reverse();
        assert_eq!(forward, folded(&all));
        assert_eq!(forward, folded(&twice));
        assert_eq!(forward.len(), FAILURES_MAX);
        let of_first = forward.iter().filter(|one| one.call == CallId::Planned(0));
        let arrivals: Vec<u64> = of_first.map(|one| one.exchange.arrival).collect();
        assert_eq!(arrivals, [0, 1, 2, 0, 1, 2]);
    }
}

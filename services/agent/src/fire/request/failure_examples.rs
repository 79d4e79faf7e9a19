//! Selects the failed calls that are shown as text: the first of each call and outcome, and few in
//! total.

use std::collections::BTreeMap;

use loadpilot_events::limits::{FAILURES_MAX, FAILURES_PER_OUTCOME_MAX};
use loadpilot_events::log::outcome::Outcome;

use super::debug_exchange::Shown;

/// The number of examples that were taken.
#[derive(Debug, Default)]
pub(crate) struct FailureExamples {
    taken: BTreeMap<(u16, Outcome), usize>,
    total: usize,
}

impl FailureExamples {
    /// Which answers of a call are wanted as examples. `is_checked`: a check will examine them,
    /// too.
    pub(crate) fn wanted(&self, call: u16, is_checked: bool) -> Shown {
        Shown::Failed {
            checked: is_checked && self.wants(call, Outcome::CheckFailed),
            http_4xx: self.wants(call, Outcome::Http4xx),
            http_5xx: self.wants(call, Outcome::Http5xx),
        }
    }

    /// Takes an example, if one is wanted.
    pub(crate) fn take(&mut self, call: u16, outcome: Outcome) -> bool {
        let is_wanted = outcome.is_error() && self.wants(call, outcome);
        if is_wanted {
            *self.taken.entry((call, outcome)).or_default() += 1;
            self.total += 1;
        }
        is_wanted
    }

    fn wants(&self, call: u16, outcome: Outcome) -> bool {
        let taken = || {
            self.taken
                .get(&(call, outcome))
                .copied()
                .unwrap_or_default()
        };
        self.total < FAILURES_MAX && taken() < FAILURES_PER_OUTCOME_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a call that always fails is shown without limit or hides another call, or if an
    /// answer is stored of which no example is wanted.
    #[test]
    fn the_first_of_each_call_and_outcome_are_taken() {
        let mut examples = FailureExamples::default();
        let taken = (0..10)
            .filter(|_| examples.take(1, Outcome::Http5xx))
            .count();
        assert_eq!(taken, FAILURES_PER_OUTCOME_MAX);
        let (http_4xx, http_5xx) = (true, false);
        let checked = false;
        let wanted = Shown::Failed {
            checked,
            http_4xx,
            http_5xx,
        };
        assert_eq!(examples.wanted(1, checked), wanted);
        let checked = |call| examples.wanted(call, true);
        assert!(matches!(checked(1), Shown::Failed { checked: true, .. }));
        assert!(examples.take(1, Outcome::Timeout) && examples.take(2, Outcome::Http5xx));
        assert!(!examples.take(1, Outcome::Ok) && !examples.take(1, Outcome::Cancelled));
        let more = (0..1_000)
            .filter(|call| examples.take(*call, Outcome::Io))
            .count();
        assert_eq!(more, FAILURES_MAX - taken - 2, "few in all");
        let none = Shown::Failed {
            checked: false,
            http_4xx: false,
            http_5xx: false,
        };
        assert_eq!(examples.wanted(3, true), none);
    }
}

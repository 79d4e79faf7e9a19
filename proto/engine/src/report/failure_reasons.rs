//! The reasons of errors so far, for the live view: each error has one.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use loadpilot_events::answers::live::FrequentFailure;
use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::delta::CallRow;
use loadpilot_events::log::outcome::Outcome;

/// Why calls failed, with the number of calls.
#[derive(Debug, Default)]
pub(super) struct FailureReasons {
    calls: BTreeMap<Reason, u64>,
}

/// Why a call failed, as precisely as its row says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    /// The status of the response.
    Status(u16),
    /// There was no complete response.
    Cause(Cause),
    /// Anything else, such as a failed check.
    Outcome(Outcome),
}

impl FailureReasons {
    /// Adds the calls of a row, if they failed.
    pub(super) fn add(&mut self, row: &CallRow) {
        if !row.outcome.is_error() {
            return;
        }
        let is_status = matches!(row.outcome, Outcome::Http4xx | Outcome::Http5xx);
        let of_status = row.status.iter().filter(|_| is_status);
        let of_status = of_status.map(|(status, count)| (Reason::Status(*status), *count));
        let of_cause = row.causes.iter();
        let of_cause = of_cause.map(|(cause, count)| (Reason::Cause(*cause), *count));
        let mut rest = row.count;
        for (reason, count) in of_status.chain(of_cause) {
            let count = count.min(rest);
            rest -= count;
            self.count(reason, count);
        }
        self.count(Reason::Outcome(row.outcome), rest);
    }

    fn count(&mut self, reason: Reason, count: u64) {
        if count > 0 {
            *self.calls.entry(reason).or_default() += count;
        }
    }

    /// The most frequent reason, beside so many task errors that no failed call explains.
    pub(super) fn most_frequent(&self, task_errors: u64) -> Option<FrequentFailure> {
        let calls = self.calls.iter();
        let of_calls = calls.max_by_key(|&(reason, count)| (count, Reverse(reason)));
        let of_calls = of_calls.map(|(reason, count)| (reason.words(), *count));
        let of_tasks = (task_errors > 0).then(|| ("task error".to_owned(), task_errors));
        let both = [of_tasks, of_calls].into_iter().flatten();
        let most = both.max_by_key(|(_, count)| *count);
        most.map(|(why, count)| FrequentFailure { why, count })
    }
}

impl Reason {
    fn words(self) -> String {
        match self {
            Self::Status(status) => format!("HTTP {status}"),
            Self::Cause(cause) => cause.words().to_owned(),
            Self::Outcome(outcome) => outcome.name().replace('_', " "),
        }
    }
}

#[cfg(test)]
mod tests {
    use loadpilot_events::log::assign::Generation;
    use loadpilot_events::log::hist;

    use super::*;

    fn row(outcome: Outcome, count: u64) -> CallRow {
        let nothing = hist::encode(&hist::latency());
        CallRow {
            tick: 0,
            generation: Generation::default(),
            call: 0,
            outcome,
            count,
            response: nothing.clone(),
            service: nothing,
            status: BTreeMap::new(),
            causes: BTreeMap::new(),
            sent_bytes: 0,
            received_bytes: 0,
        }
    }

    /// Broken if a view hides that a target answers with errors, or counts a call twice.
    #[test]
    fn each_failed_call_has_one_reason() {
        let mut reasons = FailureReasons::default();
        assert_eq!(reasons.most_frequent(0), None);
        let mut most = |row: CallRow, task_errors| {
            reasons.add(&row);
            let most = reasons.most_frequent(task_errors);
            most.map(|most| (most.why, most.count))
        };
        let is = |why: &str, count| Some((why.to_owned(), count));
        assert_eq!(most(row(Outcome::Ok, 100), 0), None);
        assert_eq!(most(row(Outcome::Cancelled, 100), 0), None);
        assert_eq!(most(row(Outcome::Ok, 1), 2), is("task error", 2));
        assert_eq!(most(row(Outcome::CheckFailed, 3), 2), is("check failed", 3));
        let refused = CallRow {
            causes: [(Cause::Refused, 5)].into(),
            ..row(Outcome::Connect, 5)
        };
        assert_eq!(most(refused, 2), is("connection refused", 5));
        let answered = CallRow {
            status: [(500, 2), (503, 6)].into(),
            ..row(Outcome::Http5xx, 8)
        };
        assert_eq!(most(answered, 6), is("HTTP 503", 6));
        assert_eq!(most(row(Outcome::Timeout, 7), 0), is("timeout", 7));
    }
}

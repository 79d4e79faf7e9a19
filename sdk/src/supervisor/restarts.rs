//! Limit on restarts of a child. Pure: the time is an argument.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use super::child_name::ChildName;

/// Maximum number of restarts of one child within [`WINDOW`].
pub(super) const PER_MINUTE_MAX: usize = 5;

const WINDOW: Duration = Duration::from_secs(60);

/// Recent deaths of each child.
#[derive(Default)]
pub(super) struct Restarts {
    deaths: BTreeMap<ChildName, VecDeque<Instant>>,
}

/// Reaction to the death of a child.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Start it again.
    Restart,
    /// It died this many times within a minute: end the stack.
    GiveUp(usize),
}

impl Restarts {
    /// Counts a death at `now` and decides.
    pub(super) fn died(&mut self, name: ChildName, now: Instant) -> Verdict {
        let deaths = self.deaths.entry(name).or_default();
        while deaths
            .front()
            .is_some_and(|&death| now.duration_since(death) >= WINDOW)
        {
            deaths.pop_front();
        }
        deaths.push_back(now);
        if deaths.len() > PER_MINUTE_MAX {
            Verdict::GiveUp(deaths.len())
        } else {
            Verdict::Restart
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_deaths_a_minute_are_restarts_and_the_sixth_is_not() {
        let (mut restarts, start) = (Restarts::default(), Instant::now());
        let at = |secs| start + Duration::from_secs(secs);
        for second in 0..5 {
            assert_eq!(
                restarts.died(ChildName::Agent(1), at(second)),
                Verdict::Restart
            );
        }
        assert_eq!(
            restarts.died(ChildName::Agent(2), at(5)),
            Verdict::Restart,
            "each has its own count"
        );
        assert_eq!(
            restarts.died(ChildName::Agent(1), at(59)),
            Verdict::GiveUp(6)
        );
        let mut later = Restarts::default();
        for second in [0, 1, 2, 3, 4, 60, 61, 62] {
            assert_eq!(later.died(ChildName::Server, at(second)), Verdict::Restart);
        }
    }
}

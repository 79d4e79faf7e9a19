//! When an agent must stop by itself. Pure: instants are arguments.
//!
//! The coordinator reassigns a silent agent's shards after the lost time. The agent stops before
//! that, so that no shard is fired twice. Its timeout counts from the instant at which the last
//! answered heartbeat was *sent*: nothing sent later is known to have arrived. "No coordinator" has
//! a longer timeout than "no network", since a coordinator may restart mid-run.

use tokio::time::Instant;

use crate::process::timeouts::Timeouts;
use crate::runs::run_commands::Isolation;

/// When the agent was last known to be connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contact {
    /// Send time of the last heartbeat that NATS answered, even with "no responders".
    pub server: Instant,
    /// Send time of the last heartbeat that a coordinator answered.
    pub coordinator: Instant,
}

impl Contact {
    /// At the start of an agent: as if both had answered at `now`.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self {
            server: now,
            coordinator: now,
        }
    }

    /// A coordinator answered the heartbeat sent at `sent_at`.
    pub fn on_reply(&mut self, sent_at: Instant) {
        self.server = self.server.max(sent_at);
        self.coordinator = self.coordinator.max(sent_at);
    }

    /// NATS answered the heartbeat sent at `sent_at` with "no responders".
    pub fn on_no_responder(&mut self, sent_at: Instant) {
        self.server = self.server.max(sent_at);
    }
}

/// Whether a holder must stop at `now`. `behind_since`: since when it has known of decisions that
/// it has not received.
#[must_use]
pub fn isolation(
    contact: &Contact,
    behind_since: Option<Instant>,
    now: Instant,
    timeouts: &Timeouts,
) -> Option<Isolation> {
    let for_long = |since: Instant, limit| now.saturating_duration_since(since) >= limit;
    if for_long(contact.server, timeouts.fence) {
        Some(Isolation::CutOff)
    } else if for_long(contact.coordinator, timeouts.no_coordinator) {
        Some(Isolation::NoCoordinator)
    } else if behind_since.is_some_and(|since| for_long(since, timeouts.behind)) {
        Some(Isolation::Behind)
    } else {
        None
    }
}

/// The next instant at which the result of [`isolation`] may change without a new event.
#[must_use]
pub fn deadline(contact: &Contact, behind_since: Option<Instant>, timeouts: &Timeouts) -> Instant {
    let cut_off = contact.server + timeouts.fence;
    let alone = contact.coordinator + timeouts.no_coordinator;
    let behind = behind_since.map(|since| since + timeouts.behind);
    [Some(cut_off), Some(alone), behind]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(cut_off)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    /// For each rule: the instant at which it must fire, and one millisecond before, when it must
    /// not.
    #[test]
    fn each_rule_fires_at_its_limit_and_not_before() {
        let timeouts = Timeouts::default();
        let start = Instant::now();
        let mut alone = Contact::new(start);
        alone.on_no_responder(at(start, 59_500));
        let fresh = |ms| {
            let mut contact = Contact::new(start);
            contact.on_reply(at(start, ms));
            contact
        };
        let cases = [
            (Contact::new(start), None, 6_999, None),
            (Contact::new(start), None, 7_000, Some(Isolation::CutOff)),
            (fresh(3_000), None, 9_999, None),
            (fresh(3_000), None, 10_000, Some(Isolation::CutOff)),
            (alone, None, 59_999, None),
            (alone, None, 60_000, Some(Isolation::NoCoordinator)),
            (fresh(5_000), Some(at(start, 4_000)), 5_999, None),
            (
                fresh(5_000),
                Some(at(start, 4_000)),
                6_000,
                Some(Isolation::Behind),
            ),
        ];
        for (contact, behind, ms, expected) in cases {
            let found = isolation(&contact, behind, at(start, ms), &timeouts);
            assert_eq!(found, expected, "at {ms} ms with {contact:?}");
            let due = deadline(&contact, behind, &timeouts);
            assert_eq!(
                due <= at(start, ms),
                expected.is_some(),
                "deadline at {ms} ms"
            );
        }
    }

    /// Broken if a restart of the coordinator fences an agent: NATS reports no responders
    /// meanwhile.
    #[test]
    fn a_restarting_coordinator_does_not_fence() {
        let timeouts = Timeouts::default();
        let start = Instant::now();
        let mut contact = Contact::new(start);
        for second in 0..59 {
            let now = at(start, second * 1_000);
            contact.on_no_responder(now);
            assert_eq!(isolation(&contact, None, now, &timeouts), None);
        }
    }

    /// Broken if an old reply moves the fence back: replies may overtake each other.
    #[test]
    fn a_late_reply_does_not_take_back_contact() {
        let start = Instant::now();
        let mut contact = Contact::new(start);
        contact.on_reply(at(start, 2_000));
        contact.on_reply(at(start, 1_000));
        assert_eq!(contact.coordinator, at(start, 2_000));
    }
}

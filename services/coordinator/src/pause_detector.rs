//! Notices that this process did not run, or that its clock jumped: then it has not listened, and
//! the silence of others proves nothing. Pure; it must be asked before every decision.

use std::time::Duration;

use loadpilot_events::Timestamp;
use tokio::time::Instant;

/// The loop runs at least this often, whatever happens.
pub(crate) const PULSE: Duration = Duration::from_millis(250);

/// A longer pause between two rounds of the loop means that the process was frozen.
const FROZEN_AFTER: Duration = Duration::from_secs(2);

/// The moments of the last round.
#[derive(Debug)]
pub(crate) struct PauseDetector {
    mono: Instant,
    wall: Timestamp,
}

impl PauseDetector {
    pub(crate) fn new(mono: Instant, wall: Timestamp) -> Self {
        Self { mono, wall }
    }

    /// Whether the time since the last round is no time in which it listened. The wall clock is
    /// looked at too: it goes on while a laptop sleeps and the monotonic one stands still, and a
    /// clock that was set makes every earlier reading of it worthless.
    pub(crate) fn found(&mut self, mono: Instant, wall: Timestamp) -> bool {
        let ran = mono.saturating_duration_since(self.mono);
        let told_us = wall.0.abs_diff(self.wall.0);
        *self = Self { mono, wall };
        ran >= FROZEN_AFTER || Duration::from_micros(told_us) >= FROZEN_AFTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thawed coordinator that missed the pause would declare every agent lost at once.
    #[tokio::test]
    async fn a_freeze_a_sleep_and_a_set_clock_are_gaps() {
        let (mono, wall) = (Instant::now(), Timestamp(50_000_000));
        let cases = [
            (250, 250, false),
            (1_999, 1_999, false),
            (2_000, 2_000, true),
            (250, 60_000, true),
            (250, -60_000, true),
        ];
        for (ran_ms, told_ms, found) in cases {
            let later = mono + Duration::from_millis(ran_ms);
            let told = Timestamp(wall.0.saturating_add_signed(told_ms * 1_000));
            let mut pauses = PauseDetector::new(mono, wall);
            assert_eq!(
                pauses.found(later, told),
                found,
                "{ran_ms} ms, {told_ms} ms"
            );
            assert!(
                !pauses.found(later + PULSE, told.plus_us(250_000)),
                "only once"
            );
        }
    }
}

//! Detects that this process did not run for a while, or that its clock jumped: either way the
//! silence of agents proves nothing. Pure; the loop calls it before each decision.

use std::time::Duration;

use loadpilot_events::Timestamp;
use tokio::time::Instant;

/// Maximum interval between two rounds of the loop.
pub(crate) const PULSE: Duration = Duration::from_millis(250);

/// Minimum time between two rounds of the loop that counts as a pause of the process.
const FROZEN_AFTER: Duration = Duration::from_secs(2);

/// The times of the last round.
#[derive(Debug)]
pub(crate) struct PauseDetector {
    mono: Instant,
    wall: Timestamp,
}

impl PauseDetector {
    pub(crate) fn new(mono: Instant, wall: Timestamp) -> Self {
        Self { mono, wall }
    }

    /// Whether the process paused or its clock jumped since the last round. The wall clock counts,
    /// too: it continues during a suspend, when the monotonic clock stands still, and setting it
    /// invalidates earlier times.
    pub(crate) fn paused(&mut self, mono: Instant, wall: Timestamp) -> bool {
        let ran = mono.saturating_duration_since(self.mono);
        let wall_us = wall.0.abs_diff(self.wall.0);
        *self = Self { mono, wall };
        ran >= FROZEN_AFTER || Duration::from_micros(wall_us) >= FROZEN_AFTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a coordinator that was frozen declares every agent lost.
    #[tokio::test]
    async fn a_freeze_a_sleep_and_a_set_clock_are_pauses() {
        let (mono, wall) = (Instant::now(), Timestamp(50_000_000));
        let cases = [
            (250, 250, false),
            (1_999, 1_999, false),
            (2_000, 2_000, true),
            (250, 60_000, true),
            (250, -60_000, true),
        ];
        for (ran_ms, wall_ms, expected) in cases {
            let later = mono + Duration::from_millis(ran_ms);
            let shown = Timestamp(wall.0.saturating_add_signed(wall_ms * 1_000));
            let mut detector = PauseDetector::new(mono, wall);
            assert_eq!(
                detector.paused(later, shown),
                expected,
                "{ran_ms} ms, {wall_ms} ms"
            );
            assert!(
                !detector.paused(later + PULSE, shown.plus_us(250_000)),
                "only once"
            );
        }
    }
}

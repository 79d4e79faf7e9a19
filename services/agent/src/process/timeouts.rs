//! Timeouts, intervals and limits of the agent. Fixed in the product, except for those with a flag;
//! tests shorten them.

use std::time::Duration;

/// Timeouts, intervals and limits outside of `fire`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// Interval between two heartbeats while a coordinator answers.
    pub heartbeat: Duration,
    /// Interval between two heartbeats while no coordinator answers; shorter, so that the agent
    /// finds one soon.
    pub seek: Duration,
    /// Timeout of one heartbeat.
    pub heartbeat_reply: Duration,
    /// Timeout after which the agent stops by itself when NATS does not answer.
    pub fence: Duration,
    /// Timeout after which it stops when NATS answers, but no coordinator.
    pub no_coordinator: Duration,
    /// Timeout after which it stops a run of which it misses decisions.
    pub behind: Duration,
    /// Retry delay.
    pub retry: Duration,
    /// Retry delay when only an operator can repair the cause.
    pub retry_slow: Duration,
    /// Timeout of one clock request.
    pub clock_reply: Duration,
    /// Timeout for a run's secrets, over all attempts.
    pub secrets: Duration,
    /// Timeout for a run's bodies, over all attempts, while the store does not answer. A body that
    /// is being read is not cut off.
    pub bodies: Duration,
    /// Validity of an offer after the wait for agents ends.
    pub offer_slack: Duration,
    /// Added to the longest request timeout before arrivals in flight are cancelled.
    pub drain_slack: Duration,
    /// Timeout, when leaving, for other agents to take its shards over; zero: it does not wait.
    pub hand_over: Duration,
    /// Timeout for acknowledgements when leaving, once nothing is in flight.
    pub farewell: Duration,
    /// Maximum number of ticks with unacknowledged deltas; later rows then merge.
    pub outbox_ticks_max: usize,
    /// Maximum bytes of unacknowledged deltas; later rows then merge.
    pub outbox_bytes_max: usize,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(1),
            seek: Duration::from_millis(100),
            heartbeat_reply: Duration::from_secs(3),
            fence: Duration::from_secs(7),
            no_coordinator: Duration::from_secs(60),
            behind: Duration::from_secs(2),
            retry: Duration::from_millis(250),
            retry_slow: Duration::from_secs(1),
            clock_reply: Duration::from_secs(1),
            secrets: Duration::from_secs(10),
            bodies: Duration::from_secs(10),
            offer_slack: Duration::from_secs(2),
            drain_slack: Duration::from_millis(250),
            hand_over: Duration::from_secs(30),
            farewell: Duration::from_secs(10),
            outbox_ticks_max: 120,
            outbox_bytes_max: 64 << 20,
        }
    }
}

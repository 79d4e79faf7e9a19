//! How long the agent waits for what, and how much it keeps. Fixed in the product; tests and
//! operators with another lost time shorten them. Must never be read from anywhere but
//! [`Timeouts`].

use std::time::Duration;

/// Every wait and bound of the shell, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// Between two heartbeats that were answered.
    pub heartbeat: Duration,
    /// Between two heartbeats while nobody answers, so that a coordinator is found soon.
    pub seek: Duration,
    /// A heartbeat without a reply after this long has failed.
    pub heartbeat_reply: Duration,
    /// Without any answer for this long the agent stops by itself.
    pub fence: Duration,
    /// With NATS, but without a coordinator for this long, it stops too.
    pub no_coordinator: Duration,
    /// A view of a run's decisions that is known to be behind for this long stops it too.
    pub behind: Duration,
    /// Pause before something that failed is tried again.
    pub retry: Duration,
    /// Pause before something is tried again that only an operator can repair.
    pub retry_slow: Duration,
    /// Longest wait for one reply to a clock request.
    pub clock_reply: Duration,
    /// Longest wait for a run's secrets, all tries together.
    pub secrets: Duration,
    /// Longest wait for a store that does not answer for a run's bodies, all tries together; a
    /// body that is being read is never cut off.
    pub bodies: Duration,
    /// An offer stays good for this long after the wait for agents ends.
    pub offer_slack: Duration,
    /// On top of the longest request time-out before what is in flight is cancelled.
    pub drain_slack: Duration,
    /// When leaving: longest wait for acknowledgements once nothing is in flight.
    pub farewell: Duration,
    /// Most ticks whose deltas wait for an acknowledgement; later rows then merge.
    pub outbox_ticks_max: usize,
    /// Most bytes of deltas that wait for an acknowledgement; later rows then merge.
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
            farewell: Duration::from_secs(10),
            outbox_ticks_max: 120,
            outbox_bytes_max: 64 << 20,
        }
    }
}

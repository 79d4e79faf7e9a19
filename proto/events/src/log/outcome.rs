//! How a call ended, and why an arrival never started. Closed sets: a new member is a new version.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How one call ended. A transport error takes precedence over a check, a check over a status.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Status below 400, or a check passed.
    Ok,
    /// Status 400–499.
    #[serde(rename = "http_4xx")]
    Http4xx,
    /// Status 500 or above.
    #[serde(rename = "http_5xx")]
    Http5xx,
    /// A check of the scenario rejected the response.
    CheckFailed,
    /// No connection: refused, unreachable, name not found.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// No complete response within the timeout, counted from dispatch.
    Timeout,
    /// The connection broke or the response was not HTTP.
    Io,
    /// The load generator lacked ports, file descriptors or memory: not the target's fault.
    Local,
    /// Cut off by the end of the run or by an abort.
    Cancelled,
    /// Sent, and the agent died before the end of the call.
    Indeterminate,
}

impl Outcome {
    /// All outcomes, in the order in which they are shown.
    pub const ALL: [Self; 11] = [
        Self::Ok,
        Self::Http4xx,
        Self::Http5xx,
        Self::CheckFailed,
        Self::Connect,
        Self::Tls,
        Self::Timeout,
        Self::Io,
        Self::Local,
        Self::Cancelled,
        Self::Indeterminate,
    ];

    /// Whether the call ended by itself; the other outcomes only lower coverage.
    #[must_use]
    pub fn is_finished(self) -> bool {
        !matches!(self, Self::Cancelled | Self::Indeterminate)
    }

    /// Whether the call counts as an error in `error_rate`.
    #[must_use]
    pub fn is_error(self) -> bool {
        self.is_finished() && self != Self::Ok
    }

    /// Name in JSON and in texts for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Http4xx => "http_4xx",
            Self::Http5xx => "http_5xx",
            Self::CheckFailed => "check_failed",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Io => "io",
            Self::Local => "local",
            Self::Cancelled => "cancelled",
            Self::Indeterminate => "indeterminate",
        }
    }

    /// Outcome of a response without a check. 3xx is ok: a redirect that is not followed is a
    /// response like others.
    #[must_use]
    pub fn of_status(status: u16) -> Self {
        match status {
            400..=499 => Self::Http4xx,
            500.. => Self::Http5xx,
            _ => Self::Ok,
        }
    }
}

/// Why a planned arrival never started.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// The pacer reached the arrival more than `max_lateness_us` after its due time.
    Late,
    /// No slot of `max_in_flight` became free within `max_wait_us`.
    NoSlot,
    /// No user became idle.
    NoUser,
    /// The agent had fenced itself.
    Fenced,
    /// The run was paused.
    Paused,
    /// The run was stopped before the arrival was due, or while it waited.
    Stopped,
    /// Its shard had no holder.
    Unowned,
}

impl DropReason {
    /// Whether the load generator, and no decision of a user, is the reason; the certificate judges
    /// it.
    #[must_use]
    pub fn is_generators_fault(self) -> bool {
        matches!(self, Self::Late | Self::Fenced | Self::Unowned)
    }

    /// Name in JSON and in texts for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Late => "late",
            Self::NoSlot => "no_slot",
            Self::NoUser => "no_user",
            Self::Fenced => "fenced",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
            Self::Unowned => "unowned",
        }
    }
}

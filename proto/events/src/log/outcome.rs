//! How a call ended, and why an arrival never started. Closed sets: a new member is a new version.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How one call ended. Transport beats check beats status.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Answered below 400, or a check passed.
    Ok,
    /// Answered 400–499.
    #[serde(rename = "http_4xx")]
    Http4xx,
    /// Answered 500–599.
    #[serde(rename = "http_5xx")]
    Http5xx,
    /// A check of the scenario refused the answer.
    CheckFailed,
    /// No connection: refused, unreachable, name not found.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// No complete answer within the time-out, counted from dispatch.
    Timeout,
    /// The connection broke or the answer was not HTTP.
    Io,
    /// The generator lacked ports, file descriptors or memory: not the target's fault.
    Local,
    /// Cut off by the end of the run or by an abort.
    Cancelled,
    /// Sent, and the agent died before it knew the end.
    Indeterminate,
}

impl Outcome {
    /// All outcomes in the order in which they are shown.
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

    /// Whether the call came to an end of its own; the others only lower coverage.
    #[must_use]
    pub fn is_finished(self) -> bool {
        !matches!(self, Self::Cancelled | Self::Indeterminate)
    }

    /// Whether it counts as an error in `error_rate`.
    #[must_use]
    pub fn is_error(self) -> bool {
        self.is_finished() && self != Self::Ok
    }

    /// The name used in JSON and shown to people.
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

    /// The outcome of an answered call without a check. 3xx is ok: redirects are off.
    #[must_use]
    pub fn of_status(status: u16) -> Self {
        match status {
            400..=499 => Self::Http4xx,
            500.. => Self::Http5xx,
            _ => Self::Ok,
        }
    }
}

/// Why an arrival that was planned never started.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// The pacer reached it more than `max_lateness` after its due time.
    Late,
    /// No slot of `max_in_flight` became free within `max_wait`.
    NoSlot,
    /// No idle user became free.
    NoUser,
    /// The agent had fenced itself.
    Fenced,
    /// The run was paused.
    Paused,
    /// The run was stopped before it was due, or while it waited.
    Stopped,
    /// Nobody held its shard.
    Unowned,
}

impl DropReason {
    /// Whether the generator, not the user's will, is to blame; judged by the certificate.
    #[must_use]
    pub fn is_generators_fault(self) -> bool {
        matches!(self, Self::Late | Self::Fenced | Self::Unowned)
    }

    /// The name used in JSON and shown to people.
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

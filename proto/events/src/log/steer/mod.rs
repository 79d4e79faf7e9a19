//! Steering of a run: requests of users, and the decision on each request.
//!
//! Each request gets one decision, which names it by its stream sequence. The effect of a request
//! is decided in `loadpilot-engine`, `steer`.
//!
//! - [`hold`]: the measurement on which a change of the rate was based

pub mod hold;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::log::assign::{Generation, Holding};
use crate::log::steer::hold::HoldWindow;
use crate::units::{Rate, Timestamp};

/// Another rate was requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateChangeRequested {
    /// Author of the request, as text for people.
    pub by: String,
    /// Rate for the rest of the profile.
    pub rate: Rate,
    /// What was measured at the rate before, where the request is to hold gates. Absent: a user
    /// wants another rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldWindow>,
}

/// A pause was requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PauseRequested {
    /// Author of the request, as text for people.
    pub by: String,
}

/// The end of a pause was requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResumeRequested {
    /// Author of the request, as text for people.
    pub by: String,
}

/// From a tick on the profile is constant at another rate; its end stays.
///
/// The change is a generation of its own with the same holdings: what an agent offers before it
/// learns of the change is superseded, and nothing counts twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateChanged {
    /// Stream sequence in LP_CTL of the request.
    pub request: u64,
    /// Author of the request, as text for people.
    pub by: String,
    /// Number of the assignment; one more than before.
    pub generation: Generation,
    /// The whole map from `from_tick` on; unchanged.
    #[serde(deserialize_with = "crate::log::assign::deserialize_map")]
    pub holdings: Vec<Holding>,
    /// First due tick of the new rate.
    pub from_tick: u32,
    /// Rate planned at that tick before.
    pub was: Rate,
    /// Rate from that tick on.
    pub rate: Rate,
}

/// Arrivals are dropped until the run is resumed; its time continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Paused {
    /// Stream sequence in LP_CTL of the request.
    pub request: u64,
    /// Author of the request, as text for people.
    pub by: String,
    /// Begin of the pause, on the coordinators' clock.
    pub paused_at: Timestamp,
}

/// Arrivals start again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resumed {
    /// Stream sequence in LP_CTL of the request.
    pub request: u64,
    /// Author of the request, as text for people.
    pub by: String,
    /// End of the pause, on the coordinators' clock.
    pub resumed_at: Timestamp,
}

/// A request to steer changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SteeringRefused {
    /// Stream sequence in LP_CTL of the request.
    pub request: u64,
    /// Author of the request, as text for people.
    pub by: String,
    /// Why nothing changed.
    pub why: NotSteered,
    /// The limit that the rate exceeds. Absent for another reason than a quota, where the fleet no
    /// longer serves the tenant, and in logs of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exceeded: Option<ExceededRate>,
}

impl SteeringRefused {
    /// The reason as text for people, with limit and value of a quota.
    #[must_use]
    pub fn words(&self) -> String {
        let why = self.why.words();
        match &self.exceeded {
            None => why.to_owned(),
            Some(exceeded) => format!("{why}: {}", exceeded.words()),
        }
    }
}

/// A rate above a limit of the run's tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExceededRate {
    /// Requested rate.
    pub requested: Rate,
    /// Value of the limit.
    pub limit: Rate,
    /// Which limit it is.
    pub key: RateLimit,
}

/// A limit of the rates of a tenant's runs, by its key in the file of the tenants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateLimit {
    /// Maximum rate of every run.
    MaxRate,
    /// Maximum rate without a proof of ownership, which is looked for before the start only.
    UnprovenRate,
}

impl ExceededRate {
    /// The excess as text for people.
    #[must_use]
    pub fn words(&self) -> String {
        let (requested, limit) = (self.requested.as_rps(), self.limit.as_rps());
        match self.key {
            RateLimit::MaxRate => format!("{requested}/s is above max_rate, {limit}/s"),
            RateLimit::UnprovenRate => format!(
                "{requested}/s is above unproven_rate, {limit}/s, and ownership is proven before a \
                 start only"
            ),
        }
    }
}

/// Why a request to steer changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotSteered {
    /// A closed loop has users and no rate.
    ClosedLoop,
    /// The rate is zero or above [`crate::limits::RATE_MAX_URPS`].
    RateOutOfRange,
    /// The run ends before the change could take effect.
    TooLate,
    /// The run is already paused.
    AlreadyPaused,
    /// The run is not paused.
    NotPaused,
    /// The run was steered [`crate::limits::STEERED_MAX`] times.
    TooOften,
    /// The rate is above what a run of this tenant may have.
    AboveQuota,
}

impl NotSteered {
    /// The reason as text for people, with an alternative where there is one.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::ClosedLoop => {
                "a closed loop has users and no rate; pause it, or start it with other --users"
            }
            Self::RateOutOfRange => {
                "a rate is above 0 and at most 10,000,000/s; to offer nothing, pause the run"
            }
            Self::TooLate => "the run ends before the change could take effect",
            Self::AlreadyPaused => "the run is paused already",
            Self::NotPaused => "the run is not paused",
            Self::TooOften => "the run was steered as often as a run can be",
            Self::AboveQuota => "the fleet's operator does not allow runs of this tenant that rate",
        }
    }
}

/// One change that a user made to a running run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Steered {
    /// When it was decided.
    pub at: Timestamp,
    /// Author of the request, as text for people.
    pub by: String,
    /// When it took effect, in µs after the start.
    pub from_us: u64,
    /// What changed.
    pub change: Change,
}

/// What a user changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Change {
    /// The rate changed.
    Rate {
        /// Rate planned before.
        was: Rate,
        /// Rate planned from there on.
        rate: Rate,
    },
    /// The run was paused.
    Paused,
    /// The run was resumed.
    Resumed,
}

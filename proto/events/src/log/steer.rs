//! Steering a run that runs: what users ask for, and what coordinators make of it.
//!
//! Each request gets one answer, which names it by its sequence. Must never hold what a request
//! means: that is the law's (`loadpilot-engine`, `steer`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::log::assign::{Generation, Holding};
use crate::units::{Rate, Timestamp};

/// Somebody asked for another rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateChangeRequested {
    /// Who, for people to read.
    pub by: String,
    /// What the rest of the profile is to be.
    pub rate: Rate,
}

/// Somebody asked to start nothing for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PauseRequested {
    /// Who, for people to read.
    pub by: String,
}

/// Somebody asked to go on after a pause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResumeRequested {
    /// Who, for people to read.
    pub by: String,
}

/// From a tick on the profile is constant at another rate; its end stays.
///
/// It is a generation of its own with the same holdings, so that whoever hears of it too late has
/// offered what is superseded, and nothing counts twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateChanged {
    /// The request that it answers, as a stream sequence of LP_CTL.
    pub request: u64,
    /// Who asked, for people to read.
    pub by: String,
    /// One more than before.
    pub generation: Generation,
    /// The whole map from `from_tick` on: as it was.
    #[serde(deserialize_with = "crate::log::assign::deserialize_map")]
    pub holdings: Vec<Holding>,
    /// The first due tick of the new rate.
    pub from_tick: u32,
    /// The rate that was planned there.
    pub was: Rate,
    /// The rate from there on.
    pub rate: Rate,
}

/// Arrivals are dropped until the run is resumed; its time goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Paused {
    /// The request that it answers, as a stream sequence of LP_CTL.
    pub request: u64,
    /// Who asked, for people to read.
    pub by: String,
    /// From when on, on the coordinators' clock.
    pub paused_at: Timestamp,
}

/// Arrivals are started again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resumed {
    /// The request that it answers, as a stream sequence of LP_CTL.
    pub request: u64,
    /// Who asked, for people to read.
    pub by: String,
    /// From when on, on the coordinators' clock.
    pub resumed_at: Timestamp,
}

/// A request changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SteeringRefused {
    /// The request that it answers, as a stream sequence of LP_CTL.
    pub request: u64,
    /// Who asked, for people to read.
    pub by: String,
    /// Why.
    pub why: NotSteered,
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
    /// It is paused.
    AlreadyPaused,
    /// It is not paused.
    NotPaused,
    /// It was steered [`crate::limits::STEERED_MAX`] times.
    TooOften,
}

impl NotSteered {
    /// The same for people: what the run is or would have to be, and what to do instead.
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
        }
    }
}

/// One change that a user made to a run that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Steered {
    /// When it was decided.
    pub at: Timestamp,
    /// Who asked for it.
    pub by: String,
    /// From when on, in µs after the start.
    pub from_us: u64,
    /// What it was.
    pub change: Change,
}

/// What a user changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Change {
    /// Another rate.
    Rate {
        /// What was planned.
        was: Rate,
        /// What is planned from there on.
        rate: Rate,
    },
    /// Nothing is started.
    Paused,
    /// Arrivals are started again.
    Resumed,
}

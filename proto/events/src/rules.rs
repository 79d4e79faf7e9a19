//! The version of the rules by which a run is judged.
//!
//! The run contains its version, so that a log keeps its report when the rules change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the rules for figures and verdict of a run. Later versions are greater.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub enum Rules {
    /// The first rules: those of every log without a version.
    #[default]
    #[serde(rename = "1")]
    V1,
    /// A task that raised is an error, a run that offered less than 95 % of its plan fails, and
    /// rows that contradict a holder's own totals are set aside.
    #[serde(rename = "2")]
    V2,
    /// The target is not the reason of a run that started no arrival.
    #[serde(rename = "3")]
    V3,
    /// Neither is it the reason of arrivals that were lost. A late load generator degrades a closed
    /// loop, whose latency includes the delay.
    #[serde(rename = "4")]
    V4,
}

impl Rules {
    /// Rules of new runs.
    pub const CURRENT: Self = Self::V4;
}

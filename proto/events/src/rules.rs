//! The version of the rules by which a run is judged.
//!
//! The version stands in the run, so that a log keeps its report when the rules change. Must never
//! be raised for a log that was written under an earlier one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// By which rules the figures and the verdict of a run come out. Ordered: later rules are greater.
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
    /// The first rules: those of every log that names none.
    #[default]
    #[serde(rename = "1")]
    V1,
    /// A task that raised is an error, a run that offered less than 95 % of its plan fails, and
    /// what contradicts a holder's own totals is set aside.
    #[serde(rename = "2")]
    V2,
}

impl Rules {
    /// The rules of new runs.
    pub const CURRENT: Self = Self::V2;
}

//! The certificate: whether a run can be trusted at all, with the evidence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the run can be trusted.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Grade {
    /// The figures are the target's.
    Valid,
    /// The figures are usable, with the findings in mind.
    Degraded,
    /// The figures say more about the generator or the gaps than about the target.
    Invalid,
}

/// Whether the run can be trusted, with the evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Certificate {
    /// The worst grade of all findings.
    pub grade: Grade,
    /// What was found; empty when VALID.
    pub findings: Vec<Finding>,
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The generator reached arrivals late.
    ScheduleLag,
    /// The generator dropped arrivals.
    GeneratorDrops,
    /// An agent's processor was the limit.
    AgentCpu,
    /// Nobody reported some arrivals.
    LostInterval,
    /// Arrivals were offered by a holder that had been superseded.
    Excess,
    /// The generator ran out of ports or file descriptors.
    LocalResources,
    /// Clocks are not known well enough.
    ClockBound,
    /// The run is not sealed, or it ended otherwise than by its profile or its user.
    Unfinished,
    /// Events or deltas were unreadable or contradicted the log.
    Quarantined,
    /// Started arrivals whose calls did not all come to an end of their own.
    Coverage,
    /// Rows of a feed were used again, and nobody said that they may be.
    FeederWrapAround,
}

/// One reason not to trust the run blindly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What it is about.
    pub kind: FindingKind,
    /// How bad it is.
    pub grade: Grade,
    /// What was measured and the limit it crossed, for people.
    pub evidence: String,
}

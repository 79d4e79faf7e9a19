//! The certificate: whether the figures of a run can be trusted, with the evidence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the figures of a run can be trusted.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Grade {
    /// The figures describe the target.
    Valid,
    /// The figures are usable, with the findings in mind.
    Degraded,
    /// The figures describe the load generator or the gaps more than the target.
    Invalid,
}

/// Whether the figures of a run can be trusted, with the evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Certificate {
    /// Worst grade of all findings.
    pub grade: Grade,
    /// Findings; empty when VALID.
    pub findings: Vec<Finding>,
}

/// Subject of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The load generator reached arrivals late.
    ScheduleLag,
    /// The load generator dropped arrivals.
    GeneratorDrops,
    /// The processor of an agent was the limit.
    AgentCpu,
    /// Some arrivals were not reported.
    LostInterval,
    /// A superseded holder offered arrivals.
    Excess,
    /// The load generator ran out of ports or file descriptors.
    LocalResources,
    /// The offsets of clocks are not known precisely enough.
    ClockBound,
    /// The run is not sealed, or neither its profile nor its user ended it.
    Unfinished,
    /// Events or deltas were unreadable or contradicted the log.
    Quarantined,
    /// Some calls of started arrivals did not end by themselves.
    Coverage,
    /// Feed rows were used again without permission (`cycles`).
    FeederWrapAround,
}

/// One reason for doubt about the figures of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Subject of the finding.
    pub kind: FindingKind,
    /// Severity of the finding.
    pub grade: Grade,
    /// Measured value and the limit that it crossed, as text for people.
    pub evidence: String,
}

//! The committed JSON Schemas: which types have one, under which name.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::answers::agent_stats::Attendance;
use crate::answers::annotations::Annotations;
use crate::answers::compare::search::{MaxRateComparison, Search};
use crate::answers::compare::versus::Versus;
use crate::answers::compare::{Comparison, RunParts};
use crate::answers::failures::Errors;
use crate::answers::live::Snapshot;
use crate::answers::report::Report;
use crate::answers::slice::{Heat, Series, Slice};
use crate::answers::what_if::{WhatIf, WhatIfAnswer};
use crate::log::admission::AdmissionDecision;
use crate::log::ctl::Decision;
use crate::log::delta::DeltaReported;
use crate::log::envelope::Envelope;
use crate::log::evt::Fact;
use crate::log::req::Request;
use crate::plan::Plan;
use crate::wire::heartbeat::{Heartbeat, HeartbeatReply, News};

/// Every committed schema: file stem and JSON Schema (draft 2020-12).
#[must_use]
pub fn all() -> Vec<(&'static str, Value)> {
    vec![
        ("adm", schema_of::<Envelope<AdmissionDecision>>()),
        ("annotations", schema_of::<Annotations>()),
        ("attendance", schema_of::<Attendance>()),
        ("comparison", schema_of::<Comparison>()),
        ("ctl", schema_of::<Envelope<Decision>>()),
        ("delta", schema_of::<Envelope<DeltaReported>>()),
        ("errors", schema_of::<Errors>()),
        ("evt", schema_of::<Envelope<Fact>>()),
        ("heat", schema_of::<Heat>()),
        ("heartbeat", schema_of::<Heartbeat>()),
        ("heartbeat-reply", schema_of::<HeartbeatReply>()),
        ("live", schema_of::<News>()),
        ("max-rate-comparison", schema_of::<MaxRateComparison>()),
        ("plan", schema_of::<Plan>()),
        ("report", schema_of::<Report>()),
        ("req", schema_of::<Envelope<Request>>()),
        ("run-parts", schema_of::<RunParts>()),
        ("search", schema_of::<Search>()),
        ("series", schema_of::<Series>()),
        ("slice", schema_of::<Slice>()),
        ("snapshot", schema_of::<Snapshot>()),
        ("versus", schema_of::<Versus>()),
        ("what-if", schema_of::<WhatIf>()),
        ("what-if-answer", schema_of::<WhatIfAnswer>()),
    ]
}

/// Every committed schema as the text of its file.
///
/// # Panics
/// Never: a schema has a JSON form.
#[must_use]
pub fn files() -> Vec<(&'static str, String)> {
    let text = |schema: &Value| {
        let mut text = serde_json::to_string_pretty(schema).expect("a schema has a JSON form");
        text.push('\n');
        text
    };
    all()
        .iter()
        .map(|(name, schema)| (*name, text(schema)))
        .collect()
}

fn schema_of<T: schemars::JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

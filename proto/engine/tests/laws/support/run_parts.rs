//! The run that a comparison reads, for parts that a test makes.

use loadpilot_events::answers::certificate::Grade;
use loadpilot_events::answers::compare::{GroupParts, RunParts, RunPartsSchema};
use loadpilot_events::id::RunId;
use loadpilot_events::log::ctl::Ending;

/// A run that completed and whose figures can be trusted.
pub(crate) fn completed(groups: Vec<GroupParts>) -> RunParts {
    RunParts {
        schema: RunPartsSchema::V1,
        run: RunId::parse("01run").expect("a token"),
        scenario: "Shop".to_owned(),
        target: "http://127.0.0.1".to_owned(),
        plan_hash: String::new(),
        ending: Some(Ending::Completed),
        grade: Grade::Valid,
        has_reached: true,
        groups,
        measured_from_us: 0,
        held_rps: None,
        calls: Vec::new(),
    }
}

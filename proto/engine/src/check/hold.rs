//! Checks the gates that a run holds by its rate.

use std::collections::BTreeSet;

use loadpilot_events::limits;
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::plan::threshold::Metric;
use loadpilot_events::plan::{Plan, PlanSchema};

use super::checker::Checker;
use super::thresholds::measurable;

pub(super) fn plan(checker: &mut Checker<'_>, plan: &Plan) {
    let Some(first) = plan.hold.first() else {
        return;
    };
    let is_known = plan.schema != PlanSchema::V1;
    let rule = "must be loadpilot.plan/2: the first version does not have hold";
    checker.require(is_known, "schema", rule, "loadpilot.plan/1");
    let rule = "must be empty for a closed loop, which has users and no rate";
    checker.require(plan.users.is_none(), "hold", rule, first.key());
    let rule = "must be empty where two targets are compared, which share one rate";
    checker.require(!plan.paired, "hold", rule, first.key());
    let pieces = &plan.profile.pieces;
    let is_flat = matches!(pieces.as_slice(), [piece] if piece.from == piece.to);
    let rule = "must be one constant rate, from which the run that holds a gate starts";
    let count = format!("{} pieces", pieces.len());
    checker.require(is_flat, "profile", rule, count);
    let count = plan.hold.len();
    let rule = "must be at most 200";
    checker.require(count <= limits::THRESHOLDS_MAX, "hold", rule, count);
    let mut keys = BTreeSet::new();
    for gate in &plan.hold {
        let key = gate.key();
        let field = format!("hold.{key}");
        let is_new = keys.insert(key);
        checker.require(is_new, &field, "must be given once", gate.limit);
        // A lower rate must be able to mend what a higher one breaks.
        let falls = !matches!(gate.metric, Metric::AchievedRps | Metric::TaskErrors);
        let rule = "must be a figure that a lower rate improves, such as p99_ms or error_rate";
        checker.require(falls, &field, rule, gate.limit);
        if let Some(task) = &gate.task {
            let rule = "must name a task or a user type of the scenario";
            checker.require(plan.tasks_named(task).is_some(), &field, rule, task);
        }
        measurable(checker, plan, gate, &field);
    }
}

/// Checks that a command follows the run: it is what changes the rate.
pub(super) fn request(checker: &mut Checker<'_>, run: &RunRequested) {
    let is_followed = run.plan.hold.is_empty() || run.owner.is_some();
    let rule = "must be empty for a run that no command follows";
    checker.require(is_followed, "hold", rule, run.plan.hold.len());
}

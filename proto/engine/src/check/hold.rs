//! Checks the gates that a run holds by its rate.

use loadpilot_events::log::req::RunRequested;
use loadpilot_events::plan::threshold::Metric;
use loadpilot_events::plan::{Plan, PlanSchema};

use super::checker::Checker;
use super::thresholds::gates;

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
    gates(checker, plan, "hold", &plan.hold);
    for gate in &plan.hold {
        // A lower rate must be able to improve the figure, and a part of the run must show it. A
        // rate at which arrivals do not start fails without a gate.
        let can_be_held = !matches!(
            gate.metric,
            Metric::AchievedRps | Metric::TaskErrors | Metric::DroppedRate | Metric::Shortfall
        );
        let rule = "must be a figure that a lower rate improves, such as p99_ms or error_rate";
        let field = format!("hold.{}", gate.key());
        checker.require(can_be_held, field, rule, gate.limit);
    }
}

/// Checks that a command follows the run: it is what changes the rate.
pub(super) fn request(checker: &mut Checker<'_>, run: &RunRequested) {
    let is_followed = run.plan.hold.is_empty() || run.owner.is_some();
    let rule = "must be empty for a run that no command follows";
    checker.require(is_followed, "hold", rule, run.plan.hold.len());
}

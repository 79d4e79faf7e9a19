//! Checks gates: a gate that cannot be measured, or that measures something other than its name, is
//! rejected.

use std::collections::BTreeSet;

use loadpilot_events::limits;
use loadpilot_events::log::metrics::is_metric_name;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::threshold::{Metric, Threshold};

use super::checker::Checker;

pub(super) fn thresholds(checker: &mut Checker<'_>, plan: &Plan) {
    gates(checker, plan, "thresholds", &plan.thresholds);
}

/// Checks the gates of a plan in the list `of`.
pub(super) fn gates(checker: &mut Checker<'_>, plan: &Plan, of: &str, gates: &[Threshold]) {
    let count = gates.len();
    checker.require(
        count <= limits::THRESHOLDS_MAX,
        of,
        "must be at most 200",
        count,
    );
    let mut keys = BTreeSet::new();
    for threshold in gates {
        let key = threshold.key();
        let field = format!("{of}.{key}");
        checker.require(
            keys.insert(key),
            &field,
            "must be given once",
            threshold.limit,
        );
        let measured = plan.users.is_none() || !threshold.metric.needs_schedule();
        checker.require(
            measured,
            &field,
            "must not be a gate of a closed loop, which plans no arrivals: use achieved_rps",
            threshold.limit,
        );
        if let Some(task) = &threshold.task {
            let types = plan.types.iter().map(|one| one.name.as_str());
            let tasks = plan.tasks.iter().map(|task| task.name.as_str());
            let names: Vec<&str> = types.chain(tasks).collect();
            let kind = if plan.types.is_empty() {
                "a task"
            } else {
                "a user type or a task"
            };
            let rule = format!("must name {kind} of the scenario ({})", names.join(", "));
            checker.require(plan.tasks_named(task).is_some(), &field, &rule, task);
        }
        measurable(checker, plan, threshold, &field);
    }
}

/// Checks the figure and the limit of a gate.
fn measurable(checker: &mut Checker<'_>, plan: &Plan, threshold: &Threshold, field: &str) {
    let limit = threshold.limit;
    let Some(own) = &threshold.own else {
        let is_ours = threshold.metric != Metric::Own;
        let rule = "must name an own metric of the scenario";
        checker.require(is_ours, field, rule, "own");
        let sound = limit.is_finite() && limit >= 0.0;
        checker.require(sound, field, "must be a finite number, 0 or more", limit);
        return;
    };
    let is_own = threshold.metric == Metric::Own;
    let rule = "must measure an own metric of the scenario or a built-in one, not both";
    checker.require(is_own, field, rule, threshold.metric.key());
    let rule = "must name a metric in ASCII letters, digits and _, not a digit first";
    checker.require(is_metric_name(&own.name), field, rule, &own.name);
    checker.require(limit.is_finite(), field, "must be a finite number", limit);
    let rule = "must say which side passes, as in >= 100";
    checker.require(threshold.operator.is_some(), field, rule, limit);
    let rule = "must be a built-in metric: only a scenario in Python or in code has own metrics";
    checker.require(plan.scenario_users().is_some(), field, rule, &own.name);
}

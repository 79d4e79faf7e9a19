//! Checking gates: one that cannot be measured, or measures something else than it says, is none.

use std::collections::BTreeSet;

use loadpilot_events::limits;
use loadpilot_events::log::metrics::is_metric_name;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::threshold::{Metric, Threshold};

use super::Musts;

pub(super) fn thresholds(must: &mut Musts<'_>, plan: &Plan) {
    let count = plan.thresholds.len();
    must.hold(
        count <= limits::THRESHOLDS_MAX,
        "thresholds",
        "must be at most 200",
        count,
    );
    let mut keys = BTreeSet::new();
    for threshold in &plan.thresholds {
        let key = threshold.key();
        let field = format!("thresholds.{key}");
        must.hold(
            keys.insert(key),
            &field,
            "must be given once",
            threshold.limit,
        );
        let measured = plan.users.is_none() || !threshold.metric.needs_schedule();
        must.hold(
            measured,
            &field,
            "must not be a gate of a closed loop, which plans no arrivals: use achieved_rps",
            threshold.limit,
        );
        if let Some(task) = &threshold.task {
            let known = plan.tasks.iter().any(|known| known.name == *task);
            let names: Vec<&str> = plan.tasks.iter().map(|task| task.name.as_str()).collect();
            let rule = format!("must name a task of the scenario ({})", names.join(", "));
            must.hold(known, &field, &rule, task);
        }
        measurable(must, plan, threshold, &field);
    }
}

/// What is measured, and against which limit.
fn measurable(must: &mut Musts<'_>, plan: &Plan, threshold: &Threshold, field: &str) {
    let limit = threshold.limit;
    let Some(own) = &threshold.own else {
        let is_ours = threshold.metric != Metric::Own;
        let rule = "must say which metric of the scenario's own is measured";
        must.hold(is_ours, field, rule, "own");
        let sound = limit.is_finite() && limit >= 0.0;
        must.hold(sound, field, "must be a finite number, 0 or more", limit);
        return;
    };
    let is_own = threshold.metric == Metric::Own;
    let rule = "must measure a metric of the scenario's own, or one of ours, not both";
    must.hold(is_own, field, rule, threshold.metric.key());
    let rule = "must name a metric in ASCII letters, digits and _, not a digit first";
    must.hold(is_metric_name(&own.name), field, rule, &own.name);
    must.hold(limit.is_finite(), field, "must be a finite number", limit);
    let rule = "must say which side passes, as in >= 100";
    must.hold(threshold.operator.is_some(), field, rule, limit);
    let rule = "must be a metric of ours: only a scenario in Python or in code adds to its own";
    must.hold(plan.scenario_users().is_some(), field, rule, &own.name);
}

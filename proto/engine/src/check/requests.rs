//! Checks a list of requests: the only task has the calls that its rows name.

use loadpilot_events::limits;
use loadpilot_events::plan::requests::Requests;
use loadpilot_events::plan::script::RowForm;
use loadpilot_events::plan::{Plan, PlanSchema};

use super::checker::Checker;
use super::script::feeds;

pub(super) fn plan(checker: &mut Checker<'_>, plan: &Plan) {
    targets(checker, plan);
    let Some(requests) = &plan.requests else {
        return;
    };
    let is_known = plan.schema != PlanSchema::V1;
    let rule = "must be loadpilot.plan/2: the first version does not have requests";
    checker.require(is_known, "schema", rule, "loadpilot.plan/1");
    let is_alone = plan.script.is_none() && plan.code.is_none() && plan.types.is_empty();
    let rule = "must be left out with a script, code or types: they make the requests";
    checker.require(is_alone, "requests", rule, &requests.rows.name);
    let tasks = plan.tasks.len();
    let rule = "must be one task, whose steps the rows name";
    checker.require(tasks == 1, "tasks", rule, tasks);
    feeds(
        checker,
        plan,
        "requests.rows",
        std::slice::from_ref(&requests.rows),
    );
    rows(checker, requests);
    secrets(checker, requests);
}

/// Only a list of requests says which target a step has.
fn targets(checker: &mut Checker<'_>, plan: &Plan) {
    let targets = plan.targets().count();
    let (count, rule) = match plan.requests {
        Some(_) => (targets, "must be the index of a target"),
        None => (1, "must be left out without requests: arrivals take turns"),
    };
    for (t, task) in plan.tasks.iter().enumerate() {
        for (s, step) in task.steps.iter().enumerate() {
            let field = format!("tasks[{t}].steps[{s}].target");
            checker.require(usize::from(step.target) < count, field, rule, step.target);
        }
    }
}

fn rows(checker: &mut Checker<'_>, requests: &Requests) {
    let rows = &requests.rows;
    let is_of_task = rows.tasks == [0] && !rows.prepares;
    let rule = "must be the only task: its arrivals take the rows";
    checker.require(is_of_task, "requests.rows.tasks", rule, "other tasks");
    let form = rows.file.as_ref().map(|file| file.form);
    let is_file = form == Some(RowForm::JsonLines);
    let rule = "must be a file of JSON lines";
    checker.require(is_file, "requests.rows.file", rule, &rows.name);
}

fn secrets(checker: &mut Checker<'_>, requests: &Requests) {
    let count = requests.secrets.len();
    let fits = count <= limits::REQUEST_SECRETS_MAX;
    checker.require(fits, "requests.secrets", "must be at most 100", count);
    for (index, name) in requests.secrets.iter().enumerate() {
        checker.name(&format!("requests.secrets[{index}]"), name);
    }
}

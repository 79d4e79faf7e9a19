//! Checks a mix of user types: each has a share, tasks of its own, and users in a closed loop.

use std::collections::BTreeSet;

use loadpilot_events::limits;
use loadpilot_events::plan::user_types::TYPE_SEPARATOR;
use loadpilot_events::plan::{Plan, PlanSchema};

use super::checker::Checker;
use super::closed_loop;
use crate::schedule::run_weights::run_weights;
use crate::schedule::user_types::users_of_types;

pub(super) fn plan(checker: &mut Checker<'_>, plan: &Plan) {
    if plan.types.is_empty() {
        return;
    }
    let before = checker.problems.len();
    let is_known = plan.schema != PlanSchema::V1;
    let rule = "must be loadpilot.plan/2: the first version does not have types";
    checker.require(is_known, "schema", rule, "loadpilot.plan/1");
    let count = plan.types.len();
    let fits = count <= limits::USER_TYPES_MAX;
    checker.require(fits, "types", "must be at most 100 user types", count);
    let rule = "must be left out with types: each has a think time of its own";
    checker.require(plan.rest.is_none(), "rest", rule, "rest");
    let rule = "must be left out with types: each has sessions of its own";
    checker.require(plan.session.is_none(), "session", rule, "session");
    let is_compiled = plan.script.is_none();
    let rule = "must be compiled: scenarios in Python run alone";
    checker.require(is_compiled, "types", rule, &plan.scenario);
    types(checker, plan);
    if checker.problems.len() == before {
        shares(checker, plan);
    }
}

fn types(checker: &mut Checker<'_>, plan: &Plan) {
    let mut names = BTreeSet::new();
    let mut tasks_of_all = 0;
    for (index, (one, tasks)) in plan.tasks_of_types().enumerate() {
        let field = format!("types[{index}]");
        checker.name(&format!("{field}.name"), &one.name);
        let is_plain = !one.name.contains(TYPE_SEPARATOR);
        let rule = "must not have a /: it separates the name of a type from that of its task";
        checker.require(is_plain, format!("{field}.name"), rule, &one.name);
        let is_new = names.insert(&one.name);
        let rule = "must be unique in the plan";
        checker.require(is_new, format!("{field}.name"), rule, &one.name);
        let fits = (1..=limits::TYPE_SHARE_MAX).contains(&one.share);
        let rule = "must be 1 to 1000000";
        checker.require(fits, format!("{field}.share"), rule, one.share);
        let rule = "must be at least 1";
        checker.require(one.tasks > 0, format!("{field}.tasks"), rule, one.tasks);
        tasks_of_all += usize::from(one.tasks);
        let prefix = format!("{}{TYPE_SEPARATOR}", one.name);
        let range = usize::from(tasks.start)..usize::from(tasks.end);
        for task in plan.tasks.get(range).into_iter().flatten() {
            let rule = format!("must have tasks whose names begin with {prefix}");
            let is_own = task.name.starts_with(&prefix);
            checker.require(is_own, format!("{field}.tasks"), &rule, &task.name);
        }
        if let Some(rest) = one.rest {
            let field = format!("{field}.rest");
            let rule = "must be used with users: arrivals on schedule do not rest";
            checker.require(plan.users.is_some(), &field, rule, "no users");
            closed_loop::rest(checker, &field, rest);
        }
        if let Some(length) = one.session {
            closed_loop::session(checker, plan, &format!("{field}.session"), length);
        }
    }
    let rule = format!("must have all tasks of the plan ({})", plan.tasks.len());
    let are_all = tasks_of_all == plan.tasks.len();
    checker.require(are_all, "types", &rule, tasks_of_all);
}

/// Checks that the load can be divided by the shares: no type may silently get no load.
fn shares(checker: &mut Checker<'_>, plan: &Plan) {
    let Some(users) = plan.users else {
        let rule = "must have shares and weights with a common measure: their block has more than \
                    1048576 arrivals; use rounder numbers";
        let shares: Vec<String> = plan.types.iter().map(|one| one.share.to_string()).collect();
        let fits = run_weights(plan).is_some();
        checker.require(fits, "types", rule, shares.join(", "));
        return;
    };
    for ((index, one), count) in plan.types.iter().enumerate().zip(users_of_types(plan)) {
        let rule = format!(
            "must give the type {} at least one of the {users} users",
            one.name
        );
        checker.require(count > 0, format!("types[{index}].share"), &rule, one.share);
    }
}

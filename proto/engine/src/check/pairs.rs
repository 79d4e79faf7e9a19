//! Plans that compare two targets: made from the plan for one target, and checked.
//!
//! Both sides must do the same: otherwise a difference of their figures would say nothing about the
//! targets.

use std::iter;
use std::ops::Range;

use loadpilot_events::plan::code::{Code, TypeCode};
use loadpilot_events::plan::threshold::{Metric, Threshold};
use loadpilot_events::plan::user_types::{TYPE_SEPARATOR, UserType};
use loadpilot_events::plan::{Plan, PlanSchema};
use loadpilot_events::refusal::{Problem, Refusal};
use loadpilot_events::units::Rate;

use super::checker::Checker;
use crate::schedule::user_types::pairs::SIDES;

/// A target that is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Name of the side in the report: that of its user type.
    pub name: String,
    /// URL of the target.
    pub target: String,
}

/// The plan that offers the load of `plan` to each of two targets, pair by pair. Rates and numbers
/// of users are those of both sides together. A gate without a task becomes one gate for each side,
/// except the gate of the shortfall, which stays one for the run. The rules of [`super::plan`] are
/// not applied to the result.
///
/// # Errors
/// The properties of the plan that a comparison does not support.
pub fn paired(plan: &Plan, sides: &[Side; SIDES]) -> Result<Plan, Refusal> {
    let problems = obstacles(plan);
    if !problems.is_empty() {
        return Err(Refusal { problems });
    }
    let mut paired = plan.clone();
    let [first, second] = sides;
    paired.schema = PlanSchema::V2;
    paired.paired = true;
    paired.target.clone_from(&first.target);
    paired.connections.other_targets = vec![second.target.clone()];
    for piece in &mut paired.profile.pieces {
        piece.from = Rate(piece.from.0.saturating_mul(2));
        piece.to = Rate(piece.to.0.saturating_mul(2));
    }
    let doubled = |users: u32| users.saturating_mul(2);
    paired.users = plan.users.map(doubled);
    paired.max_in_flight = plan.max_in_flight.map(doubled);
    for stage in paired.user_stages.iter_mut().flatten() {
        (stage.from, stage.to) = (doubled(stage.from), doubled(stage.to));
    }
    let (rest, session) = (paired.rest.take(), paired.session.take());
    let tasks = u16::try_from(plan.tasks.len()).unwrap_or(u16::MAX);
    let user_type = |side: &Side| UserType {
        name: side.name.clone(),
        share: 1,
        tasks,
        rest,
        session,
    };
    paired.types = sides.iter().map(user_type).collect();
    let of_side = |side: &Side| {
        let mut tasks = plan.tasks.clone();
        let named = tasks.iter_mut();
        named.for_each(|task| task.name = task_name(side, &task.name));
        tasks
    };
    paired.tasks = sides.iter().flat_map(of_side).collect();
    let gates = plan.thresholds.iter();
    paired.thresholds = gates.flat_map(|gate| gates_of(gate, sides)).collect();
    paired.code = plan.code.as_ref().map(paired_code);
    Ok(paired)
}

/// Why a plan cannot be offered to two targets.
fn obstacles(plan: &Plan) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut checker = Checker {
        problems: &mut problems,
    };
    let rule = "must be one scenario: of several that run together each has targets of its own to \
                compare";
    checker.require(plan.types.is_empty(), "types", rule, plan.types.len());
    let others = &plan.connections.other_targets;
    let rule = "must be one: two targets are compared";
    checker.require(others.is_empty(), "target", rule, others.len() + 1);
    let rule = "must be compiled: users in Python know one target";
    checker.require(plan.script.is_none(), "scenario", rule, &plan.scenario);
    problems
}

fn task_name(side: &Side, task: &str) -> String {
    format!("{}{TYPE_SEPARATOR}{task}", side.name)
}

/// A gate of the plan, for each side.
fn gates_of(gate: &Threshold, sides: &[Side; SIDES]) -> Vec<Threshold> {
    if gate.task.is_none() && gate.metric == Metric::Shortfall {
        return vec![gate.clone()];
    }
    let of_side = |side: &Side| {
        let task = gate.task.as_ref();
        let task = task.map_or_else(|| side.name.clone(), |task| task_name(side, task));
        Threshold {
            task: Some(task),
            ..gate.clone()
        }
    };
    sides.iter().map(of_side).collect()
}

/// The code of both sides. Feeds name the tasks of the first one.
fn paired_code(code: &Code) -> Code {
    let own = TypeCode {
        file: code.file.clone(),
        constants: code.constants.clone(),
        on_start: code.on_start.clone(),
        on_stop: code.on_stop.clone(),
        lines: code.lines.clone(),
    };
    Code {
        users: code.users.saturating_mul(2),
        constants: Default::default(),
        on_start: None,
        on_stop: None,
        lines: Vec::new(),
        tasks: [code.tasks.clone(), code.tasks.clone()].concat(),
        types: iter::repeat_n(own, SIDES).collect(),
        ..code.clone()
    }
}

/// Checks a plan that says that it compares two targets.
pub(super) fn plan(checker: &mut Checker<'_>, plan: &Plan) {
    if !plan.paired {
        return;
    }
    let is_known = plan.schema != PlanSchema::V1;
    let rule = "must be loadpilot.plan/2: the first version does not have pairs";
    checker.require(is_known, "schema", rule, "loadpilot.plan/1");
    let others = plan.connections.other_targets.len();
    let rule = "must have one other target: two are compared";
    checker.require(others == 1, "connections.other_targets", rule, others);
    let users = plan.users.unwrap_or(0);
    let rule = "must be an even number: users come in pairs";
    checker.require(users.is_multiple_of(2), "users", rule, users);
    let ranges: Vec<Range<u16>> = plan.tasks_of_types().map(|(_, tasks)| tasks).collect();
    let [first, second] = ranges.as_slice() else {
        let rule = "must be two: those of the targets that are compared";
        checker.require(false, "types", rule, plan.types.len());
        return;
    };
    let rule = "must do the same on both sides";
    checker.require(
        is_same(plan, first, second),
        "types",
        rule,
        "different tasks",
    );
    let is_of_first = |task: &u16| first.contains(task);
    for (index, feed) in plan.feeds().iter().enumerate() {
        let rule = "must name the tasks of the first side: both halves of a pair have one row";
        let tasks = feed.tasks.iter().find(|task| !is_of_first(task));
        let field = format!("feeds[{index}].tasks");
        checker.require(tasks.is_none(), field, rule, tasks.unwrap_or(&0));
    }
}

/// Whether the tasks in two ranges, and their types, are the same but for their names.
fn is_same(plan: &Plan, first: &Range<u16>, second: &Range<u16>) -> bool {
    let tasks = |range: &Range<u16>| {
        let range = usize::from(range.start)..usize::from(range.end);
        let tasks = plan.tasks.get(range.clone()).unwrap_or_default();
        let name = |name: &str| {
            name.split_once(TYPE_SEPARATOR)
                .map(|(_, own)| own.to_owned())
        };
        let tasks = tasks.iter();
        let tasks: Vec<_> = tasks
            .map(|task| (name(&task.name), task.weight, &task.steps))
            .collect();
        let code = plan.code.as_ref().and_then(|code| code.tasks.get(range));
        (tasks, code)
    };
    let [one, other] = plan.types.as_slice() else {
        return false;
    };
    let code = plan.code.as_ref().map(|code| code.types.as_slice());
    let types_agree = code.is_none_or(|types| types.first() == types.last());
    tasks(first) == tasks(second)
        && (one.share, one.rest, one.session) == (other.share, other.rest, other.session)
        && types_agree
}

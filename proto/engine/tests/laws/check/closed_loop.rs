//! The plan check of a closed loop: a field that contradicts it is refused by its name.

use loadpilot_engine::check;
use loadpilot_events::plan::threshold::{Metric, Threshold};
use loadpilot_events::plan::{Arrivals, Plan, PlanSchema, Rest, Shape, UserStage};
use loadpilot_events::units::Rate;

use crate::fold::closed_loop::plan;
use crate::rules::dice::Dice;
use crate::rules::plans;

/// A think time (`rest`) that no user can take is refused by its name, and so is a think time in a
/// plan without users.
#[test]
fn rests_that_cannot_be_are_refused() {
    let good = plan(&mut Dice::new(1), 3, 2);
    let refused = |users: Option<u32>, rest: Rest| -> Vec<String> {
        let mut plan = good.clone();
        (plan.users, plan.rest) = (users, Some(rest));
        if !rest.is_of_first_version() {
            plan.schema = PlanSchema::V2;
        }
        let problems = check::plan(&plan).into_iter();
        problems.map(|problem| problem.field).collect()
    };
    let wait = |from_us, to_us| Rest::Wait { from_us, to_us };
    let day_us = 24 * 3_600 * 1_000_000;
    assert!(refused(Some(3), wait(0, day_us)).is_empty());
    let exponential = |median_us| Rest::Exponential { median_us };
    let lognormal = |median_us, p99_us| Rest::Lognormal { median_us, p99_us };
    assert!(refused(Some(3), exponential(12_960_000_000)).is_empty());
    assert!(refused(Some(3), lognormal(1, day_us)).is_empty());
    assert!(refused(None, wait(1, 2)).contains(&"rest".to_owned()));
    for (rest, field) in [
        (wait(0, 0), "rest.wait"),
        (wait(3, 2), "rest.wait"),
        (wait(0, day_us + 1), "rest.wait"),
        (exponential(0), "rest.exponential"),
        (exponential(12_960_000_001), "rest.exponential"),
        (lognormal(0, 2), "rest.lognormal"),
        (lognormal(2, 2), "rest.lognormal"),
        (lognormal(2, day_us + 1), "rest.lognormal"),
        (Rest::Pacing { every_us: 0 }, "rest.pacing"),
        (
            Rest::Pacing {
                every_us: day_us + 1,
            },
            "rest.pacing",
        ),
    ] {
        assert_eq!(refused(Some(3), rest), [field], "{rest:?}");
    }
}

/// Broken if a plan of the first version could contain a think time that its readers do not know.
#[test]
fn think_times_of_a_distribution_are_of_the_second_version() {
    let mut plan = plan(&mut Dice::new(1), 3, 2);
    plan.schema = PlanSchema::V1;
    for (rest, problems) in [
        (Rest::Exponential { median_us: 1 }, 1),
        (
            Rest::Lognormal {
                median_us: 1,
                p99_us: 2,
            },
            1,
        ),
        (Rest::Pacing { every_us: 1 }, 0),
    ] {
        plan.rest = Some(rest);
        let found = check::plan(&plan);
        assert_eq!(found.len(), problems, "{found:?}");
        assert!(found.iter().all(|problem| problem.field == "schema"));
    }
}

/// A setting that has a meaning only with a schedule is refused beside users, by its name.
#[test]
fn what_needs_a_schedule_is_refused() {
    let good = plan(&mut Dice::new(1), 3, 2);
    let refused = |change: &dyn Fn(&mut Plan)| -> Vec<String> {
        let mut plan = good.clone();
        change(&mut plan);
        check::plan(&plan)
            .into_iter()
            .map(|problem| problem.field)
            .collect()
    };
    let gate = |metric, task| Threshold {
        metric,
        task,
        limit: 1.0,
        operator: None,
        own: None,
    };
    assert_eq!(refused(&|plan| plan.users = Some(0)), ["users"]);
    assert_eq!(refused(&|plan| plan.users = Some(1_000_001)), ["users"]);
    assert_eq!(
        refused(&|plan| plan.arrivals = Arrivals::Poisson),
        ["arrivals"]
    );
    assert_eq!(
        refused(&|plan| plan.max_in_flight = Some(9)),
        ["max_in_flight"]
    );
    assert_eq!(
        refused(&|plan| plan.profile.shape = Shape::Constant),
        ["profile"]
    );
    assert_eq!(
        refused(&|plan| plan.profile.pieces[0].to = Rate(1)),
        ["profile"]
    );
    assert_eq!(
        refused(&|plan| {
            let piece = plan.profile.pieces[0];
            plan.profile.pieces.push(piece);
        }),
        ["profile"]
    );
    assert_eq!(
        refused(&|plan| plan.users = None),
        ["profile", "profile.shape"]
    );
    for metric in Metric::ALL {
        let name = good.tasks[0].name.clone();
        let found = refused(&|plan| {
            plan.thresholds = vec![gate(metric, None), gate(metric, Some(name.clone()))];
        });
        let scheduled = matches!(metric, Metric::DroppedRate | Metric::Shortfall);
        assert_eq!(found.len(), if scheduled { 2 } else { 0 }, "{found:?}");
    }
}

/// Broken if stages that contradict the plan, or in which no user would begin, were accepted.
#[test]
fn stages_that_cannot_be_are_refused() {
    let mut good = plan(&mut Dice::new(1), 3, 2);
    good.schema = PlanSchema::V2;
    let stage = |duration_us, from, to| UserStage {
        duration_us,
        from,
        to,
    };
    let rise = vec![stage(1_000_000, 0, 3), stage(1_000_000, 3, 1)];
    good.user_stages = Some(rise.clone());
    assert_eq!(check::plan(&good), []);
    let refused = |change: &dyn Fn(&mut Plan)| -> Vec<String> {
        let mut plan = good.clone();
        change(&mut plan);
        let problems = check::plan(&plan).into_iter();
        problems.map(|problem| problem.field).collect()
    };
    let staged = |users: u32, stages: Vec<UserStage>| {
        refused(&|plan| (plan.users, plan.user_stages) = (Some(users), Some(stages.clone())))
    };
    assert_eq!(refused(&|plan| plan.schema = PlanSchema::V1), ["schema"]);
    assert!(refused(&|plan| plan.users = None).contains(&"users".to_owned()));
    assert_eq!(staged(4, rise.clone()), ["users"]);
    assert_eq!(staged(3, rise[..1].to_vec()), ["user_stages"]);
    assert!(staged(3, Vec::new()).contains(&"user_stages".to_owned()));
    assert_eq!(staged(1, vec![stage(2_000_000, 0, 1)]), ["user_stages"]);
    let none = vec![stage(0, 0, 3), stage(2_000_000, 3, 3)];
    assert_eq!(staged(3, none), ["user_stages[0].duration_us"]);
    let many = vec![stage(2_000_000, 0, 1_000_001)];
    assert_eq!(staged(1_000_001, many), ["user_stages[0].to", "users"]);
    let long = vec![stage(1, 3, 3); 1_001];
    assert!(staged(3, long).contains(&"user_stages".to_owned()));
}

/// A request for more agents than users is refused: some agents would hold nothing.
#[test]
fn more_agents_than_users_are_refused() {
    let dice = &mut Dice::new(1);
    for (want, fields) in [(3, vec![]), (4, vec!["agents.want"])] {
        let plan = plan(dice, 3, 2);
        let found = check::request(&plans::request(plan, want, 1, dice));
        let found: Vec<String> = found.into_iter().map(|problem| problem.field).collect();
        assert_eq!(found, fields);
    }
}

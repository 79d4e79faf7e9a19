//! Checks a closed loop: users instead of a schedule, never both.

use loadpilot_events::limits;
use loadpilot_events::plan::{Arrivals, Plan, PlanSchema, Rest, SessionLength, Shape, UserStage};

use super::checker::Checker;
use crate::schedule::user_stages::ActiveUsers;

/// Rejects settings that have a meaning on a schedule only: they are not ignored silently.
pub(super) fn plan(checker: &mut Checker<'_>, plan: &Plan) {
    if let Some(rest) = plan.rest {
        let rule = "must be used with users: arrivals on schedule do not rest";
        checker.require(plan.users.is_some(), "rest", rule, "no users");
        self::rest(checker, "rest", rest);
    }
    if let Some(length) = plan.session {
        session(checker, plan, "session", length);
    }
    if let Some(stages) = &plan.user_stages {
        self::stages(checker, plan, stages);
    }
    let Some(users) = plan.users else {
        let open = plan.profile.shape != Shape::Closed;
        let rule = "must not be closed without users: give users, or a shape with a rate";
        checker.require(open, "profile.shape", rule, "closed");
        return;
    };
    checker.require(
        (1..=limits::USERS_MAX).contains(&users),
        "users",
        "must be 1 to 1000000",
        users,
    );
    checker.require(
        plan.profile.is_length_only(),
        "profile",
        "must, with users, have shape closed: one piece at rate 0, which sets the duration only",
        format!(
            "{:?}, {} pieces",
            plan.profile.shape,
            plan.profile.pieces.len()
        ),
    );
    checker.require(
        plan.arrivals == Arrivals::Uniform,
        "arrivals",
        "must be left out with users: each starts its next task when its last one ended",
        "poisson",
    );
    checker.require(
        plan.max_in_flight.is_none(),
        "max_in_flight",
        "must be left out with users: their number limits what is in flight",
        plan.max_in_flight.unwrap_or(0),
    );
}

/// Checks stages, the numbers of active users over time: their maximum is the plan's number of
/// users, and their length is that of the plan.
fn stages(checker: &mut Checker<'_>, plan: &Plan, stages: &[UserStage]) {
    let before = checker.problems.len();
    let fits = (1..=limits::USER_STAGES_MAX).contains(&stages.len());
    checker.require(
        fits,
        "user_stages",
        "must be 1 to 1000 stages",
        stages.len(),
    );
    for (index, stage) in stages.iter().enumerate() {
        if checker.problems.len() - before > limits::PROBLEMS_MAX {
            break;
        }
        let field = format!("user_stages[{index}]");
        let lasts = stage.duration_us > 0;
        let rule = "must be at least 1 µs";
        checker.require(
            lasts,
            format!("{field}.duration_us"),
            rule,
            stage.duration_us,
        );
        for (end, users) in [("from", stage.from), ("to", stage.to)] {
            let fits = users <= limits::USERS_MAX;
            let rule = "must be at most 1000000";
            checker.require(fits, format!("{field}.{end}"), rule, users);
        }
    }
    let most = stages.iter().flat_map(|stage| [stage.from, stage.to]).max();
    let rule = "must be, with user_stages, the maximum of the stages";
    let users = plan.users.unwrap_or(0);
    checker.require(Some(users) == most, "users", rule, users);
    let lengths = stages.iter().map(|stage| stage.duration_us);
    let length_us = lengths.fold(0, u64::saturating_add);
    let lengths = plan.profile.pieces.iter().map(|piece| piece.duration_us);
    let profile_us = lengths.fold(0, u64::saturating_add);
    checker.require(
        length_us == profile_us,
        "user_stages",
        "must last as long as the profile",
        format!("{length_us} µs of {profile_us} µs"),
    );
    if checker.problems.len() == before {
        let most = ActiveUsers::new(stages).most_in(&(0..length_us));
        let rule = "must let a user begin: none is active before the last stage has ended";
        checker.require(most > 0, "user_stages", rule, most);
    }
}

/// Checks the think time at `at`.
pub(super) fn rest(checker: &mut Checker<'_>, at: &str, rest: Rest) {
    let day = "must be longer than 0 and at most a day";
    match rest {
        Rest::Pacing { every_us } => {
            within(checker, &format!("{at}.pacing"), day, (every_us, every_us))
        }
        Rest::Wait { from_us, to_us } => {
            within(checker, &format!("{at}.wait"), day, (from_us, to_us))
        }
        Rest::Exponential { median_us } => {
            let rule = "must have a median longer than 0 and at most 3 h 36 min, which is a mean \
                        of 5 h 11 min: then 99 of 100 think times are at most a day";
            let fits = (1..=limits::REST_EXPONENTIAL_MEDIAN_MAX_US).contains(&median_us);
            checker.require(
                fits,
                format!("{at}.exponential"),
                rule,
                format!("{median_us} µs"),
            );
        }
        Rest::Lognormal { median_us, p99_us } => {
            let value = format!("median {median_us} µs, p99 {p99_us} µs");
            let rule = "must have a median longer than 0, and a p99 of at most a day";
            let fits = median_us > 0 && p99_us <= limits::REST_MAX_US;
            checker.require(fits, format!("{at}.lognormal"), rule, &value);
            let rule = "must have a p99 above the median; a constant think time has neither, such \
                        as wait=\"2s\"";
            checker.require(median_us < p99_us, format!("{at}.lognormal"), rule, value);
        }
    }
}

/// Checks the length of the sessions at `at`.
pub(super) fn session(checker: &mut Checker<'_>, plan: &Plan, at: &str, length: SessionLength) {
    let is_known = plan.schema != PlanSchema::V1;
    let rule = "must be loadpilot.plan/2: the first version does not have sessions";
    checker.require(is_known, "schema", rule, "loadpilot.plan/1");
    let rule = "must be used with users: arrivals on schedule have no sessions";
    checker.require(plan.users.is_some(), at, rule, "no users");
    let rule = "must not be set where the submitter prepares the users: each user that takes the \
                place of another runs on_start; set prepare=\"agents\"";
    let prepared = plan.prepared().is_some_and(|prepared| prepared.users);
    checker.require(!prepared, at, rule, "prepared users");
    let (field, median_us, value) = match length {
        SessionLength::Between { from_us, to_us } => {
            let field = format!("{at}.between");
            let rule = "must be longer than 0 and at most a day";
            within(checker, &field, rule, (from_us, to_us));
            let value = format!("{from_us} µs to {to_us} µs");
            (field, from_us.midpoint(to_us), value)
        }
        SessionLength::Exponential { median_us } => {
            let field = format!("{at}.exponential");
            let rule = "must have a median of at most 3 h 36 min, which is a mean of 5 h 11 min: \
                        then 99 of 100 sessions last at most a day";
            let fits = median_us <= limits::REST_EXPONENTIAL_MEDIAN_MAX_US;
            let value = format!("{median_us} µs");
            checker.require(fits, &field, rule, &value);
            (field, median_us, value)
        }
        SessionLength::Lognormal { median_us, p99_us } => {
            let field = format!("{at}.lognormal");
            let value = format!("median {median_us} µs, p99 {p99_us} µs");
            let rule = "must have a p99 of at most a day";
            checker.require(p99_us <= limits::REST_MAX_US, &field, rule, &value);
            let rule = "must have a p99 above the median; a constant length has neither, such as \
                        session=\"12m\"";
            checker.require(median_us < p99_us, &field, rule, &value);
            (field, median_us, value)
        }
    };
    let rule = "must last at least 1 s in the median";
    let fits = median_us >= limits::SESSION_MEDIAN_MIN_US;
    checker.require(fits, field, rule, value);
}

fn within(checker: &mut Checker<'_>, field: &str, rule: &str, (least_us, most_us): (u64, u64)) {
    let value = format!("{least_us} µs to {most_us} µs");
    let fits = (1..=limits::REST_MAX_US).contains(&most_us);
    checker.require(fits, field, rule, &value);
    let rule = "must not begin after its end";
    checker.require(least_us <= most_us, field, rule, value);
}

/// An agent without a user would generate no load.
pub(super) fn agents(checker: &mut Checker<'_>, plan: &Plan, want: u32) {
    if let Some(users) = plan.users {
        let rule =
            format!("must be at most the users of the closed loop ({users}): each agent needs one");
        checker.require(want <= users, "agents.want", &rule, want);
    }
}

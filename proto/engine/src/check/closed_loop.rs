//! Checks a closed loop: users instead of a schedule, never both.

use loadpilot_events::limits;
use loadpilot_events::plan::{Arrivals, Plan, Rest, Shape};

use super::checker::Checker;

/// Settings that only a schedule gives a meaning are rejected with users, not ignored.
pub(super) fn plan(checker: &mut Checker<'_>, plan: &Plan) {
    if let Some(rest) = plan.rest {
        let rule = "must be used with users: arrivals on schedule do not rest";
        checker.require(plan.users.is_some(), "rest", rule, "no users");
        self::rest(checker, rest);
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

fn rest(checker: &mut Checker<'_>, rest: Rest) {
    let (field, least_us, most_us) = match rest {
        Rest::Pacing { every_us } => ("rest.pacing", every_us, every_us),
        Rest::Wait { from_us, to_us } => ("rest.wait", from_us, to_us),
    };
    let value = format!("{least_us} µs to {most_us} µs");
    let rule = "must be longer than 0 and at most a day";
    checker.require(
        (1..=limits::REST_MAX_US).contains(&most_us),
        field,
        rule,
        &value,
    );
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

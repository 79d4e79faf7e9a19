//! Checks the script of a plan: a scenario that runs in Python.

use std::collections::BTreeSet;

use loadpilot_events::limits;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::script::Feed;

use super::body;
use super::checker::Checker;

pub(super) fn script(checker: &mut Checker<'_>, plan: &Plan) {
    let Some(script) = &plan.script else {
        return;
    };
    body::object(checker, "script.bundle", &script.bundle);
    checker.name("script.file", &script.file);
    let is_inside = !script.file.starts_with('/') && !script.file.contains("..");
    let rule = "must be the path of a file in the bundle";
    checker.require(is_inside, "script.file", rule, &script.file);
    let few = script.secret_headers.len() <= limits::HEADERS_MAX;
    let count = script.secret_headers.len();
    checker.require(few, "script.secret_headers", "must be at most 64", count);
    for (place, name) in script.secret_headers.iter().enumerate() {
        checker.header_name(&format!("script.secret_headers[{place}]"), name);
    }
    let fits = (1..=limits::USERS_MAX).contains(&script.users);
    checker.require(fits, "script.users", "must be 1 to 1000000", script.users);
    if let Some(prepared) = &script.prepared {
        body::object(checker, "script.prepared.states", &prepared.states);
        checker.name("script.prepared.key_secret", &prepared.key_secret);
    }
    let agrees = plan.users.is_none_or(|users| users == script.users);
    let rule = "must be the users of the closed loop";
    checker.require(agrees, "script.users", rule, script.users);
    feeds(checker, plan, "script.feeds", &script.feeds);
    tasks(checker, plan, "script.checked", &script.checked);
}

/// Checks the feeds of a scenario, in Python or in code.
pub(super) fn feeds(checker: &mut Checker<'_>, plan: &Plan, list: &str, feeds: &[Feed]) {
    let few = feeds.len() <= limits::FEEDS_MAX;
    checker.require(few, list, "must be at most 100", feeds.len());
    let mut names = BTreeSet::new();
    for (place, feed) in feeds.iter().enumerate() {
        let field = format!("{list}[{place}]");
        checker.name(&format!("{field}.name"), &feed.name);
        let unique = names.insert(&feed.name);
        let rule = "must be unique in the plan";
        checker.require(unique, format!("{field}.name"), rule, &feed.name);
        let fits = feed.rows > 0;
        checker.require(
            fits,
            format!("{field}.rows"),
            "must be at least 1",
            feed.rows,
        );
        tasks(checker, plan, &format!("{field}.tasks"), &feed.tasks);
    }
}

/// Checks a list of task positions: each is in the plan, at most once.
fn tasks(checker: &mut Checker<'_>, plan: &Plan, field: &str, places: &[u16]) {
    let rising = places.is_sorted_by(|a, b| a < b);
    let last = places.last().map_or(0, |&task| usize::from(task));
    let known = places.is_empty() || last < plan.tasks.len();
    let rule = "must be positions of tasks, ascending";
    checker.require(rising && known, field, rule, format!("{places:?}"));
}

/// Prepared users exist once each: an agent without one could not get another.
pub(super) fn agents(checker: &mut Checker<'_>, plan: &Plan, want: u32) {
    let Some(script) = &plan.script else {
        return;
    };
    if script
        .prepared
        .as_ref()
        .is_some_and(|prepared| prepared.users)
    {
        let users = script.users;
        let rule = format!("must be at most the number of prepared users ({users})");
        checker.require(want <= users, "agents.want", &rule, want);
    }
}

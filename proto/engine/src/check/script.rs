//! Checks the script of a plan: a scenario that runs in Python.

use std::collections::BTreeSet;

use loadpilot_events::limits;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::script::Feed;
use loadpilot_events::units::format_duration;

use super::body;
use super::checker::Checker;
use crate::schedule::feed::rows_taken;
use crate::schedule::pace::Pace;
use crate::schedule::run_weights::run_weights;
use crate::schedule::user_types::users_of_feed;
use crate::schedule::workload::Workload;

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
    for (index, name) in script.secret_headers.iter().enumerate() {
        checker.header_name(&format!("script.secret_headers[{index}]"), name);
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
    for (index, feed) in feeds.iter().enumerate() {
        let field = format!("{list}[{index}]");
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
        if let Some(file) = &feed.file {
            let field = format!("{field}.file");
            body::row_file(checker, &format!("{field}.content"), &file.content);
            checker.name(&format!("{field}.name"), &file.name);
            let mut parts = file.name.split('/');
            let is_inside = parts.all(|part| !matches!(part, "" | "." | ".."));
            let rule = "must be the path of a file in the folder of the scenario";
            checker.require(is_inside, format!("{field}.name"), rule, &file.name);
        }
        if feed.unique {
            unique_rows(checker, plan, &field, feed);
        }
        let rule = "must be together with unique: the run ends after the last row";
        let is_once = !feed.stops || feed.unique;
        checker.require(is_once, format!("{field}.stops"), rule, feed.stops);
        let is_of_tasks = !feed.stops || !feed.tasks.is_empty();
        let rule = "must not be set where hooks take the rows: a run ends between two arrivals";
        checker.require(is_of_tasks, format!("{field}.stops"), rule, feed.stops);
    }
}

/// Checks a feed of which no row may be used twice.
fn unique_rows(checker: &mut Checker<'_>, plan: &Plan, field: &str, feed: &Feed) {
    let rule = "must not be together with cycles";
    checker.require(!feed.cycles, format!("{field}.unique"), rule, feed.unique);
    // A user that moves to another agent begins its iterations anew.
    let rule = "must not be set in a closed loop: which rows its users take is unknown";
    let is_open = plan.users.is_none();
    checker.require(is_open, format!("{field}.unique"), rule, feed.unique);
    // Rows of users and rows of arrivals are counted apart, both from the first.
    let is_of_one = !feed.prepares || feed.tasks.is_empty();
    let rule = "must not be set where both hooks and tasks take rows: declare a feed for each";
    checker.require(is_of_one, format!("{field}.unique"), rule, feed.unique);
    if is_open && !feed.stops && checker.problems.is_empty() {
        let least = rows_needed(plan, feed);
        let rule = format!("must be at least {least}, as many as the run takes: rows are unique");
        checker.require(
            feed.rows >= least,
            format!("{field}.rows"),
            &rule,
            feed.rows,
        );
    }
}

/// A run that ends before its warm-up does would measure nothing.
pub(super) fn rows_beyond_warm_up(checker: &mut Checker<'_>, plan: &Plan, seed: u64) {
    let stops = plan.feeds().iter().any(|feed| feed.stops);
    if !stops || !checker.problems.is_empty() {
        return;
    }
    let Some(end) = Workload::new(plan, seed).rows_end() else {
        return;
    };
    let Some(feed) = plan.feeds().get(end.feed) else {
        return;
    };
    let ticks = plan.warm_up_us.div_ceil(plan.tick_us.max(1));
    let warm_up_us = ticks.saturating_mul(plan.tick_us);
    let (at, until) = (format_duration(end.at_us), format_duration(warm_up_us));
    let name = &feed.name;
    let rule = format!(
        "must last longer than the warm-up, {until}: feed {name} ends the run at {at}, and nothing \
         would be measured"
    );
    let field = match (&plan.requests, &plan.script) {
        (Some(_), _) => "requests.rows[0].rows".to_owned(),
        (None, Some(_)) => format!("script.feeds[{}].rows", end.feed),
        (None, None) => format!("code.feeds[{}].rows", end.feed),
    };
    checker.require(end.at_us > warm_up_us, field, &rule, feed.rows);
}

/// The number of rows that a run takes at least, whatever its seed: that of its whole blocks of
/// tasks.
fn rows_needed(plan: &Plan, feed: &Feed) -> u64 {
    let weights = run_weights(plan).unwrap_or_default();
    let block = weights.iter().sum::<u64>().max(1);
    let blocks = Pace::new(&plan.profile).planned() / block;
    let users = users_of_feed(plan, feed);
    let of_task = |task: usize| blocks * weights.get(task).copied().unwrap_or(0);
    rows_taken(feed, users, of_task)
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

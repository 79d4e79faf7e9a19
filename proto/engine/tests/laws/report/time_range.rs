//! The report of a time range contains what the history did in that range, and ranges add up.

use std::collections::BTreeMap;
use std::ops::Range;

use loadpilot_engine::report::slice::series;
use loadpilot_engine::report::time_range::report_of;
use loadpilot_events::answers::report::{ArrivalCounts, Report};
use loadpilot_events::answers::slice::Slice;
use loadpilot_events::log::outcome::DropReason;
use proptest::prelude::*;

use crate::report::slices::{Whole, really};
use crate::rules::dice::Dice;
use crate::support::history::History;

/// A range of ticks as times, and the report of it.
fn part(history: &History, whole: &Whole, ticks: Range<u32>) -> Report {
    let us = |tick: u32| Some(u64::from(tick) * history.plan.tick_us);
    report_of(whole.run(), us(ticks.start), us(ticks.end)).expect("a range of the run")
}

/// Number of arrivals that are due in some ticks, one by one.
pub(crate) fn due_in(history: &History, ticks: &Range<u32>) -> u64 {
    let workload = &history.workload;
    let all = 0..workload.planned();
    let due = all.filter(|&n| ticks.contains(&workload.tick_of(workload.due_us(n))));
    due.count() as u64
}

fn dropped(arrivals: &ArrivalCounts) -> BTreeMap<DropReason, u64> {
    let some = arrivals.dropped.iter().filter(|(_, count)| **count > 0);
    some.map(|(reason, count)| (*reason, *count)).collect()
}

fn sum(one: &ArrivalCounts, other: &ArrivalCounts) -> ArrivalCounts {
    let mut dropped_in_both = dropped(one);
    for (reason, count) in dropped(other) {
        *dropped_in_both.entry(reason).or_default() += count;
    }
    ArrivalCounts {
        planned: one.planned + other.planned,
        started: one.started + other.started,
        lost: one.lost + other.lost,
        waiting: one.waiting + other.waiting,
        task_errors: one.task_errors + other.task_errors,
        sessions: None,
        dropped: dropped_in_both,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Broken if a zoomed page shows figures of another time than the selected one.
    #[test]
    fn a_part_of_the_time_is_what_was_due_in_it(seed: u64) {
        let history = History::new(seed);
        let whole = Whole::of(&history, &history.data);
        let dice = &mut Dice::new(!seed);
        let end = history.workload.ticks();
        let from = u32::try_from(dice.pick(0..u64::from(end))).expect("a tick");
        let to = u32::try_from(dice.pick(u64::from(from) + 1..u64::from(end) + 1)).expect("a tick");
        let found = part(&history, &whole, from..to);
        let slice = Slice {
            from_us: Some(u64::from(from) * history.plan.tick_us),
            to_us: Some(u64::from(to) * history.plan.tick_us),
            ..Slice::default()
        };
        let (responses, outcomes, started) = really(&history, &slice);
        prop_assert_eq!(found.arrivals.started, started);
        prop_assert_eq!(found.arrivals.planned, due_in(&history, &(from..to)));
        prop_assert_eq!(&found.calls.outcomes, &outcomes);
        let count = found.latency.response.as_ref().map_or(0, |ladder| ladder.count);
        prop_assert_eq!(count, responses.len() as u64);
        let total = series(whole.run(), &slice).expect("a slice").total;
        prop_assert_eq!(found.latency.response, total.response);
        prop_assert_eq!(found.latency.service, total.service);
        let of_tasks: u64 = found.tasks.iter().map(|task| task.arrivals.started).sum();
        prop_assert_eq!(of_tasks, started);
        let arrivals = &found.arrivals;
        let settled = arrivals.started + arrivals.dropped_total() + arrivals.lost;
        prop_assert_eq!(settled + arrivals.waiting, arrivals.planned);
        let in_range = |lost: &loadpilot_events::answers::report::LostInterval| {
            lost.from_tick < to && lost.to_tick >= from
        };
        prop_assert!(found.gaps.lost.iter().all(in_range));
    }

    /// Broken if an arrival or a call were in two neighbouring parts, or in neither.
    #[test]
    fn two_parts_are_the_whole(seed: u64) {
        let history = History::new(seed);
        let whole = Whole::of(&history, &history.data);
        let end = history.workload.ticks();
        let cut = u32::try_from(Dice::new(!seed).pick(0..u64::from(end))).expect("a tick");
        let all = part(&history, &whole, 0..end);
        prop_assume!(cut > 0);
        let (first, second) = (
            part(&history, &whole, 0..cut),
            part(&history, &whole, cut..end),
        );
        let nothing = ArrivalCounts::default();
        prop_assert_eq!(
            sum(&first.arrivals, &second.arrivals),
            sum(&all.arrivals, &nothing)
        );
        for ((one, other), both) in first.tasks.iter().zip(&second.tasks).zip(&all.tasks) {
            prop_assert_eq!(
                sum(&one.arrivals, &other.arrivals),
                sum(&both.arrivals, &nothing)
            );
            prop_assert_eq!(one.finished + other.finished, both.finished);
            prop_assert_eq!(one.errors + other.errors, both.errors);
        }
        prop_assert_eq!(first.requests_total + second.requests_total, all.requests_total);
        prop_assert_eq!(first.errors_total + second.errors_total, all.errors_total);
        let mut status = first.status.clone();
        for (code, count) in &second.status {
            *status.entry(*code).or_default() += count;
        }
        prop_assert_eq!(status, all.status);
    }
}

/// Broken if a range without a meaning gets an answer.
#[test]
fn a_range_outside_of_the_run_is_refused() {
    let history = History::new(1);
    let whole = Whole::of(&history, &history.data);
    let (tick_us, end) = (history.plan.tick_us, u64::from(history.workload.ticks()));
    for (from_us, to_us, field) in [
        (Some(tick_us + 1), None, "from_us"),
        (None, Some(tick_us / 2), "to_us"),
        (Some(end * tick_us), None, "from_us"),
        (Some(2 * tick_us), Some(tick_us), "from_us"),
    ] {
        let refusal = report_of(whole.run(), from_us, to_us).expect_err("it is wrong");
        let fields: Vec<&str> = refusal
            .problems
            .iter()
            .map(|one| one.field.as_str())
            .collect();
        assert_eq!(fields, [field], "{from_us:?} to {to_us:?}");
    }
}

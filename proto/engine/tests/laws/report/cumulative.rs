//! Counters and histograms since the start have the counts of the report and of the calls.

use std::collections::BTreeMap;

use loadpilot_engine::fold::project::Window;
use loadpilot_engine::report::cumulative::{
    BOUNDS_US, ClassicHistogram, Cumulative, NAMES_MAX, NamedCalls, OTHER, cumulative,
};
use loadpilot_engine::report::report;
use loadpilot_engine::tally::aggregates::CallSums;
use loadpilot_engine::tally::call_ids::CallId;
use loadpilot_events::answers::slice::Slice;
use loadpilot_events::log::outcome::Outcome;
use proptest::prelude::*;

use crate::report::slices::{Whole, really};
use crate::support::history::History;

/// Number of values in each bucket of all calls together, and the sum.
fn merged(totals: &Cumulative) -> ClassicHistogram {
    let mut sum = ClassicHistogram::default();
    for call in totals.calls.values() {
        sum.sum_us += call.response.sum_us;
        for (all, count) in sum.counts.iter_mut().zip(call.response.counts) {
            *all += count;
        }
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Broken if a system of metrics has another count than the report, or a call in a bucket that
    /// its latency is not in.
    #[test]
    fn cumulative_figures_are_those_of_the_calls(seed: u64) {
        let history = History::new(seed);
        let whole = Whole::of(&history, &history.data);
        let (control, data) = (whole.run().control, whole.run().data);
        let totals = cumulative(control, data, &mut NamedCalls::default()).expect("created");
        let report = report(control, data).expect("known");
        let mut outcomes: BTreeMap<Outcome, u64> = BTreeMap::new();
        for (outcome, count) in totals.calls.values().flat_map(|call| &call.outcomes) {
            *outcomes.entry(*outcome).or_default() += count;
        }
        prop_assert_eq!(&outcomes, &report.calls.outcomes);
        for task in &report.tasks {
            prop_assert_eq!(totals.tasks[&task.name].started, task.arrivals.started);
        }
        let (responses, _, _) = really(&history, &Slice::default());
        let found = merged(&totals);
        prop_assert_eq!(found.count(), responses.len() as u64);
        let within = |bound_us: u64| responses.iter().filter(|us| **us <= bound_us).count() as u64;
        let mut below = 0;
        for (bound_us, count) in BOUNDS_US.into_iter().zip(found.counts) {
            below += count;
            let least = within(bound_us);
            let most = within(bound_us + bound_us / 1_000 + 1);
            prop_assert!((least..=most).contains(&below), "{} µs: {}", bound_us, below);
        }
        let exact: u64 = responses.iter().sum();
        let slack = exact / 1_000 + responses.len() as u64;
        prop_assert!(found.sum_us.abs_diff(exact) <= slack, "{} of {}", found.sum_us, exact);
    }
}

/// Broken if a scenario with a name for each call makes a series for each, or a counter moves from
/// one name to another when more names come.
#[test]
fn names_are_limited_and_stay() {
    let history = History::new(7);
    let whole = Whole::of(&history, &history.data);
    let (control, mut data) = (whole.run().control, whole.run().data.clone());
    data.calls.clear();
    let mut named = NamedCalls::default();
    for (prefix, others) in [("m", 20), ("a", 70)] {
        let count = if prefix == "m" { NAMES_MAX + 20 } else { 50 };
        for n in 0..count {
            let name = format!("{prefix}{n:04}").into();
            let call = CallId::Named { task: 0, name };
            let sums = CallSums {
                count: 1,
                ..CallSums::default()
            };
            data.calls
                .insert((Window::Measured, call, Outcome::Ok), sums);
        }
        let totals = cumulative(control, &data, &mut named).expect("created");
        let task = &control.state.created.as_ref().expect("created").plan.tasks[0].name;
        let count =
            |name: &str| totals.calls[&(task.clone(), name.to_owned())].outcomes[&Outcome::Ok];
        assert_eq!(totals.calls.len(), NAMES_MAX + 1);
        assert_eq!(
            (count("m0000"), count("m0099"), count(OTHER)),
            (1, 1, others)
        );
    }
}

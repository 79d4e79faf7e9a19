//! Counters and histograms since the start have the counts of the report and of the calls.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use loadpilot_engine::control::Control;
use loadpilot_engine::fold::gauge_windows::NewestWindows;
use loadpilot_engine::fold::project::{Projection, Window};
use loadpilot_engine::report::cumulative::buckets::{BOUNDS_US, Buckets, NATIVE_SCHEMA};
use loadpilot_engine::report::cumulative::legacy::LegacyFigures;
use loadpilot_engine::report::cumulative::{
    Cumulative, Exported, Folded, NAMES_MAX, OTHER, cumulative, run_figures,
};
use loadpilot_engine::report::percentiles::percentile_us;
use loadpilot_engine::report::{NoReport, report};
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::aggregates::CallSums;
use loadpilot_engine::tally::call_ids::CallId;
use loadpilot_events::answers::report::Report;
use loadpilot_events::answers::slice::Slice;
use loadpilot_events::log::hist;
use loadpilot_events::log::outcome::{DropReason, Outcome};
use loadpilot_events::units::Timestamp;
use proptest::prelude::*;

use crate::report::slices::{Whole, really};
use crate::support::history::History;

fn totals(
    (control, data): (&Control, &Projection),
    exported: &mut Exported,
) -> Result<(Cumulative, Report), NoReport> {
    let report = report(control, data)?;
    let folded = Folded {
        control,
        data,
        newest: &NewestWindows::default(),
        report: &report,
    };
    let totals = cumulative(folded, exported, Timestamp(u64::MAX)).expect("created");
    Ok((totals, report))
}

fn legacy_of((control, data): (&Control, &Projection), report: &Report) -> LegacyFigures {
    let folded = Folded {
        control,
        data,
        newest: &NewestWindows::default(),
        report,
    };
    let now = Timestamp(u64::MAX);
    let figures = run_figures(folded, &mut Exported::default(), now);
    figures.expect("created").legacy
}

/// The values of all calls, merged.
fn merged(totals: &Cumulative) -> Buckets {
    let mut sum = Buckets::default();
    let outcomes = totals
        .calls
        .values()
        .flat_map(|call| call.outcomes.values());
    for of_outcome in outcomes {
        sum.sum_us += of_outcome.response.sum_us;
        for (all, count) in sum.classic.iter_mut().zip(of_outcome.response.classic) {
            *all += count;
        }
        for (bucket, count) in &of_outcome.response.native {
            *sum.native.entry(*bucket).or_default() += count;
        }
    }
    sum
}

/// Upper bound of a native bucket in µs.
fn upper_us(bucket: i32) -> f64 {
    2_f64.powf(f64::from(bucket) / f64::from(1 << NATIVE_SCHEMA)) * 1e6
}

/// The value of a percentile as Prometheus reads it: by its rank, interpolated in its bucket.
fn native_percentile_us(buckets: &Buckets, percent: f64) -> f64 {
    let rank = percent / 100.0 * buckets.count() as f64;
    let mut below = 0.0;
    for (bucket, count) in &buckets.native {
        let count = *count as f64;
        if below + count >= rank {
            let (from_us, to_us) = (upper_us(bucket - 1), upper_us(*bucket));
            return from_us + (to_us - from_us) * (rank - below) / count;
        }
        below += count;
    }
    upper_us(*buckets.native.keys().next_back().expect("a value"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Broken if a metrics system gets another count than the report, or a call in a bucket that
    /// does not contain its latency.
    #[test]
    fn cumulative_figures_are_those_of_the_calls(seed: u64) {
        let history = History::new(seed);
        let whole = Whole::of(&history, &history.data);
        let run = (whole.run().control, whole.run().data);
        let (totals, report) = totals(run, &mut Exported::default()).expect("known");
        let mut outcomes: BTreeMap<Outcome, u64> = BTreeMap::new();
        for (outcome, of_outcome) in totals.calls.values().flat_map(|call| &call.outcomes) {
            *outcomes.entry(*outcome).or_default() += of_outcome.count;
        }
        prop_assert_eq!(&outcomes, &report.calls.outcomes);
        for task in &report.tasks {
            let found = &totals.tasks[&task.name];
            prop_assert_eq!(found.started, task.arrivals.started);
            prop_assert_eq!(found.planned, task.arrivals.planned);
            let counted = |counts: &BTreeMap<DropReason, u64>| -> BTreeMap<DropReason, u64> {
                counts.iter().filter(|(_, n)| **n > 0).map(|(reason, n)| (*reason, *n)).collect()
            };
            prop_assert_eq!(counted(&found.dropped), counted(&task.arrivals.dropped));
        }
        let legacy = legacy_of(run, &report);
        prop_assert_eq!(legacy.requests, outcomes.values().sum::<u64>());
        let errors = outcomes.iter().filter(|(outcome, _)| outcome.is_error());
        let errors: u64 = errors.map(|(_, count)| count).sum();
        prop_assert!(legacy.errors >= errors);
        let of_tasks = legacy.tasks.values();
        prop_assert_eq!(legacy.errors, of_tasks.clone().map(|task| task.errors).sum::<u64>());
        prop_assert_eq!(legacy.requests, of_tasks.map(|task| task.requests).sum::<u64>());
        let (responses, _, _) = really(&history, &Slice::default());
        let found = merged(&totals);
        prop_assert_eq!(found.count(), responses.len() as u64);
        prop_assert_eq!(found.native.values().sum::<u64>(), responses.len() as u64);
        let within = |bound_us: u64| responses.iter().filter(|us| **us <= bound_us).count() as u64;
        let mut below = 0;
        for (bound_us, count) in BOUNDS_US.into_iter().zip(found.classic) {
            below += count;
            let least = within(bound_us);
            let most = within(bound_us + bound_us / 1_000 + 1);
            prop_assert!((least..=most).contains(&below), "{} µs: {}", bound_us, below);
        }
        let exact: u64 = responses.iter().sum();
        let slack = exact / 1_000 + responses.len() as u64;
        prop_assert!(found.sum_us.abs_diff(exact) <= slack, "{} of {}", found.sum_us, exact);
    }

    /// Broken if a percentile that Prometheus reads from the native buckets is further from the
    /// percentile of the stored histogram than one bucket plus that histogram's precision, 1.2 %.
    #[test]
    fn native_percentiles_are_within_a_bucket(
        values in prop::collection::vec(1_u64..120_000_000, 1..400),
    ) {
        let mut stored = hist::latency();
        values.iter().for_each(|us| hist::record(&mut stored, *us));
        let mut buckets = Buckets::default();
        buckets.add(&stored);
        prop_assert_eq!(buckets.native.values().sum::<u64>(), values.len() as u64);
        for percent in [50.0, 90.0, 99.0, 100.0] {
            let exact = percentile_us(&stored, percent) as f64;
            let found = native_percentile_us(&buckets, percent);
            prop_assert!((found / exact - 1.0).abs() < 0.012, "p{percent}: {found} for {exact}");
        }
    }
}

/// Broken if planned arrivals of a running run are counted by agents, or before they are due.
#[test]
fn planned_arrivals_are_those_that_are_due() {
    let mut checked = 0;
    for seed in 0..20 {
        let history = History::new(seed);
        let whole = Whole::of(&history, &history.data);
        let mut control = whole.run().control.clone();
        let created = control.state.created.clone().expect("created");
        let start = control.state.start.as_ref().map(|start| start.start_at);
        let (Some(start), None) = (start, created.plan.users) else {
            continue;
        };
        (control.state.over, control.sealed) = (false, None);
        let workload = Workload::new(&created.plan, created.seed);
        let workload = workload.steered(&control.state.steering.rates);
        let report = report(&control, whole.run().data).expect("known");
        let folded = Folded {
            control: &control,
            data: whole.run().data,
            newest: &NewestWindows::default(),
            report: &report,
        };
        let mut exported = Exported::default();
        for elapsed_us in [0, 700_000, 1_500_000, u64::MAX / 2] {
            let now = Timestamp(start.0 + elapsed_us);
            let totals = cumulative(folded, &mut exported, now).expect("created");
            let found: u64 = totals.tasks.values().map(|task| task.planned).sum();
            let due = (0..workload.planned()).filter(|n| workload.due_us(*n) < elapsed_us);
            assert_eq!(found, due.count() as u64, "seed {seed}, {elapsed_us} µs");
        }
        checked += 1;
    }
    assert!(checked > 5, "{checked} runs with a schedule");
}

/// Broken if a scenario with a new name for each call makes a series for each, or if a count moves
/// from one name to another when more names come.
#[test]
fn names_are_limited_and_stay() {
    let history = History::new(7);
    let whole = Whole::of(&history, &history.data);
    let (control, mut data) = (whole.run().control, whole.run().data.clone());
    data.calls.clear();
    data.anatomy.clear();
    let mut exported = Exported::default();
    // The smallest histogram, since this test needs many.
    let least = Histogram::<u64>::new(1).expect("a histogram");
    for (prefix, names, others) in [("m", 1_000, 900), ("a", 50, 950)] {
        for n in 0..names {
            let name = format!("{prefix}{n:04}").into();
            let call = CallId::Named { task: 0, name };
            let sums = CallSums {
                count: 1,
                response: least.clone(),
                service: least.clone(),
                ..CallSums::default()
            };
            data.calls
                .insert((Window::Measured, call, Outcome::Ok), sums);
        }
        let (totals, _) = totals((control, &data), &mut exported).expect("known");
        let task = &control.state.created.as_ref().expect("created").plan.tasks[0].name;
        let count = |name: &str| {
            totals.calls[&(task.clone(), name.to_owned())].outcomes[&Outcome::Ok].count
        };
        assert_eq!(totals.calls.len(), NAMES_MAX + 1);
        assert_eq!(
            (count("m0000"), count("m0099"), count(OTHER)),
            (1, 1, others)
        );
    }
}

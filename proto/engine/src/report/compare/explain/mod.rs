//! Why a percentile changed: which calls and phases, for which share of the requests, and when.
//!
//! At each latency between the two values of a percentile, a share of the requests is beyond it in
//! the slower run and not in the faster one. Each call contributes in proportion to its part of
//! these requests, so the contributions add up to the difference (the cost sharing of Aumann and
//! Shapley, 1974, from one distribution to the other). Must never explain by means: a mean may fall
//! while a percentile rises.
//!
//! - `call_counts`: response times and phases of the calls of a run
//! - `phases`: the contribution of a call, divided among its phases
//! - `time_range`: the time in which the requests that moved were due

mod call_counts;
mod phases;
mod time_range;

use std::collections::BTreeMap;
use std::ops::Range;

use loadpilot_events::answers::compare::{
    CallShift, Change, ComparedFigure, Explanation, FigureChange, RunParts,
};
use loadpilot_events::log::hist::NotAHistogram;

use crate::report::figures::percentiles::ms;
use crate::tally::packed_histogram::Precision;
use call_counts::{CallCounts, Counts, RunCounts, as_number, share};

/// Explains the percentiles among `figures` that are better or worse.
///
/// # Errors
/// When a histogram of a run cannot be decoded.
pub(super) fn explanations(
    current: &RunParts,
    baseline: &[RunParts],
    figures: &[FigureChange],
) -> Result<Vec<Explanation>, NotAHistogram> {
    let has_moved = |row: &&FigureChange| matches!(row.change, Change::Better | Change::Worse);
    let is_said_of_the_run = |row: &FigureChange| {
        let same = |one: &FigureChange| one.figure == row.figure && one.change == row.change;
        row.task.is_some() && figures.iter().any(|one| one.task.is_none() && same(one))
    };
    let rows = figures.iter().filter(has_moved);
    let rows = rows.filter(|row| !is_said_of_the_run(row));
    let rows: Vec<_> = rows
        .filter_map(|row| Some((row, row.figure.percent()?, row.baseline?)))
        .collect();
    let runs: Vec<&RunParts> = [current].into_iter().chain(baseline).collect();
    if rows.is_empty() || runs.iter().any(|run| run.calls.is_empty()) {
        return Ok(Vec::new());
    }
    let current = RunCounts::of(current)?;
    let baseline = baseline
        .iter()
        .map(RunCounts::of)
        .collect::<Result<Vec<_>, _>>()?;
    let explained = rows.into_iter().filter_map(|(row, percent, median_ms)| {
        let task = row.task.as_deref();
        let sides = baseline.iter().map(|run| Side::of(run, task, percent));
        let distance = |side: &Side<'_>| (ms(side.value_us) - median_ms).abs();
        let beside = sides.min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        explanation(row.figure, &Side::of(&current, task, percent), &beside)
    });
    Ok(explained.collect())
}

/// One run in an explanation: its calls, or those of one task.
struct Side<'a> {
    run: &'a RunCounts<'a>,
    task: Option<&'a str>,
    calls: BTreeMap<Name<'a>, &'a CallCounts<'a>>,
    /// Response times of all its calls.
    all: Counts,
    value_us: u64,
}

impl<'a> Side<'a> {
    fn of(run: &'a RunCounts<'a>, task: Option<&'a str>, percent: f64) -> Self {
        let calls = run.calls.iter();
        let calls = calls.filter(|call| task.is_none_or(|task| task == call.task));
        let calls: BTreeMap<_, _> = calls.map(|call| ((call.task, call.call), call)).collect();
        let all = Counts::sum(calls.values().map(|call| &call.response));
        Self {
            run,
            task,
            calls,
            value_us: all.percentile_us(percent),
            all,
        }
    }

    /// Share of all requests that are of a call.
    fn weight(&self, call: Option<&CallCounts<'_>>) -> f64 {
        share(
            call.map_or(0, |call| call.response.total()),
            self.all.total(),
        )
    }
}

/// Task and name of a call.
type Name<'a> = (&'a str, &'a str);

/// The contribution of a call to a change of 1.
#[derive(Default)]
struct Contribution {
    /// By being slower or faster.
    own: f64,
    /// By another weight among all requests.
    mix: f64,
    /// Share of all requests that it has beyond the better value now and had not before.
    moved: f64,
}

/// `None` when the two values are in one bucket, or one run has no request.
fn explanation(figure: ComparedFigure, ours: &Side<'_>, theirs: &Side<'_>) -> Option<Explanation> {
    let bucket = |us: u64| Precision::Latency.bucket(us);
    let (low, high) = match ours.value_us < theirs.value_us {
        true => (ours.value_us, theirs.value_us),
        false => (theirs.value_us, ours.value_us),
    };
    let between = bucket(low)..bucket(high);
    let found = contributions(&between, ours, theirs)?;
    let (baseline_ms, current_ms) = (ms(theirs.value_us), ms(ours.value_us));
    let shift_ms = current_ms - baseline_ms;
    let mut calls: Vec<CallShift> = found
        .iter()
        .map(|(name, call)| {
            let change = ours.calls.get(name).zip(theirs.calls.get(name));
            let change = change.map(|(now, before)| (*now, *before));
            let (phases, other_ms) = change.map_or_else(Default::default, |change| {
                phases::divided(call.own * shift_ms, change, &between)
            });
            let along = change.filter(|_| call.own > 0.0);
            let parts = along.and_then(|(now, before)| {
                time_range::time_range(now, before, between.start, shift_ms > 0.0)
            });
            // A results file may be incomplete: a bound may be missing.
            let bound_us = |part: usize| ours.run.bounds_us.get(part).copied();
            CallShift {
                task: name.0.to_owned(),
                call: name.1.to_owned(),
                ms: call.own * shift_ms,
                requests_pct: call.moved * 100.0,
                phases,
                other_ms,
                during_us: parts
                    .and_then(|parts| Some([bound_us(parts.start)?, bound_us(parts.end)?])),
            }
        })
        .collect();
    calls.sort_by(|a, b| b.ms.abs().total_cmp(&a.ms.abs()));
    Some(Explanation {
        task: ours.task.map(str::to_owned),
        figure,
        beside: theirs.run.id.clone(),
        baseline_ms,
        current_ms,
        calls,
        mix_ms: found.values().map(|call| call.mix).sum::<f64>() * shift_ms,
    })
}

/// Contributions of the calls between two buckets, which add up to 1.
fn contributions<'a>(
    between: &Range<usize>,
    ours: &Side<'a>,
    theirs: &Side<'a>,
) -> Option<BTreeMap<Name<'a>, Contribution>> {
    let least_us = |bucket: usize| as_number(Precision::Latency.least(bucket + 1));
    let width = least_us(between.end) - least_us(between.start);
    let names = ours.calls.keys().chain(theirs.calls.keys());
    let mut found: BTreeMap<Name<'a>, Contribution> =
        names.map(|&name| (name, Contribution::default())).collect();
    for bucket in between.clone() {
        // Never 0: one value is in this bucket or before it, the other behind it.
        let all = theirs.all.share_up_to(bucket)? - ours.all.share_up_to(bucket)?;
        let part = (least_us(bucket + 1) - least_us(bucket)) / width / all;
        for (name, call) in &mut found {
            let (own, mix) = moved(*name, bucket, ours, theirs);
            call.own += own * part;
            call.mix += mix * part;
            if bucket == between.start {
                call.moved = own;
            }
        }
    }
    (!between.is_empty()).then_some(found)
}

/// Share of all requests that a call has beyond a bucket now and had not before: by its own change,
/// and by that of its weight.
fn moved(name: Name<'_>, bucket: usize, ours: &Side<'_>, theirs: &Side<'_>) -> (f64, f64) {
    let (our_call, their_call) = (
        ours.calls.get(&name).copied(),
        theirs.calls.get(&name).copied(),
    );
    let (now, before) = (ours.weight(our_call), theirs.weight(their_call));
    let within =
        |call: Option<&CallCounts<'_>>| call.and_then(|call| call.response.share_up_to(bucket));
    match (within(our_call), within(their_call)) {
        (Some(ours), Some(theirs)) => (
            f64::midpoint(now, before) * (theirs - ours),
            (before - now) * f64::midpoint(theirs, ours),
        ),
        (ours, theirs) => (
            0.0,
            before * theirs.unwrap_or(0.0) - now * ours.unwrap_or(0.0),
        ),
    }
}

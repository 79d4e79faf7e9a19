//! A run for comparisons: its measured time in parts.

use std::collections::BTreeMap;
use std::ops::Range;

use loadpilot_events::answers::compare::{
    CallParts, GroupParts, RUN_PARTS_MAX, RunPart, RunParts, RunPartsSchema,
};
use loadpilot_events::answers::report::{Ladder, LoadCurve, NoKnee, Report, TaskReport};
use loadpilot_events::answers::slice::Slice;
use loadpilot_events::log::delta::Phase;
use loadpilot_events::log::hist::{self, EncodedHistogram, Hist};
use loadpilot_events::refusal::Refusal;

use crate::fold::index::Key;
use crate::fold::project::{Window, first_measured_tick};
use crate::report::figures::percentiles::nearest_rank;
use crate::report::slice::{Bucket, CallPlaces, Indexed, Query, Selection};
use crate::tally::aggregates::AnatomySums;
use crate::tally::packed_histogram::{HistogramSum, Precision};

/// The phases that follow each other from due to the end of a call. Those of streams overlap them.
const PHASES: [Phase; 7] = [
    Phase::ScheduleLag,
    Phase::Queue,
    Phase::Dns,
    Phase::Connect,
    Phase::Tls,
    Phase::FirstByte,
    Phase::LastByte,
];

/// The parts of a run whose report is `report`.
///
/// # Errors
/// When the run was never created.
pub fn run_parts(run: Indexed<'_>, report: &Report) -> Result<RunParts, Refusal> {
    let names = report.tasks.iter().map(|task| task.name.clone());
    let groups = std::iter::once(None).chain(names.map(Some));
    let groups = groups.map(|task| group(run, task, report.rates.measured_us));
    let query = Query::of(run, &Slice::default())?;
    let measured = measured(run, &query);
    Ok(RunParts {
        groups: groups.collect::<Result<_, Refusal>>()?,
        measured_from_us: u64::from(measured.start) * query.tick_us,
        calls: calls(run, measured, report),
        ..parts_of_report(report)
    })
}

/// The parts of a report alone: the whole run in one part, and each task in one.
#[must_use]
pub fn parts_of_report(report: &Report) -> RunParts {
    let raised = report.task_raises.as_ref();
    let response = report.latency.response.as_ref();
    let finished = response.map_or(0, |ladder| ladder.count);
    let part = RunPart {
        length_us: report.rates.measured_us,
        started: report.rates.started,
        finished: finished + raised.map_or(0, |raised| raised.without_call),
        errors: report.errors_total,
        response: report.latency.response_histogram.clone(),
    };
    RunParts {
        schema: RunPartsSchema::V1,
        run: report.run.id.clone(),
        scenario: report.scenario.clone(),
        target: report.target_url.clone(),
        plan_hash: report.run.plan_hash.clone(),
        ending: report.run.ending,
        grade: report.certificate.grade,
        has_reached: report.latency.unconnected < finished,
        groups: std::iter::once(GroupParts {
            task: None,
            parts: vec![part],
        })
        .chain(report.tasks.iter().map(|task| of_task(report, task)))
        .collect(),
        measured_from_us: 0,
        held_rps: report.load_curve.as_ref().and_then(held_rps),
        calls: Vec::new(),
    }
}

/// A task of a report in one part. A report counts its arrivals only with those of the warm-up: its
/// rate is known where there was none.
fn of_task(report: &Report, task: &TaskReport) -> GroupParts {
    let (length_us, started) = match report.warm_up.warm_up_us {
        0 => (report.rates.measured_us, task.arrivals.started),
        _ => (0, 0),
    };
    GroupParts {
        task: Some(task.name.clone()),
        parts: vec![RunPart {
            length_us,
            started,
            finished: task.finished,
            errors: task.errors,
            response: hist::encode(&of_ladder(task.response.as_ref())),
        }],
    }
}

/// A distribution whose compared percentiles are those of a ladder; empty without one.
fn of_ladder(ladder: Option<&Ladder>) -> Hist {
    let mut found = hist::latency();
    let mut passed = 0;
    let values = ladder.map(|ladder| {
        [
            (50.0, ladder.p50_us),
            (95.0, ladder.p95_us),
            (99.0, ladder.p99_us),
            (100.0, ladder.max_us),
        ]
        .map(|(percent, us)| (us, nearest_rank(percent, ladder.count)))
    });
    for (us, rank) in values.into_iter().flatten() {
        found
            .record_n(us, rank - passed)
            .expect("an auto-resizing histogram takes any value");
        passed = rank;
    }
    found
}

/// The highest rate of a level that the target held, if the levels say so.
fn held_rps(curve: &LoadCurve) -> Option<f64> {
    let rates = || curve.levels.iter().map(|level| level.rate_rps);
    match (curve.knee, curve.no_knee) {
        (Some(knee), _) => curve
            .levels
            .get(knee.held as usize)
            .map(|level| level.rate_rps),
        (None, Some(NoKnee::AllHeld)) => rates().max_by(f64::total_cmp),
        (None, Some(NoKnee::LowestBroke)) => Some(0.0),
        (None, _) => None,
    }
}

fn group(run: Indexed<'_>, task: Option<String>, measured_us: u64) -> Result<GroupParts, Refusal> {
    let tasks = task.clone().map(|task| vec![task]);
    Ok(GroupParts {
        task,
        ..group_of(run, tasks, measured_us)?
    })
}

/// The parts of some tasks together, or of the whole run.
pub(in crate::report) fn group_of(
    run: Indexed<'_>,
    tasks: Option<Vec<String>>,
    measured_us: u64,
) -> Result<GroupParts, Refusal> {
    let slice = Slice {
        tasks,
        ..Slice::default()
    };
    let query = Query::of(run, &slice)?;
    let selection = Selection::new(run, &query);
    let measured = measured(run, &query);
    // A stop is inside of a tick.
    let us = |tick: u32| (u64::from(tick - measured.start) * query.tick_us).min(measured_us);
    let parts = parts(measured.clone()).map(|ticks| {
        let mut bucket = Bucket::new();
        let length_us = us(ticks.end) - us(ticks.start);
        run.index.walk(ticks, |entry| {
            if selection.wants(&entry.key) {
                bucket.add(&entry);
            }
        });
        RunPart {
            length_us,
            started: bucket.started(),
            finished: bucket.finished(),
            errors: bucket.errors(),
            response: hist::encode(&bucket.response()),
        }
    });
    Ok(GroupParts {
        task: None,
        parts: parts.collect(),
    })
}

/// Where the parts of the measured time begin and the last one ends, in µs after the start.
pub(super) fn bounds_us(run: &RunParts) -> Vec<u64> {
    let lengths = run
        .groups
        .first()
        .into_iter()
        .flat_map(|group| &group.parts);
    let ends = lengths.scan(run.measured_from_us, |at, part| {
        *at += part.length_us;
        Some(*at)
    });
    std::iter::once(run.measured_from_us).chain(ends).collect()
}

fn calls(run: Indexed<'_>, measured: Range<u32>, report: &Report) -> Vec<CallParts> {
    let created = run.control.state.created.as_deref();
    let places = CallPlaces::of(created.map(|created| &created.plan));
    let empty = hist::encode(&hist::latency());
    let ranges: Vec<Range<u32>> = parts(measured).collect();
    let mut responses: BTreeMap<(u16, &str), Vec<EncodedHistogram>> = BTreeMap::new();
    // One part at a time: sums that are not encoded are large.
    for (part, ticks) in ranges.iter().enumerate() {
        let mut sums: BTreeMap<(u16, &str), HistogramSum> = BTreeMap::new();
        run.index.walk(ticks.clone(), |entry| {
            let Key::Calls { call, outcome, .. } = entry.key else {
                return;
            };
            let known = run.index.calls().get(call as usize);
            if let Some(known) = known.filter(|_| outcome.is_finished()) {
                let sum = sums.entry(places.of_call(known));
                let sum = sum.or_insert_with(|| HistogramSum::new(Precision::Latency));
                sum.add(entry.response());
            }
        });
        for (call, sum) in sums {
            let response = responses.entry(call).or_default();
            response.resize(part, empty.clone());
            response.push(hist::encode(&sum.hist()));
        }
    }
    let mut phases: BTreeMap<(u16, &str), AnatomySums> = BTreeMap::new();
    let anatomy = run.data.anatomy.iter();
    for ((_, call), more) in anatomy.filter(|((window, _), _)| *window == Window::Measured) {
        phases.entry(places.of_call(call)).or_default().add(more);
    }
    let named = responses.into_iter().map(|((task, call), mut response)| {
        response.resize(ranges.len(), empty.clone());
        let phases = phases.remove(&(task, call)).unwrap_or_default().phases;
        let phases = phases
            .into_iter()
            .filter(|(phase, _)| PHASES.contains(phase));
        let task = report.tasks.get(usize::from(task));
        CallParts {
            task: task.map_or_else(String::new, |task| task.name.clone()),
            call: call.to_owned(),
            response,
            phases: phases
                .map(|(phase, hist)| (phase, hist::encode(&hist)))
                .collect(),
        }
    });
    named.collect()
}

/// The ticks between warm-up and end; of a stopped run up to the last one with load.
fn measured(run: Indexed<'_>, query: &Query) -> Range<u32> {
    let plan = run.control.state.created.as_ref();
    let from = plan.map_or(0, |created| first_measured_tick(&created.plan));
    let stopped = run.control.stopped_at_us();
    let stopped = stopped.and_then(|us| u32::try_from(us.div_ceil(query.tick_us)).ok());
    // Agents may have started arrivals that were due while the stop was on its way.
    let to = stopped.map_or(u32::MAX, |tick| tick.max(run.index.end()));
    from..to.min(query.ticks.end).max(from)
}

/// Ranges of equal length, as far as ticks allow.
fn parts(ticks: Range<u32>) -> impl Iterator<Item = Range<u32>> {
    let count = u64::from(ticks.end - ticks.start);
    let parts = count.min(RUN_PARTS_MAX.into());
    let bound = move |part: u64| {
        let offset = u32::try_from(count * part / parts.max(1)).unwrap_or(u32::MAX);
        ticks.start.saturating_add(offset)
    };
    (0..parts).map(move |part| bound(part)..bound(part + 1))
}

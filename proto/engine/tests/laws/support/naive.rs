//! A second computation of the report, arrival by arrival: slow, and sharing no arithmetic with the
//! fold.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_events::answers::report::{ArrivalCounts, LostInterval, Quarantined, Report};
use loadpilot_events::id::Holder;
use loadpilot_events::log::delta::LastCall;
use loadpilot_events::log::outcome::{DropReason, Outcome};

use crate::support::history::{Act, Deed, History};

/// Compares `report` with what really happened.
///
/// # Panics
///
/// At the first figure that differs.
pub(crate) fn compare(history: &History, report: &Report) {
    let counted = |deed: &&Deed| stored(history, &deed.holder, deed.window) && !deed.excess;
    let by_arrival: BTreeMap<u64, &Deed> = history
        .deeds
        .iter()
        .filter(counted)
        .map(|deed| (deed.n, deed))
        .collect();
    let mut total = ArrivalCounts::default();
    let mut tasks = vec![ArrivalCounts::default(); history.plan.tasks.len()];
    let mut lost: BTreeMap<(Holder, u32), u64> = BTreeMap::new();
    let mut series = vec![(0, 0, 0); history.workload.ticks() as usize];
    for n in 0..history.workload.planned() {
        let tick = history.workload.tick_of(history.dues_us[n as usize]);
        let task = usize::from(history.workload.task_of(n));
        series[tick as usize].0 += 1;
        let fate = fate(history, n, tick, by_arrival.get(&n).copied());
        match &fate {
            Fate::Started => series[tick as usize].1 += 1,
            Fate::Dropped(_, true) => series[tick as usize].2 += 1,
            Fate::Lost(holder) => *lost.entry((holder.clone(), tick)).or_default() += 1,
            Fate::Dropped(_, false) => {}
        }
        for counts in [&mut total, &mut tasks[task]] {
            counts.planned += 1;
            match &fate {
                Fate::Started => counts.started += 1,
                Fate::Dropped(reason, _) => *counts.dropped.entry(*reason).or_default() += 1,
                Fate::Lost(_) => counts.lost += 1,
            }
        }
    }
    assert_eq!(report.arrivals, total, "arrivals of the run");
    let reported: Vec<&ArrivalCounts> = report.tasks.iter().map(|task| &task.arrivals).collect();
    assert_eq!(
        reported,
        tasks.iter().collect::<Vec<_>>(),
        "arrivals per task"
    );
    let ticks = report
        .series
        .iter()
        .map(|tick| (tick.planned, tick.started, tick.dropped));
    assert_eq!(ticks.collect::<Vec<_>>(), series, "arrivals per tick");
    assert_eq!(as_set(&report.gaps.lost), intervals(lost), "lost intervals");
    rates(history, report, &series);
    calls(history, report);
    assert_eq!(
        set_aside(report).collect::<Vec<_>>(),
        [] as [&Quarantined; 0],
        "an honest log has nothing to set aside"
    );
}

/// The records that a report sets aside, without the findings that every history causes: its maps
/// are not those of a coordinator, its seal names no holder, and deltas are missing.
pub(crate) fn set_aside(report: &Report) -> impl Iterator<Item = &Quarantined> {
    let all = report.gaps.quarantined.iter();
    all.filter(|one| one.subject != "ctl" && !one.reason.ends_with("are missing"))
}

/// The result of one arrival; for a drop, whether an agent reported it.
enum Fate {
    Started,
    Dropped(DropReason, bool),
    Lost(Holder),
}

fn fate(history: &History, n: u64, tick: u32, deed: Option<&Deed>) -> Fate {
    let stop_tick = history
        .stop_us
        .map(|stop_us| history.workload.tick_of(stop_us));
    let owner = history.in_force(tick).owner(n, history);
    let due_us = history.dues_us.get(n as usize).copied();
    match (deed.map(|deed| &deed.what), owner) {
        (Some(Act::Started(_)), _) => Fate::Started,
        (Some(Act::Dropped(reason)), _) => Fate::Dropped(*reason, true),
        // No process of a history publishes last words: an arrival due before the stop may have
        // been sent.
        (None, Some(holder)) if stop_tick == Some(tick) && due_us < history.stop_us => {
            Fate::Lost(holder.clone())
        }
        (None, _) if stop_tick.is_some_and(|stop| tick >= stop) => {
            Fate::Dropped(DropReason::Stopped, false)
        }
        (None, None) => Fate::Dropped(DropReason::Unowned, false),
        (None, Some(holder)) => Fate::Lost(holder.clone()),
    }
}

pub(crate) fn stored(history: &History, holder: &Holder, window: u64) -> bool {
    history.stored.contains_key(&(holder.clone(), window))
}

type Interval = (Holder, u32, u32, u64);

fn as_set(intervals: &[LostInterval]) -> BTreeSet<Interval> {
    let tuple = |i: &LostInterval| (i.holder.clone(), i.from_tick, i.to_tick, i.arrivals);
    intervals.iter().map(tuple).collect()
}

fn intervals(lost: BTreeMap<(Holder, u32), u64>) -> BTreeSet<Interval> {
    let mut found: Vec<Interval> = Vec::new();
    for ((holder, tick), count) in lost {
        match found
            .last_mut()
            .filter(|last| last.0 == holder && last.2 + 1 == tick)
        {
            Some(last) => (last.2, last.3) = (tick, last.3 + count),
            None => found.push((holder, tick, tick, count)),
        }
    }
    found.into_iter().collect()
}

fn measured(history: &History, tick: u32) -> bool {
    u64::from(tick) * history.plan.tick_us >= history.plan.warm_up_us
}

fn rates(history: &History, report: &Report, series: &[(u64, u64, u64)]) {
    let workload = &history.workload;
    let offered_us = history.stop_us.unwrap_or(workload.duration_us());
    let dues = history.dues_us.iter();
    let planned = dues
        .copied()
        .filter(|&due_us| due_us < offered_us && measured(history, workload.tick_of(due_us)))
        .count();
    let started: u64 = series
        .iter()
        .zip(0..)
        .filter(|&(_, tick)| measured(history, tick))
        .map(|(counts, _)| counts.1)
        .sum();
    assert_eq!(
        report.rates.planned, planned as u64,
        "planned in the measured time"
    );
    assert_eq!(
        report.rates.started, started,
        "started in the measured time"
    );
    let stop_tick = history.stop_us.map(|stop_us| workload.tick_of(stop_us));
    let whole = series.iter().zip(0..).filter(|&(_, tick)| {
        measured(history, tick) && stop_tick.is_none_or(|stop_tick| tick < stop_tick)
    });
    let (mut wanted, mut short) = (0, 0);
    for (counts, _) in whole {
        wanted += counts.0;
        short += counts.0 - counts.1;
    }
    let share = if wanted == 0 {
        0.0
    } else {
        short as f64 * 100.0 / wanted as f64
    };
    assert_eq!(
        report.rates.shortfall_pct, share,
        "shortfall up to the stop"
    );
}

fn calls(history: &History, report: &Report) {
    let mut outcomes: BTreeMap<Outcome, u64> = BTreeMap::new();
    let (mut responses, mut excess, mut excess_arrivals) = (Vec::new(), 0, 0);
    let (mut raised, mut more_errors, mut without_call) = (0, 0, 0);
    for deed in &history.deeds {
        let Act::Started(calls) = &deed.what else {
            continue;
        };
        let is_stored = stored(history, &deed.holder, deed.window);
        if deed.excess && is_stored {
            excess_arrivals += 1;
        }
        if let Some(last) = deed.raised
            && is_stored
            && !deed.excess
            && measured(history, deed.tick)
        {
            raised += 1;
            more_errors += u64::from(last != LastCall::Failed);
            without_call += u64::from(last == LastCall::Absent);
        }
        for call in calls
            .iter()
            .filter(|call| stored(history, &deed.holder, call.window))
        {
            if deed.excess {
                excess += 1;
                continue;
            }
            *outcomes.entry(call.outcome).or_default() += 1;
            if call.outcome.is_finished() && measured(history, deed.tick) {
                responses.push((call.response_us, call.outcome.is_error()));
            }
        }
    }
    assert_eq!(
        report.gaps.excess_calls, excess,
        "calls of superseded holders"
    );
    assert_eq!(
        report.gaps.excess_arrivals, excess_arrivals,
        "their arrivals"
    );
    assert_eq!(
        report.calls.attempted,
        outcomes.values().sum::<u64>(),
        "attempted = Σ outcomes"
    );
    assert_eq!(report.calls.outcomes, outcomes, "outcomes");
    let errors = responses.iter().filter(|(_, error)| *error).count() as u64;
    let errors = errors + more_errors;
    assert_eq!(report.errors_total, errors, "errors");
    let whole = responses.len() as u64 + without_call;
    let share = (whole > 0).then(|| errors as f64 * 100.0 / whole as f64);
    assert_eq!(report.error_rate_pct, share, "error rate");
    let total = report.task_raises.map_or(0, |raises| raises.total());
    assert_eq!(total, raised, "tasks that raised");
    percentiles(report, responses.into_iter().map(|(us, _)| us).collect());
}

/// The percentiles of the report are within a bucket of the exact percentiles.
fn percentiles(report: &Report, mut responses: Vec<u64>) {
    responses.sort_unstable();
    let Some(ladder) = &report.latency.response else {
        assert!(responses.is_empty(), "no ladder only when nothing finished");
        return;
    };
    assert_eq!(ladder.count, responses.len() as u64, "finished calls");
    let points = [
        (50.0, ladder.p50_us),
        (90.0, ladder.p90_us),
        (99.0, ladder.p99_us),
    ];
    for (percent, point_us) in points.into_iter().chain([(100.0, ladder.max_us)]) {
        let rank = (responses.len() as f64 * percent / 100.0).ceil().max(1.0) as usize;
        let exact_us = responses[rank - 1];
        let off = point_us.abs_diff(exact_us);
        assert!(
            off <= exact_us / 1_000 + 1,
            "p{percent}: {point_us} for {exact_us} µs"
        );
    }
}

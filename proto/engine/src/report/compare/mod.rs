//! A run beside earlier ones: which figures changed, and whether by more than chance.
//!
//! A change for the worse is a regression where it is larger than the threshold *and* larger than
//! the variation between the parts of the runs. Must never judge runs whose figures cannot be
//! trusted.
//!
//! - [`run_parts`]: the data of a run that a comparison needs
//! - `bootstrap`: how far figures vary by chance
//! - `interval`: the range that chance explains
//! - `explain`: which calls and phases a change comes from
//! - [`mod@versus`]: two targets of one run

mod bootstrap;
mod explain;
mod interval;
pub mod run_parts;
pub mod versus;

use std::collections::BTreeSet;

use loadpilot_events::answers::certificate::Grade;
use loadpilot_events::answers::compare::{
    Change, ComparedFigure, Comparison, ComparisonSchema, FigureChange, GroupParts, RunParts,
};
use loadpilot_events::log::ctl::Ending;
use loadpilot_events::log::hist::NotAHistogram;
use loadpilot_events::refusal::{Problem, Refusal};

use bootstrap::{Figures, PARTS_MIN, Parts, intervals};

/// Compares a run with its baseline, at least one run. `threshold_pct` is the difference in percent
/// from which on a change for the worse is a regression.
///
/// # Errors
/// Without a baseline, for a threshold below 0, and for runs whose histograms cannot be read.
pub fn compare(
    current: &RunParts,
    baseline: &[RunParts],
    threshold_pct: f64,
) -> Result<Comparison, Refusal> {
    let mut problems = Vec::new();
    if baseline.is_empty() {
        problems.push(Problem::new("baseline", "must be at least one run", 0));
    }
    if !(threshold_pct.is_finite() && threshold_pct >= 0.0) {
        let rule = "must be a number of percent, at least 0";
        problems.push(Problem::new("threshold", rule, threshold_pct));
    }
    if !problems.is_empty() {
        return Err(Refusal { problems });
    }
    let obstacles: Vec<String> = [current]
        .into_iter()
        .chain(baseline)
        .flat_map(obstacles)
        .collect();
    let mut remarks = differences(current, baseline);
    remarks.extend(tasks_gone(current, baseline));
    let mut figures = Vec::new();
    for group in &current.groups {
        let theirs: Vec<&GroupParts> = baseline
            .iter()
            .filter_map(|run| run.groups.iter().find(|one| one.task == group.task))
            .collect();
        if theirs.len() < baseline.len() {
            let task = group.task.as_deref().unwrap_or_default();
            remarks.push(format!(
                "task {task} is not in every baseline, and is not compared"
            ));
            continue;
        }
        let changes = changes(group, &theirs, threshold_pct).map_err(|error| {
            let rule = format!("must hold histograms ({error})");
            Problem::new("groups", rule, group.task.as_deref().unwrap_or("the run"))
        });
        figures.extend(changes.map_err(|problem| Refusal {
            problems: vec![problem],
        })?);
    }
    if let Some(change) = held_change(current, baseline, threshold_pct) {
        let of_the_run = figures.iter().take_while(|one| one.task.is_none());
        figures.insert(of_the_run.count(), change);
    }
    if [current].into_iter().chain(baseline).any(is_stopped) {
        // The rate of the time before a stop is not that of the whole profile.
        let rates = figures
            .iter_mut()
            .filter(|one| one.figure == ComparedFigure::AchievedRps);
        rates.for_each(|one| one.change = Change::Unjudged);
    }
    remarks.extend(without_intervals(&mut figures));
    remarks.extend(percentiles_of_few(&figures));
    if !obstacles.is_empty() {
        figures
            .iter_mut()
            .for_each(|one| one.change = Change::Unjudged);
    }
    let explained =
        explain::explanations(current, baseline, &figures).map_err(|error| Refusal {
            problems: vec![Problem::new(
                "calls",
                format!("must hold histograms ({error})"),
                "",
            )],
        })?;
    let is_worse = figures.iter().any(|one| one.change == Change::Worse);
    Ok(Comparison {
        schema: ComparisonSchema::V1,
        current: current.run.clone(),
        baseline: baseline.iter().map(|run| run.run.clone()).collect(),
        threshold_pct,
        regressed: is_worse,
        obstacles,
        remarks,
        figures,
        explained,
    })
}

/// Remarks about figures without an interval. Where no figure has an interval, the threshold alone
/// judges. Where some have one, a task without intervals has too few calls; its differences may be
/// chance and are not judged.
fn without_intervals(figures: &mut [FigureChange]) -> Vec<String> {
    if figures.iter().all(|one| one.interval.is_none()) {
        let why = "a results file, or less than 8 ticks with calls";
        return vec![format!(
            "without intervals ({why}) only the threshold judges"
        )];
    }
    let mut rare = BTreeSet::new();
    for one in figures.iter_mut().filter(|one| one.interval.is_none()) {
        let is_judged = !matches!(one.change, Change::Equal | Change::Unjudged);
        if let Some(task) = one.task.as_deref().filter(|_| is_judged) {
            rare.insert(task.to_owned());
            one.change = Change::Unjudged;
        }
    }
    let remark = |task| {
        format!("task {task} has calls in less than {PARTS_MIN} parts of a run, and is not judged")
    };
    rare.into_iter().map(remark).collect()
}

/// Remarks about percentiles that are not judged since they are of too few requests. Tasks without
/// intervals beside a run with intervals have a remark of their own.
fn percentiles_of_few(figures: &[FigureChange]) -> Vec<String> {
    let has_intervals = figures.iter().any(|one| one.interval.is_some());
    let of_few = |figure: ComparedFigure| {
        let unjudged = figures.iter().filter(|one| {
            one.figure == figure
                && one.change == Change::Unjudged
                && one.interval.is_some() == has_intervals
                && one.current.is_some()
                && one.baseline.is_some()
        });
        let names = unjudged.map(|one| match &one.task {
            Some(task) => format!("task {task}"),
            None => "the run".to_owned(),
        });
        let names: Vec<String> = names.collect();
        let (percent, least) = (figure.percent()?, requests_min(figure));
        let names = (!names.is_empty()).then(|| names.join(", "))?;
        Some(format!(
            "p{percent} of {names} is not judged: each run needs at least {least} requests"
        ))
    };
    ComparedFigure::ALL.into_iter().filter_map(of_few).collect()
}

/// Why the figures of a run cannot be judged.
pub(super) fn obstacles(run: &RunParts) -> Vec<String> {
    let mut found = Vec::new();
    if run.grade == Grade::Invalid {
        found.push(format!("the certificate of run {} is INVALID", run.run));
    }
    if !run.has_reached {
        found.push(format!("no call of run {} reached a server", run.run));
    }
    match run.ending {
        Some(Ending::Completed | Ending::Stopped) => {}
        Some(_) => found.push(format!("run {} did not end by itself", run.run)),
        None => found.push(format!("run {} is not over", run.run)),
    }
    found
}

fn is_stopped(run: &RunParts) -> bool {
    run.ending == Some(Ending::Stopped)
}

/// Remarks about tasks of the baseline that the current run does not have.
fn tasks_gone(current: &RunParts, baseline: &[RunParts]) -> Vec<String> {
    let tasks = |run: &RunParts| -> BTreeSet<String> {
        let tasks = run.groups.iter().filter_map(|group| group.task.clone());
        tasks.collect()
    };
    let theirs: BTreeSet<String> = baseline.iter().flat_map(tasks).collect();
    let ours = tasks(current);
    let gone = theirs.difference(&ours);
    gone.map(|task| format!("task {task} is not in the current run, and is not compared"))
        .collect()
}

/// How the conditions of the runs differ.
fn differences(current: &RunParts, baseline: &[RunParts]) -> Vec<String> {
    let mut remarks = Vec::new();
    for run in baseline {
        let id = &run.run;
        if run.scenario != current.scenario {
            let (ours, theirs) = (&current.scenario, &run.scenario);
            remarks.push(format!("other scenario: {ours}, and {theirs} in run {id}"));
        }
        if run.target != current.target {
            let (ours, theirs) = (&current.target, &run.target);
            remarks.push(format!("other target: {ours}, and {theirs} in run {id}"));
        } else if run.plan_hash != current.plan_hash && run.scenario == current.scenario {
            remarks.push(format!("the plan is another than that of run {id}"));
        }
    }
    for run in [current].into_iter().chain(baseline) {
        if run.grade == Grade::Degraded {
            remarks.push(format!("the certificate of run {} is DEGRADED", run.run));
        }
        if is_stopped(run) {
            remarks.push(format!("run {} was stopped; rates are not judged", run.run));
        }
    }
    remarks
}

fn changes(
    group: &GroupParts,
    baseline: &[&GroupParts],
    threshold_pct: f64,
) -> Result<Vec<FigureChange>, NotAHistogram> {
    let current = Parts::of(group)?;
    let baseline: Vec<Parts> = baseline
        .iter()
        .map(|group| Parts::of(group))
        .collect::<Result<_, _>>()?;
    let requests = baseline.iter().map(Parts::finished);
    let requests = requests.fold(current.finished(), u64::min);
    let ours = current.figures();
    let theirs: Vec<Figures> = baseline.iter().map(Parts::figures).collect();
    let theirs: Figures = std::array::from_fn(|index| {
        let values: Option<Vec<f64>> = theirs.iter().map(|figures| figures[index]).collect();
        values.map(median)
    });
    let differences: Figures = std::array::from_fn(|index| Some(ours[index]? - theirs[index]?));
    let intervals = intervals(&current, &baseline, differences);
    let mut changes = Vec::new();
    for (index, figure) in ComparedFigure::ALL.into_iter().enumerate() {
        let (baseline, current) = (theirs[index], ours[index]);
        let difference = differences[index];
        let base = baseline.filter(|&base| base != 0.0);
        let change_pct = difference.zip(base).map(|(by, base)| by / base * 100.0);
        let is_judged = figure != ComparedFigure::MaxMs;
        let interval = intervals[index].filter(|_| is_judged);
        let change = match difference.filter(|_| is_judged) {
            Some(by) => {
                let is_beyond = change_pct.is_none_or(|pct| pct.abs() > threshold_pct);
                judged(by, interval, is_beyond, figure.higher_is_better())
            }
            None => Change::Unjudged,
        };
        let is_of_few = requests < requests_min(figure);
        changes.push(FigureChange {
            task: group.task.clone(),
            figure,
            baseline,
            current,
            change_pct,
            interval,
            change: match change {
                Change::Equal => change,
                _ if is_of_few => Change::Unjudged,
                _ => change,
            },
        });
    }
    Ok(changes)
}

/// Least number of requests of each run with which a figure is judged: a percentile with fewer than
/// two beyond it is next to the maximum, whose spread no sample shows.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a few hundred"
)]
fn requests_min(figure: ComparedFigure) -> u64 {
    let percent = figure.percent();
    percent.map_or(0, |percent| (200.0 / (100.0 - percent)).ceil() as u64)
}

/// The change of the highest rate that the target held; `None` where a run has no such rate. One
/// number of each run has no spread within it: only the threshold judges.
fn held_change(
    current: &RunParts,
    baseline: &[RunParts],
    threshold_pct: f64,
) -> Option<FigureChange> {
    let ours = current.held_rps?;
    let theirs: Option<Vec<f64>> = baseline.iter().map(|run| run.held_rps).collect();
    let theirs = median(theirs?);
    let figure = ComparedFigure::HeldRps;
    let change_pct = (theirs != 0.0).then(|| (ours - theirs) / theirs * 100.0);
    let is_beyond = change_pct.is_none_or(|pct| pct.abs() > threshold_pct);
    Some(FigureChange {
        task: None,
        figure,
        baseline: Some(theirs),
        current: Some(ours),
        change_pct,
        interval: None,
        change: judged(ours - theirs, None, is_beyond, figure.higher_is_better()),
    })
}

/// The meaning of a difference. `is_beyond`: it is larger than the threshold.
pub(super) fn judged(
    by: f64,
    interval: Option<[f64; 2]>,
    is_beyond: bool,
    higher_is_better: bool,
) -> Change {
    if by == 0.0 {
        return Change::Equal;
    }
    if interval.is_some_and(|[least, most]| least <= 0.0 && most >= 0.0) {
        return Change::Noise;
    }
    match (is_beyond, (by > 0.0) == higher_is_better) {
        (false, _) => Change::Small,
        (true, true) => Change::Better,
        (true, false) => Change::Worse,
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len().is_multiple_of(2) {
        true => f64::midpoint(values[middle - 1], values[middle]),
        false => values[middle],
    }
}

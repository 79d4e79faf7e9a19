//! The verdict: thresholds against measured figures.
//!
//! A figure that was not measured does not pass, and a run without a successful request does not
//! pass even without thresholds. Must never read anything but the report and the plan.

use loadpilot_events::answers::report::{
    ArrivalCounts, Checks, HeldRate, Ladder, MetricsReport, Report, RunState, StreamReport,
    TaskReport, ThresholdResult, Verdict,
};
use loadpilot_events::log::ctl::Ending;
use loadpilot_events::log::delta::TaskRaises;
use loadpilot_events::log::outcome::DropReason;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::threshold::{Metric, Operator, Threshold};
use loadpilot_events::rules::Rules;

use crate::report::certificate::{dropped_by_generator, lost_pct};
use crate::report::figures::drops::dropped_for;
use crate::report::figures::percentiles::ms;
use crate::tally::metrics::figure;
use crate::tally::ratio::percent;

/// Share of planned arrivals, in percent, above which lost ones make the run fail.
const LOST_PCT: f64 = 1.0;

/// Why a latency was not measured.
const NO_SERVER: &str = "no call reached a server";
/// Share of planned arrivals, in percent, that may remain unstarted without a gate for them.
const SHORTFALL_PCT: f64 = 5.0;
/// Share above which the target is the reason, not a stall.
const OVERLOAD_PCT: f64 = 30.0;

/// Pass or fail of `plan`'s thresholds on a report whose figures are filled in.
#[must_use]
pub fn verdict(plan: &Plan, report: &Report) -> Verdict {
    let thresholds: Vec<ThresholdResult> = plan
        .thresholds
        .iter()
        .map(|threshold| result(threshold, report))
        .collect();
    let mut reasons = reasons(report);
    if report.run.rules >= Rules::V2 {
        reasons.extend(task_errors(plan, report));
        reasons.extend(overload(plan, report));
        reasons.extend(unchecked(plan, report));
    }
    let passed = reasons.is_empty() && thresholds.iter().all(|result| result.passed);
    Verdict {
        passed,
        thresholds,
        reasons,
    }
}

/// The figures of a part of the run that a gate names: a task, or a user type of a mix.
#[derive(Debug, Clone, Copy)]
struct Part<'a> {
    arrivals: &'a ArrivalCounts,
    errors: u64,
    finished: u64,
    unconnected: u64,
    task_raises: Option<TaskRaises>,
    response: &'a Option<Ladder>,
    streams: Option<&'a StreamReport>,
    checks: Option<Checks>,
    metrics: Option<&'a MetricsReport>,
}

impl<'a> Part<'a> {
    fn named(name: &str, report: &'a Report) -> Option<Self> {
        macro_rules! part {
            ($one:expr) => {
                Self {
                    arrivals: &$one.arrivals,
                    errors: $one.errors,
                    finished: $one.finished,
                    unconnected: $one.unconnected,
                    task_raises: $one.task_raises,
                    response: &$one.response,
                    streams: $one.streams.as_ref(),
                    checks: $one.checks,
                    metrics: $one.metrics.as_ref(),
                }
            };
        }
        let task = report.tasks.iter().find(|task| task.name == name);
        let of_type = || report.types.iter().find(|one| one.name == name);
        task.map(|task| part!(task))
            .or_else(|| of_type().map(|one| part!(one)))
    }
}

/// Fails for tasks that raised without a gate on such errors.
fn task_errors(plan: &Plan, report: &Report) -> Option<String> {
    let is_gated = |task: &TaskReport| {
        plan.thresholds.iter().any(|gate| {
            let of_errors = matches!(gate.metric, Metric::TaskErrors | Metric::ErrorRate);
            let of_type = |name: &String| {
                let one = report.types.iter().find(|one| one.name == *name);
                one.is_some_and(|one| one.tasks.contains(&task.name))
            };
            let names = |name: &String| *name == task.name || of_type(name);
            of_errors && gate.task.as_ref().is_none_or(names)
        })
    };
    let tasks = report.tasks.iter().filter(|task| !is_gated(task));
    let raised: u64 = tasks
        .filter_map(|task| task.task_raises.map(|raises| raises.total()))
        .sum();
    let s = if raised == 1 { "" } else { "s" };
    (raised > 0).then(|| {
        format!(
            "{raised} task{s} raised an error; 0 may without a gate for task_errors or error_rate"
        )
    })
}

/// Fails for an open loop that started much less than was planned, without a gate that allows it.
fn overload(plan: &Plan, report: &Report) -> Option<String> {
    let gates = plan.thresholds.iter();
    let mut gates = gates.filter(|gate| gate.metric == Metric::Shortfall);
    let is_gated = gates.any(|gate| gate.task.is_none());
    let short = report.rates.shortfall_pct;
    let is_short = report.run.users.is_none() && short > SHORTFALL_PCT;
    // A run that started nothing has other reasons, such as that no request was finished.
    let is_begun = report.arrivals.started > 0 || report.run.rules < Rules::V3;
    (is_begun && is_short && !is_gated).then(|| {
        let counts = &report.arrivals;
        let dropped = dropped_by_generator(report);
        let lost = match report.run.rules >= Rules::V4 {
            true => counts.lost,
            false => 0,
        };
        let unstarted = counts.planned.saturating_sub(counts.started);
        let of_generator = dropped + lost;
        let is_generators = of_generator > 0 && of_generator >= unstarted / 2;
        let meaning = match short > OVERLOAD_PCT {
            _ if is_generators && lost > 0 => format!(
                "the load generator dropped {dropped} and lost {lost}, which says nothing of the \
                 target"
            ),
            _ if is_generators => {
                format!("the load generator dropped {dropped}, which says nothing of the target")
            }
            true => {
                "above 30 % the target accepts no more, and the latency is that of the requests \
                 it let in"
                    .to_owned()
            }
            false => {
                "below 5 % it would be noise or short stalls; above 30 % the target accepts no more"
                    .to_owned()
            }
        };
        format!(
            "{short:.1} % of the planned arrivals were not started, more than the 5 % that are \
             allowed without a gate for shortfall: {meaning}"
        )
    })
}

/// Fails for tasks that ran and whose check was never called.
fn unchecked(plan: &Plan, report: &Report) -> Option<String> {
    let has_check = |index: usize| {
        let in_code = plan.code.as_ref().and_then(|code| code.tasks.get(index));
        let mut in_python = plan.script.iter().flat_map(|script| &script.checked);
        in_code.is_some_and(|code| code.check.is_some())
            || in_python.any(|&task| usize::from(task) == index)
    };
    let has_run = |task: &TaskReport| {
        let in_warm_up = report.warm_up.warm_up_us > 0 && task.finished == 0;
        task.arrivals.started > 0 && !in_warm_up
    };
    let tasks = report.tasks.iter().enumerate();
    let unseen =
        tasks.filter(|(index, task)| task.checks.is_none() && has_run(task) && has_check(*index));
    let names: Vec<&str> = unseen.map(|(_, task)| task.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("no answer was checked of: {}", names.join(", ")))
}

/// Whether `actual` passes `limit`; NaN never does.
#[must_use]
pub fn passes(operator: Operator, actual: Option<f64>, limit: f64) -> bool {
    actual.is_some_and(|actual| match operator {
        Operator::AtMost => actual <= limit,
        Operator::AtLeast => actual >= limit,
        Operator::Below => actual < limit,
        Operator::Above => actual > limit,
    })
}

fn reasons(report: &Report) -> Vec<String> {
    let mut reasons = Vec::new();
    match report.run.state {
        RunState::Sealed => {}
        RunState::Refused => return vec!["the run was refused".to_owned()],
        _ => reasons.push("the run is not over: its log has no seal".to_owned()),
    }
    if let Some(Ending::Abandoned | Ending::Failed | Ending::Aborted | Ending::LogFull) =
        report.run.ending
    {
        reasons.push("the run did not come to its end".to_owned());
    }
    let unanswered = report.run.unanswered.as_ref();
    reasons.extend(unanswered.map(|found| found.words(&report.target_url)));
    // The gate may hold again in what finished after the request.
    let breach = report.run.breach.as_ref();
    reasons.extend(breach.map(|breach| format!("the run was stopped early: {}", breach.words())));
    let held = report.run.held.as_ref();
    reasons.extend(held.filter(|held| held.rps.is_none()).map(no_rate_held));
    if lost_pct(report) > LOST_PCT {
        let ArrivalCounts { lost, planned, .. } = report.arrivals;
        reasons.push(match report.gaps.lost_time_pct {
            Some(share) => format!("{share:.2} % of the time of its users was not reported on"),
            None => format!("{lost} of {planned} planned arrivals were not reported"),
        });
    }
    if report.latency.response.is_none() {
        reasons.push("no request was finished outside the warm-up".to_owned());
    } else if report.latency.response_ok.is_none() {
        // Only the measured time counts: successful requests of the warm-up do not.
        reasons.push("no request was answered well".to_owned());
    }
    reasons
}

/// Why a run that holds gates found no rate at which they hold, with its newest measurement. Errors
/// may have failed the rate without a gate for them.
fn no_rate_held(held: &HeldRate) -> String {
    let gates = held.gates.join(" and ");
    let newest = held.steps.last().map(|step| format!(": {}", step.words()));
    let newest = newest.unwrap_or_default();
    format!("no rate was found at which {gates} holds{newest}")
}

fn result(threshold: &Threshold, report: &Report) -> ThresholdResult {
    let operator = threshold.operator();
    let (actual, reason) = match (&threshold.own, &threshold.task) {
        (Some(own), None) => measured_or_reason(figure(own, report.metrics.as_ref())),
        (Some(own), Some(name)) => {
            let part = Part::named(name, report);
            let figure = figure(own, part.and_then(|part| part.metrics));
            measured_or_reason(figure.map_err(|reason| format!("task {name}: {reason}")))
        }
        (None, None) => (of_run(threshold.metric, report), None),
        (None, Some(name)) => {
            let part = Part::named(name, report);
            let actual = part.and_then(|part| of_part(threshold.metric, &part, report));
            (actual, None)
        }
    };
    let (actual, reason) = match measures_no_server(threshold, report) {
        true => (None, Some(NO_SERVER.to_owned())),
        false => (actual, reason),
    };
    let actual = actual.filter(|actual| actual.is_finite());
    let unchecked = threshold.metric == Metric::Checks && actual.is_none();
    let reason = reason.or_else(|| {
        unchecked.then(|| "no check looked at an answer outside the warm-up".to_owned())
    });
    ThresholdResult {
        key: threshold.key(),
        metric: threshold.metric,
        task: threshold.task.clone(),
        operator,
        limit: threshold.limit,
        actual,
        passed: passes(operator, actual, threshold.limit),
        reason,
    }
}

/// Whether a gate is on the latency of calls that all failed to connect: such a latency says
/// nothing about a server.
fn measures_no_server(threshold: &Threshold, report: &Report) -> bool {
    let (response, unconnected) = match &threshold.task {
        None => (&report.latency.response, report.latency.unconnected),
        Some(name) => match Part::named(name, report) {
            Some(part) => (part.response, part.unconnected),
            None => return false,
        },
    };
    let Some(ladder) = response.as_ref().filter(|_| threshold.own.is_none()) else {
        return false;
    };
    of_ladder(threshold.metric, ladder).is_some() && unconnected >= ladder.count
}

/// The measured figure, or why there is none.
fn measured_or_reason(figure: Result<f64, String>) -> (Option<f64>, Option<String>) {
    match figure {
        Ok(actual) => (Some(actual), None),
        Err(reason) => (None, Some(reason)),
    }
}

/// Number of arrivals that raised; unknown when none was started, and by rules that do not count
/// them.
#[expect(clippy::cast_precision_loss, reason = "compared with a limit")]
fn raised(report: &Report, of: &ArrivalCounts, raises: Option<TaskRaises>) -> Option<f64> {
    let is_counted = report.run.rules >= Rules::V2 && of.started > 0;
    is_counted.then(|| raises.map_or(0.0, |raises| raises.total() as f64))
}

/// Passed checks, in percent of all checks.
fn of_checks(checks: Option<Checks>) -> Option<f64> {
    let Checks { passed, failed } = checks?;
    Some(percent(passed, passed + failed))
}

fn of_run(metric: Metric, report: &Report) -> Option<f64> {
    match metric {
        _ if has_no_meaning(metric, report) => None,
        Metric::ErrorRate => report.error_rate_pct,
        Metric::TaskErrors => raised(report, &report.arrivals, report.task_raises),
        Metric::DroppedRate => dropped_rate(&report.arrivals),
        Metric::Shortfall => (report.rates.planned > 0).then_some(report.rates.shortfall_pct),
        Metric::AchievedRps => Some(report.rates.achieved_rps),
        Metric::Checks => of_checks(report.checks),
        _ if is_of_streams(metric) => of_streams(metric, report.streams.as_ref()?),
        _ => of_ladder(metric, report.latency.response.as_ref()?),
    }
}

/// The checker rejects such a gate; if one is in a log, it does not pass.
fn has_no_meaning(metric: Metric, report: &Report) -> bool {
    report.run.users.is_some() && metric.needs_schedule()
}

fn of_part(metric: Metric, task: &Part<'_>, report: &Report) -> Option<f64> {
    match metric {
        _ if has_no_meaning(metric, report) => None,
        Metric::TaskErrors => raised(report, task.arrivals, task.task_raises),
        Metric::ErrorRate => (task.finished > 0).then(|| percent(task.errors, task.finished)),
        Metric::DroppedRate => dropped_rate(task.arrivals),
        Metric::Shortfall => {
            let wanted = wanted(task.arrivals);
            let short = wanted.saturating_sub(task.arrivals.started);
            (wanted > 0).then(|| percent(short, wanted))
        }
        Metric::AchievedRps => {
            let seconds = report.duration_secs;
            #[expect(clippy::cast_precision_loss, reason = "compared with a limit")]
            let started = task.arrivals.started as f64;
            (seconds > 0.0).then(|| started / seconds)
        }
        Metric::Checks => of_checks(task.checks),
        _ if is_of_streams(metric) => of_streams(metric, task.streams?),
        _ => of_ladder(metric, task.response.as_ref()?),
    }
}

fn is_of_streams(metric: Metric) -> bool {
    of_first_token(metric).or(of_token_gap(metric)).is_some()
}

fn of_first_token(metric: Metric) -> Option<Metric> {
    Some(match metric {
        Metric::P50FirstTokenMs => Metric::P50Ms,
        Metric::P95FirstTokenMs => Metric::P95Ms,
        Metric::P99FirstTokenMs => Metric::P99Ms,
        _ => return None,
    })
}

fn of_token_gap(metric: Metric) -> Option<Metric> {
    Some(match metric {
        Metric::P50TokenGapMs => Metric::P50Ms,
        Metric::P95TokenGapMs => Metric::P95Ms,
        Metric::P99TokenGapMs => Metric::P99Ms,
        _ => return None,
    })
}

fn of_streams(metric: Metric, streams: &StreamReport) -> Option<f64> {
    match of_first_token(metric) {
        Some(rung) => of_ladder(rung, streams.first_token.as_ref()?),
        None => of_ladder(of_token_gap(metric)?, streams.token_gap.as_ref()?),
    }
}

fn of_ladder(metric: Metric, ladder: &Ladder) -> Option<f64> {
    Some(match metric {
        Metric::P50Ms => ms(ladder.p50_us),
        Metric::P75Ms => ms(ladder.p75_us),
        Metric::P90Ms => ms(ladder.p90_us),
        Metric::P95Ms => ms(ladder.p95_us),
        Metric::P99Ms => ms(ladder.p99_us),
        Metric::P999Ms => ms(ladder.p99_9_us),
        Metric::P9999Ms => ms(ladder.p99_99_us),
        Metric::MaxMs => ms(ladder.max_us),
        Metric::MeanMs => ladder.mean_us / 1e3,
        _ => return None,
    })
}

/// Planned arrivals without those that users called off.
fn wanted(arrivals: &ArrivalCounts) -> u64 {
    let called_off =
        dropped_for(arrivals, DropReason::Stopped) + dropped_for(arrivals, DropReason::Paused);
    arrivals.planned.saturating_sub(called_off)
}

/// Dropped and lost arrivals in percent of the planned ones that users did not call off.
fn dropped_rate(arrivals: &ArrivalCounts) -> Option<f64> {
    let wanted = wanted(arrivals);
    let called_off = arrivals.planned - wanted;
    let dropped = arrivals.dropped_total().saturating_sub(called_off) + arrivals.lost;
    (wanted > 0).then(|| percent(dropped, wanted))
}

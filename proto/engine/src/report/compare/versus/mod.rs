//! Two targets under the same load at the same time: how they differ, and whether by more than
//! chance.
//!
//! Both halves of a pair meet the same machine in the same state, so that a disturbance of the run
//! affects both alike; only the difference within a part of the run counts. Must never judge a run
//! whose figures cannot be trusted.
//!
//! - `bootstrap`: how far a difference varies by chance

mod bootstrap;

use loadpilot_events::answers::certificate::Grade;
use loadpilot_events::answers::compare::versus::{
    SideDifference, Versus, VersusFigure, VersusSchema, VersusSide,
};
use loadpilot_events::answers::compare::{Change, GroupParts, RunParts};
use loadpilot_events::answers::report::{Report, UserTypeReport};
use loadpilot_events::log::ctl::Ending;
use loadpilot_events::log::hist::NotAHistogram;
use loadpilot_events::log::outcome::DropReason;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::user_types::TYPE_SEPARATOR;
use loadpilot_events::refusal::{Problem, Refusal};

use crate::fold::project::Window;
use crate::report::compare::run_parts::{group_of, parts_of_report};
use crate::report::compare::{judged, obstacles};
use crate::report::slice::{CallPlaces, Indexed};
use crate::schedule::user_types::pairs::SIDES;
use crate::tally::ratio::percent;

pub use bootstrap::{PARTS_MIN, PairedParts};

/// Maximum number of tasks that are compared one by one.
const TASKS_COMPARED_MAX: usize = 20;

/// Compares the two targets of a run whose report is `report`. Differences up to `threshold_pct`
/// percent count as none.
///
/// # Errors
/// For a run that does not compare two targets, and for a threshold below 0.
pub fn versus(run: Indexed<'_>, report: &Report, threshold_pct: f64) -> Result<Versus, Refusal> {
    let created = run.control.state.created.as_deref();
    let created = created.filter(|created| created.plan.paired);
    let ([first, second], Some(created)) = (report.types.as_slice(), created) else {
        let rule = "must be a run that compares two targets (loadpilot versus)";
        return Err(refusal(Problem::new("run", rule, &report.run.id)));
    };
    if !(threshold_pct.is_finite() && threshold_pct >= 0.0) {
        let rule = "must be a number of percent, at least 0";
        return Err(refusal(Problem::new("threshold", rule, threshold_pct)));
    }
    let is_closed = created.plan.users.is_some();
    let groups = [first, second].map(|side| group(run, report, side.tasks.clone()));
    let [Ok(ours), Ok(theirs)] = groups else {
        let problems = groups.into_iter().filter_map(Result::err);
        let problems = problems.flat_map(|refusal| refusal.problems).collect();
        return Err(Refusal { problems });
    };
    let parts = paired_parts(&ours, &theirs)?;
    let mut figures = differences(None, &parts, is_closed, threshold_pct);
    if (2..=TASKS_COMPARED_MAX).contains(&first.tasks.len()) {
        for (one, other) in first.tasks.iter().zip(&second.tasks) {
            let name = own_name(one);
            let [one, other] = [one, other].map(|task| group(run, report, vec![task.clone()]));
            let of_task = paired_parts(&one?, &other?)?;
            figures.extend(differences(Some(name), &of_task, is_closed, threshold_pct));
        }
    }
    let obstacles = obstacles_of(report, [first, second], &parts);
    if !obstacles.is_empty() {
        let changes = figures.iter_mut().map(|one| &mut one.change);
        changes.for_each(|change| *change = Change::Unjudged);
    }
    let bytes = bytes_of(run, &created.plan);
    let mut targets = created.plan.targets();
    let [ours, theirs] = parts.figures();
    let sides = [(first, bytes[0], ours), (second, bytes[1], theirs)];
    let sides = sides.map(|(side, bytes, figures)| {
        let rate = figures.into_iter().zip(VersusFigure::ALL);
        let mut rate = rate.filter(|(_, figure)| *figure == VersusFigure::AchievedRps);
        let achieved_rps = rate.next().and_then(|(rate, _)| rate);
        let target = targets.next().unwrap_or_default();
        side_of(side, target, bytes, achieved_rps.unwrap_or(0.0))
    });
    Ok(Versus {
        schema: VersusSchema::V1,
        run: report.run.id.clone(),
        scenario: report.scenario.clone(),
        seed: created.seed,
        grade: report.certificate.grade,
        parts: parts.count(),
        threshold_pct,
        remarks: remarks(report),
        sides,
        second_slower_pct: parts.second_slower_pct(),
        is_worse: figures.iter().any(|one| one.change == Change::Worse),
        figures,
        obstacles,
    })
}

/// The differences of all figures. On schedule the rate is the same on both sides, and left out.
#[must_use]
pub fn differences(
    task: Option<&str>,
    parts: &PairedParts,
    is_closed: bool,
    threshold_pct: f64,
) -> Vec<SideDifference> {
    let spreads = parts.spreads();
    let [ours, theirs] = parts.figures();
    let figures = VersusFigure::ALL.into_iter().enumerate();
    let figures = figures.filter(|(_, figure)| is_closed || *figure != VersusFigure::AchievedRps);
    let difference = |(index, figure): (usize, VersusFigure)| {
        let (first, second): (Option<f64>, Option<f64>) = (ours[index], theirs[index]);
        let difference = second.zip(first).map(|(second, first)| second - first);
        let base = first.filter(|&first| first != 0.0);
        let change_pct = difference.zip(base).map(|(by, base)| by / base * 100.0);
        let interval = spreads[index].difference.filter(|_| difference.is_some());
        let is_beyond = change_pct.is_none_or(|pct| pct.abs() > threshold_pct);
        let change = match difference.filter(|_| interval.is_some()) {
            Some(by) => judged(by, interval, is_beyond, figure == VersusFigure::AchievedRps),
            None => Change::Unjudged,
        };
        SideDifference {
            task: task.map(str::to_owned),
            figure,
            first,
            second,
            difference,
            interval,
            change_pct,
            interval_pct: spreads[index].percent.filter(|_| change_pct.is_some()),
            change,
        }
    };
    figures.map(difference).collect()
}

/// The parts of some tasks.
fn group(run: Indexed<'_>, report: &Report, tasks: Vec<String>) -> Result<GroupParts, Refusal> {
    group_of(run, Some(tasks), report.rates.measured_us)
}

fn paired_parts(first: &GroupParts, second: &GroupParts) -> Result<PairedParts, Refusal> {
    PairedParts::of(first, second).map_err(|error: NotAHistogram| {
        let rule = format!("must hold histograms ({error})");
        refusal(Problem::new("run", rule, "its deltas"))
    })
}

/// Why the targets cannot be compared.
fn obstacles_of(
    report: &Report,
    sides: [&UserTypeReport; SIDES],
    parts: &PairedParts,
) -> Vec<String> {
    let of_run: RunParts = parts_of_report(report);
    let mut found = obstacles(&of_run);
    let unreached = sides
        .into_iter()
        .filter(|side| side.unconnected >= side.finished);
    found.extend(unreached.map(|side| format!("no request to {} reached a server", side.name)));
    if found.is_empty() && !parts.has_spread() {
        let seconds = PARTS_MIN as u64 * report.run.tick_us / 1_000_000;
        found.push(format!(
            "a difference is told from chance when at least {seconds} s of the run, after the \
             warm-up, have requests to both targets"
        ));
    }
    found
}

/// Remarks that limit what the figures show.
fn remarks(report: &Report) -> Vec<String> {
    let mut remarks = Vec::new();
    if report.certificate.grade == Grade::Degraded {
        remarks.push("the certificate of the run is DEGRADED".to_owned());
    }
    if report.run.ending == Some(Ending::Stopped) {
        remarks.push("the run was stopped".to_owned());
    }
    let dropped = &report.arrivals.dropped;
    let waited = [DropReason::NoSlot, DropReason::NoUser];
    let waited = waited.iter().filter_map(|reason| dropped.get(reason));
    let waited: u64 = waited.sum();
    if waited > 0 {
        remarks.push(format!(
            "{waited} arrivals found no free slot or user of the agents, which both targets share: \
             a target that holds many of them delays the requests to the other"
        ));
    }
    remarks
}

/// Bytes sent and received by finished calls of the measured time, of each side.
fn bytes_of(run: Indexed<'_>, plan: &Plan) -> [(u64, u64); SIDES] {
    let places = CallPlaces::of(Some(plan));
    let mut bytes = [(0_u64, 0_u64); SIDES];
    let calls = run.data.calls.iter();
    let measured = calls
        .filter(|((window, _, outcome), _)| *window == Window::Measured && outcome.is_finished());
    for ((_, call, _), sums) in measured {
        let (task, _) = places.of_call(call);
        let side = usize::from(plan.second_from().is_some_and(|second| task >= second));
        let (sent, received) = &mut bytes[side];
        *sent = sent.saturating_add(sums.sent_bytes);
        *received = received.saturating_add(sums.received_bytes);
    }
    bytes
}

fn side_of(
    side: &UserTypeReport,
    target: &str,
    (sent_bytes, received_bytes): (u64, u64),
    achieved_rps: f64,
) -> VersusSide {
    VersusSide {
        name: side.name.clone(),
        target: target.to_owned(),
        users: side.users,
        achieved_rps,
        arrivals: side.arrivals.clone(),
        finished: side.finished,
        errors: side.errors,
        error_rate_pct: percent(side.errors, side.finished),
        response: side.response.clone(),
        sent_bytes,
        received_bytes,
    }
}

/// The name of a task without that of its side.
fn own_name(task: &str) -> &str {
    task.split_once(TYPE_SEPARATOR).map_or(task, |(_, own)| own)
}

fn refusal(problem: Problem) -> Refusal {
    Refusal {
        problems: vec![problem],
    }
}

//! The certificate: whether the figures describe the target or the load generator, with the
//! evidence.
//!
//! Must never read anything but the report.

use loadpilot_events::answers::report::{
    Certificate, FeedFacts, Finding, FindingKind, Grade, Report, RunState,
};
use loadpilot_events::log::ctl::Ending;
use loadpilot_events::log::outcome::{DropReason, Outcome};
use loadpilot_events::rules::Rules;

use crate::tally::ratio::percent;

/// Schedule lag p99 above which it degrades: more than this number of µs and than this percentage
/// of the response p99.
const LAG_DEGRADED: (u64, u64) = (10_000, 10);
/// Schedule lag p99 above which it invalidates, in the same units.
const LAG_INVALID: (u64, u64) = (100_000, 50);
/// Shares of planned arrivals, in percent, above which generator drops degrade and invalidate.
const DROPS_PCT: (f64, f64) = (0.1, 1.0);
/// Share of planned arrivals (closed loop: of the time of users), in percent, above which lost or
/// excess ones invalidate.
const LOST_INVALID_PCT: f64 = 1.0;
/// Surplus over the possible number, in percent, above which it invalidates.
const SURPLUS_INVALID_PCT: f64 = 1.0;
/// Share of deltas with a busy firing thread, in percent, from which it degrades.
const BUSY_DELTAS_PCT: f64 = 5.0;
/// Clock bound in µs above which it degrades.
const CLOCK_BOUND_US: u64 = 50_000;
/// Share of attempted calls without an end of their own, in percent, above which it degrades.
const UNCOVERED_PCT: f64 = 1.0;

/// The certificate of a report whose figures are filled in.
#[must_use]
pub fn certificate(report: &Report) -> Certificate {
    let checks = [
        unfinished(report),
        nothing_started(report),
        schedule_lag(report),
        generator_drops(report),
        agent_cpu(report),
        lost(report),
        excess(report),
        local_resources(report),
        clock_bound(report),
        coverage(report),
        quarantined(report),
        feeder_wrap_around(report),
    ];
    let findings: Vec<Finding> = checks.into_iter().flatten().collect();
    let worst = findings.iter().map(|finding| finding.grade).max();
    Certificate {
        grade: worst.unwrap_or(Grade::Valid),
        findings,
    }
}

/// The unreported part, in percent: of the planned arrivals, or, in a closed loop, of the time of
/// its users.
#[must_use]
pub fn lost_pct(report: &Report) -> f64 {
    let arrivals = &report.arrivals;
    let of_time = report.gaps.lost_time_pct;
    of_time.unwrap_or_else(|| percent(arrivals.lost, arrivals.planned))
}

fn finding(kind: FindingKind, grade: Grade, evidence: String) -> Option<Finding> {
    Some(Finding {
        kind,
        grade,
        evidence,
    })
}

fn unfinished(report: &Report) -> Option<Finding> {
    let evidence = match (report.run.state, report.run.ending) {
        (RunState::Sealed, Some(Ending::Completed | Ending::Stopped)) => return None,
        (RunState::Sealed, Some(Ending::Abandoned)) => "its owner or all its agents were gone",
        (RunState::Sealed, Some(Ending::Failed)) => "it never started",
        (RunState::Sealed, Some(Ending::Aborted)) => "it was found unfinished and sealed later",
        (RunState::Sealed, Some(Ending::LogFull)) => "the log had no room left",
        (RunState::Refused, _) => "it was refused",
        _ => "its log has no seal",
    };
    finding(FindingKind::Unfinished, Grade::Invalid, evidence.to_owned())
}

fn nothing_started(report: &Report) -> Option<Finding> {
    let wanted = report.arrivals.planned > 0 || is_closed_loop(report);
    let nothing = wanted && report.arrivals.started == 0;
    let evidence = || match report.arrivals.planned {
        0 => "nothing was started".to_owned(),
        planned => format!("0 of {planned} planned arrivals were started"),
    };
    nothing
        .then(|| finding(FindingKind::Coverage, Grade::Invalid, evidence()))
        .flatten()
}

/// In a closed loop a busy generator shows as a lower rate: there is no schedule to fall behind.
fn is_closed_loop(report: &Report) -> bool {
    report.run.users.is_some()
}

fn schedule_lag(report: &Report) -> Option<Finding> {
    let is_closed = is_closed_loop(report);
    if is_closed && report.run.rules < Rules::V4 {
        return None;
    }
    let lag_us = report.generator.schedule_lag.as_ref()?.p99_us;
    let response_us = report
        .latency
        .response
        .as_ref()
        .map_or(0, |ladder| ladder.p99_us);
    let limit = |(floor_us, share): (u64, u64)| floor_us.max(response_us * share / 100);
    let (degraded_us, invalid_us) = (limit(LAG_DEGRADED), limit(LAG_INVALID));
    let (grade, limit_us) = match lag_us {
        lag if lag > invalid_us && !is_closed => (Grade::Invalid, invalid_us),
        lag if lag > degraded_us => (Grade::Degraded, degraded_us),
        _ => return None,
    };
    let mut evidence = format!("schedule lag p99 {lag_us} µs, limit {limit_us} µs");
    if is_closed {
        evidence.push_str("; the rate is that of the users, and their latency includes the lag");
    }
    finding(FindingKind::ScheduleLag, grade, evidence)
}

/// Number of arrivals that the load generator dropped for reasons of its own.
pub(crate) fn dropped_by_generator(report: &Report) -> u64 {
    // Without a limit in the plan it was the generator that had no free slot.
    let run = &report.run;
    let no_limit = run.max_in_flight.is_none() && run.connections.max.is_none();
    let at_fault = |reason: DropReason| {
        reason.is_generators_fault() || (no_limit && reason == DropReason::NoSlot)
    };
    let dropped = report.arrivals.dropped.iter();
    let dropped = dropped.filter(|&(&reason, _)| at_fault(reason));
    dropped.map(|(_, count)| count).sum()
}

fn generator_drops(report: &Report) -> Option<Finding> {
    if is_closed_loop(report) {
        return None;
    }
    let drops = dropped_by_generator(report);
    let share = percent(drops, report.arrivals.planned);
    let grade = match share {
        share if share > DROPS_PCT.1 => Grade::Invalid,
        share if share > DROPS_PCT.0 => Grade::Degraded,
        _ => return None,
    };
    let planned = report.arrivals.planned;
    let evidence =
        format!("the generator dropped {drops} of {planned} planned arrivals ({share:.2} %)");
    finding(FindingKind::GeneratorDrops, grade, evidence)
}

fn agent_cpu(report: &Report) -> Option<Finding> {
    let share = report.generator.busy_deltas_pct;
    if share < BUSY_DELTAS_PCT || is_closed_loop(report) {
        return None;
    }
    let evidence =
        format!("a firing thread used more than 90 % of its core in {share:.0} % of ticks");
    finding(FindingKind::AgentCpu, Grade::Degraded, evidence)
}

fn lost(report: &Report) -> Option<Finding> {
    if report.arrivals.lost == 0 && report.gaps.lost.is_empty() {
        return None;
    }
    let share = lost_pct(report);
    let grade = if share > LOST_INVALID_PCT {
        Grade::Invalid
    } else {
        Grade::Degraded
    };
    let who = report
        .gaps
        .lost
        .first()
        .map_or_else(String::new, |interval| {
            let (from, to) = (interval.from_tick, interval.to_tick);
            format!(", first by {} in ticks {from}–{to}", interval.holder.agent)
        });
    let (lost, planned) = (report.arrivals.lost, report.arrivals.planned);
    let evidence = match report.gaps.lost_time_pct {
        Some(share) => format!("{share:.2} % of the time of its users was not reported on{who}"),
        None => format!("{lost} of {planned} planned arrivals were not reported{who}"),
    };
    finding(FindingKind::LostInterval, grade, evidence)
}

fn excess(report: &Report) -> Option<Finding> {
    let excess = report.gaps.excess_arrivals;
    if excess == 0 {
        return None;
    }
    let share = percent(excess, report.arrivals.planned);
    let grade = if share > LOST_INVALID_PCT {
        Grade::Invalid
    } else {
        Grade::Degraded
    };
    let evidence = format!("{excess} arrivals were offered by agents that had been superseded");
    finding(FindingKind::Excess, grade, evidence)
}

fn local_resources(report: &Report) -> Option<Finding> {
    let local = report
        .calls
        .outcomes
        .get(&Outcome::Local)
        .copied()
        .unwrap_or(0);
    let evidence = || format!("{local} calls failed for want of ports, file descriptors or memory");
    let lacked = local > 0;
    lacked
        .then(|| finding(FindingKind::LocalResources, Grade::Degraded, evidence()))
        .flatten()
}

fn clock_bound(report: &Report) -> Option<Finding> {
    let bounds = report
        .run
        .holders
        .iter()
        .filter_map(|holder| holder.clock_bound_us);
    let worst_us = bounds.max().filter(|&bound_us| bound_us > CLOCK_BOUND_US)?;
    let evidence = format!("a clock is known to ±{worst_us} µs only, limit {CLOCK_BOUND_US} µs");
    finding(FindingKind::ClockBound, Grade::Degraded, evidence)
}

fn coverage(report: &Report) -> Option<Finding> {
    let outcomes = &report.calls.outcomes;
    let uncovered: u64 = outcomes
        .iter()
        .filter(|(outcome, _)| !outcome.is_finished())
        .map(|(_, n)| n)
        .sum();
    let share = percent(uncovered, report.calls.attempted);
    if share <= UNCOVERED_PCT {
        return None;
    }
    let attempted = report.calls.attempted;
    let evidence = format!("{uncovered} of {attempted} calls have no end of their own");
    finding(FindingKind::Coverage, Grade::Degraded, evidence)
}

fn quarantined(report: &Report) -> Option<Finding> {
    let first = report.gaps.quarantined.first()?;
    let count = report.gaps.quarantined.len();
    let evidence = format!("{count} records were set aside, first: {}", first.reason);
    let Some(share) = report.gaps.surplus_pct else {
        return finding(FindingKind::Quarantined, Grade::Degraded, evidence);
    };
    let grade = if share > SURPLUS_INVALID_PCT {
        Grade::Invalid
    } else {
        Grade::Degraded
    };
    let evidence = format!("{share:.2} % more is reported than can have been; {evidence}");
    finding(FindingKind::Quarantined, grade, evidence)
}

fn feeder_wrap_around(report: &Report) -> Option<Finding> {
    let is_short = |feed: &&FeedFacts| !feed.cycles && !feed.unique && feed.taken > feed.rows;
    let feed = report.run.feeds.iter().find(is_short)?;
    let FeedFacts {
        name, rows, taken, ..
    } = feed;
    let evidence = format!("{name} has {rows} rows and {taken} were taken: they were used again");
    finding(FindingKind::FeederWrapAround, Grade::Degraded, evidence)
}

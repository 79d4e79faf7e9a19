//! The verdict on the rate of a run, and the tags by which the run belongs to a search.

use loadpilot_events::answers::certificate::{FindingKind, Grade};
use loadpilot_events::answers::compare::search::{
    LoadLimit, Probe, ProbeOfSearch, ProbeVerdict, SearchSettings,
};
use loadpilot_events::answers::report::{Report, RunState, ThresholdResult};
use loadpilot_events::log::ctl::Ending;
use loadpilot_events::plan::threshold::Metric;
use loadpilot_events::refusal::{Problem, Refusal};
use loadpilot_events::units::Rate;

use crate::report::certificate::dropped_by_generator;
use crate::tally::ratio::percent;

/// Name of the tag with the id of the search.
pub const SEARCH_TAG: &str = "search";
/// Name of the tag with the settings of the search.
pub const SETTINGS_TAG: &str = "search-settings";
/// Share of planned arrivals, in percent, from which on those that the load generator dropped for
/// reasons of its own make it the limit.
const GENERATOR_DROPS_PCT: f64 = 1.0;

/// Minimum number of finished calls of a probe that passes: with fewer, most percentiles are the
/// longest call. Fewer calls are no failure of the target, either.
const CALLS_MIN: u64 = 10;

/// The settings as the value of a tag.
#[must_use]
pub fn settings_text(settings: &SearchSettings) -> String {
    let SearchSettings {
        start_urps,
        limit_urps,
        precision_ppm,
        confirm,
    } = settings;
    let (start, limit) = (start_urps.0, limit_urps.0);
    format!("start_urps={start} limit_urps={limit} precision_ppm={precision_ppm} confirm={confirm}")
}

/// Reads the settings in the value of a tag; `None` for another text.
#[must_use]
pub fn parse_settings(text: &str) -> Option<SearchSettings> {
    let mut words = text.split(' ');
    let mut number = |name: &str| -> Option<u64> {
        let value = words.next()?.strip_prefix(name)?.strip_prefix('=')?;
        value.parse().ok()
    };
    let settings = SearchSettings {
        start_urps: Rate(number("start_urps")?),
        limit_urps: Rate(number("limit_urps")?),
        precision_ppm: number("precision_ppm")?.try_into().ok()?,
        confirm: number("confirm")?.try_into().ok()?,
    };
    words.next().is_none().then_some(settings)
}

/// Reads the probe that a run is.
///
/// # Errors
/// For a run that belongs to no search.
pub fn probe_of_search(report: &Report) -> Result<ProbeOfSearch, Refusal> {
    let tags = &report.run.tags;
    let settings = tags.get(SETTINGS_TAG).and_then(|text| parse_settings(text));
    let (Some(id), Some(settings)) = (tags.get(SEARCH_TAG), settings) else {
        let rule = "must be a probe of a search (loadpilot search)";
        return Err(Refusal {
            problems: vec![Problem::new("run", rule, &report.run.id)],
        });
    };
    Ok(ProbeOfSearch {
        id: id.clone(),
        scenario: report.scenario.clone(),
        target_url: report.target_url.clone(),
        settings,
        plan_hash: report.run.plan_hash.clone(),
        probe: probe(report),
    })
}

/// Judges a run with a constant rate.
#[must_use]
pub fn probe(report: &Report) -> Probe {
    let (verdict, reasons) = judge(report);
    let limited_by = (verdict == ProbeVerdict::Failed).then(|| limit(report));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a planned rate has a limit far below the integers of a double"
    )]
    let rate_urps = Rate((report.rps_target * 1e6).round() as u64);
    Probe {
        run: report.run.id.clone(),
        rate_urps,
        verdict,
        reasons,
        limited_by,
        achieved_rps: report.rates.achieved_rps,
        p50_ms: report.p50_ms,
        p95_ms: report.p95_ms,
        p99_ms: report.p99_ms,
        error_rate_pct: report.error_rate_pct,
        grade: report.certificate.grade,
        gates: report.verdict.thresholds.clone(),
    }
}

fn judge(report: &Report) -> (ProbeVerdict, Vec<String>) {
    let run = &report.run;
    if let Some(unanswered) = &run.unanswered {
        return (
            ProbeVerdict::NoServer,
            vec![unanswered.words(&report.target_url)],
        );
    }
    if let Some(reason) = unjudged(report) {
        return (ProbeVerdict::Unjudged, vec![reason]);
    }
    let finished = report.latency.response.as_ref().map_or(0, |one| one.count);
    if finished > 0 && report.latency.unconnected >= finished {
        let reason = format!("no call reached {}", report.target_url);
        return (ProbeVerdict::NoServer, vec![reason]);
    }
    let failed = report.verdict.thresholds.iter().filter(|one| !one.passed);
    let mut reasons: Vec<String> = failed.map(gate_text).collect();
    reasons.extend(report.verdict.reasons.iter().cloned());
    if report.certificate.grade == Grade::Invalid {
        let findings = report.certificate.findings.iter();
        let invalid = findings.filter(|finding| finding.grade == Grade::Invalid);
        reasons.extend(invalid.map(|finding| format!("certificate INVALID: {}", finding.evidence)));
    }
    let has_failed = !report.verdict.passed || !reasons.is_empty();
    if finished < CALLS_MIN {
        reasons.push(format!(
            "{finished} calls are too few to judge a rate, {CALLS_MIN} are needed: probe longer, \
             or start higher"
        ));
    }
    let verdict = match (has_failed, reasons.is_empty()) {
        (true, _) => ProbeVerdict::Failed,
        (false, true) => ProbeVerdict::Passed,
        (false, false) => ProbeVerdict::Unjudged,
    };
    (verdict, reasons)
}

/// Why the run cannot be judged.
fn unjudged(report: &Report) -> Option<String> {
    let run = &report.run;
    match (run.state, run.ending) {
        (RunState::Sealed, Some(Ending::Completed)) => {}
        (RunState::Sealed, Some(Ending::Stopped)) if run.breach.is_some() => {}
        (RunState::Sealed, Some(Ending::Stopped)) => return Some("it was stopped".to_owned()),
        (RunState::Refused, _) => return Some("it was refused".to_owned()),
        _ => return Some("it did not come to its end".to_owned()),
    }
    let is_steered = !run.steered.is_empty();
    is_steered.then(|| "its rate was changed while it ran".to_owned())
}

/// A gate that failed, as text for people.
fn gate_text(gate: &ThresholdResult) -> String {
    let ThresholdResult { key, limit, .. } = gate;
    let operator = gate.operator;
    match (gate.actual, &gate.reason) {
        (Some(actual), _) => format!("{key} {actual:.1}, must be {operator} {limit}"),
        (None, Some(reason)) => format!("{key} not measured: {reason}"),
        (None, None) => format!("{key} not measured, must be {operator} {limit}"),
    }
}

/// The limit that a failed run reached.
///
/// Where arrivals found no free slot, the target holds the slots if it was too slow or failed; else
/// the load generator has too few.
fn limit(report: &Report) -> LoadLimit {
    let dropped = report.arrivals.dropped.iter();
    let own = dropped.filter(|(reason, _)| reason.is_generators_fault());
    let own: u64 = own.map(|(_, count)| *count).sum();
    let is_much = |drops: u64| percent(drops, report.arrivals.planned) > GENERATOR_DROPS_PCT;
    let mut findings = report.certificate.findings.iter();
    let is_short = findings.any(|finding| match finding.kind {
        FindingKind::AgentCpu | FindingKind::LocalResources => true,
        FindingKind::ScheduleLag | FindingKind::LostInterval => finding.grade == Grade::Invalid,
        _ => false,
    });
    let mut gates = report.verdict.thresholds.iter();
    let is_targets = gates.any(|gate| !gate.passed && !is_of_offer(gate.metric));
    let has_too_few_slots = !is_targets && is_much(dropped_by_generator(report));
    if is_short || is_much(own) || has_too_few_slots {
        LoadLimit::Generator
    } else {
        LoadLimit::Target
    }
}

/// Whether a metric is about the arrivals that were offered, and not about their results.
fn is_of_offer(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::Shortfall | Metric::DroppedRate | Metric::AchievedRps
    )
}

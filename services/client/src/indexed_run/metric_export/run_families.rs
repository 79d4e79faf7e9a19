//! The families of a run in base units.

use loadpilot_engine::report::cumulative::gauges::AgentGauges;
use loadpilot_engine::report::cumulative::{Cumulative, TaskTotals};
use loadpilot_events::answers::report::{Finding, FindingKind, Grade, RunState, ThresholdResult};
use loadpilot_events::units::Timestamp;

use super::families::{Family, Figures, Judged, Labels, Points, Unit, choice, count, seconds};
use super::legacy_families;

/// Maximum number of characters of an event's description.
const DETAIL_CHARS_MAX: usize = 200;
/// Labels of a call.
const CALL: &[&str] = &["task", "call"];
/// Labels of a call with its outcome.
const CALL_OUTCOME: &[&str] = &["task", "call", "outcome"];
/// States of a run in the order in which they follow each other.
const STATES: [(RunState, &str); 8] = [
    (RunState::Requested, "requested"),
    (RunState::Refused, "refused"),
    (RunState::Waiting, "waiting"),
    (RunState::Gathering, "gathering"),
    (RunState::Preparing, "preparing"),
    (RunState::Running, "running"),
    (RunState::Stopping, "stopping"),
    (RunState::Sealed, "sealed"),
];
/// Certificates.
const GRADES: [(Grade, &str); 3] = [
    (Grade::Valid, "VALID"),
    (Grade::Degraded, "DEGRADED"),
    (Grade::Invalid, "INVALID"),
];
/// A verdict by its name.
const VERDICTS: [(Judged, &str); 4] = [
    (Judged::Passed, "passed"),
    (Judged::Failed, "failed"),
    (Judged::Void, "void"),
    (Judged::Stopped, "stopped"),
];

/// A state by its name.
pub(super) fn state_name(state: RunState) -> &'static str {
    let found = STATES.iter().find(|(known, _)| *known == state);
    found.map_or("", |(_, name)| name)
}

/// All families of a run, without the labels of the run.
pub(super) fn families(figures: &Figures) -> Vec<Family> {
    let mut all = base_families(figures);
    all.extend(legacy_families::families(&figures.figures.legacy));
    all
}

/// The families in base units.
pub(super) fn base_families(figures: &Figures) -> Vec<Family> {
    let totals = &figures.figures.totals;
    let mut all = calls(totals);
    all.extend(arrivals(totals));
    all.extend(connections(totals));
    all.extend(run(figures));
    all.extend(judgement(figures));
    all.extend(generator(figures));
    all
}

fn family(
    (name, unit): (&'static str, Unit),
    help: &'static str,
    labels: &'static [&'static str],
    points: Points,
) -> Family {
    Family {
        name: name.into(),
        help: help.into(),
        unit,
        labels,
        points,
    }
}

fn one(value: f64) -> Points {
    Points::Gauges(vec![(Vec::new(), value)])
}

fn of_task(task: &str) -> Labels {
    vec![("task", task.to_owned())]
}

fn of_call((task, call): &(String, String)) -> Labels {
    vec![("task", task.clone()), ("call", call.clone())]
}

fn calls(totals: &Cumulative) -> Vec<Family> {
    let (mut counts, mut response, mut service) = (Vec::new(), Vec::new(), Vec::new());
    for (call, totals) in &totals.calls {
        for (outcome, of_outcome) in &totals.outcomes {
            let labels = [of_call(call), vec![("outcome", outcome.name().to_owned())]].concat();
            counts.push((labels.clone(), of_outcome.count));
            if outcome.is_finished() {
                response.push((labels.clone(), of_outcome.response.clone()));
                service.push((labels, of_outcome.service.clone()));
            }
        }
    }
    vec![
        family(
            ("request_duration", Unit::Seconds),
            "Time of finished calls from due, corrected for coordinated omission.",
            CALL_OUTCOME,
            Points::Histograms(response),
        ),
        family(
            ("request_service_duration", Unit::Seconds),
            "Time of finished calls from dispatch, uncorrected.",
            CALL_OUTCOME,
            Points::Histograms(service),
        ),
        family(
            ("calls", Unit::None),
            "Calls that have ended, by outcome; cancelled and indeterminate ones, too.",
            CALL_OUTCOME,
            Points::Counters(counts),
        ),
    ]
}

fn arrivals(totals: &Cumulative) -> Vec<Family> {
    let of_tasks = |count: fn(&TaskTotals) -> u64| {
        let counts = totals.tasks.iter();
        Points::Counters(
            counts
                .map(|(task, of)| (of_task(task), count(of)))
                .collect(),
        )
    };
    let mut dropped = Vec::new();
    for (task, of_task_totals) in &totals.tasks {
        for (reason, count) in &of_task_totals.dropped {
            let reason = ("reason", reason.name().to_owned());
            dropped.push(([of_task(task), vec![reason]].concat(), *count));
        }
    }
    vec![
        family(
            ("arrivals_planned", Unit::None),
            "Planned arrivals that are due by now, from the plan; of a closed loop as reported.",
            &["task"],
            of_tasks(|task| task.planned),
        ),
        family(
            ("arrivals_started", Unit::None),
            "Arrivals that were started.",
            &["task"],
            of_tasks(|task| task.started),
        ),
        family(
            ("arrivals_dropped", Unit::None),
            "Planned arrivals that were never started, by reason.",
            &["task", "reason"],
            Points::Counters(dropped),
        ),
        family(
            ("arrivals_failed", Unit::None),
            "Started arrivals that raised an error or had a call that was not ok.",
            &["task"],
            of_tasks(|task| task.failed),
        ),
    ]
}

fn connections(totals: &Cumulative) -> Vec<Family> {
    let (mut opened, mut reused, mut handshakes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut sent, mut received) = (0_u64, 0_u64);
    for (call, totals) in &totals.calls {
        opened.push((of_call(call), totals.opened));
        reused.push((of_call(call), totals.reused));
        handshakes.push((of_call(call), totals.handshakes));
        sent = sent.saturating_add(totals.sent_bytes);
        received = received.saturating_add(totals.received_bytes);
    }
    vec![
        family(
            ("connections_opened", Unit::None),
            "Connections that were opened for calls.",
            CALL,
            Points::Counters(opened),
        ),
        family(
            ("connections_reused", Unit::None),
            "Calls on a connection that was already open.",
            CALL,
            Points::Counters(reused),
        ),
        family(
            ("tls_handshakes", Unit::None),
            "TLS handshakes that ended.",
            CALL,
            Points::Counters(handshakes),
        ),
        family(
            ("bytes_sent", Unit::Bytes),
            "Bytes written, headers included.",
            &[],
            Points::Counters(vec![(Vec::new(), sent)]),
        ),
        family(
            ("bytes_received", Unit::Bytes),
            "Bytes read, headers included where the HTTP engine sees them.",
            &[],
            Points::Counters(vec![(Vec::new(), received)]),
        ),
    ]
}

fn run(figures: &Figures) -> Vec<Family> {
    let gauges = &figures.figures.gauges;
    let instant = |at: Option<Timestamp>| {
        let points = at.map(|at| (Vec::new(), seconds(at.0)));
        Points::Gauges(points.into_iter().collect())
    };
    let events = gauges.events.iter().map(|event| {
        let detail = event.words.chars().take(DETAIL_CHARS_MAX).collect();
        let labels = vec![("event", event.kind.to_owned()), ("detail", detail)];
        (labels, seconds(event.at.0))
    });
    let lag = gauges.log_lag_us.map(|us| (Vec::new(), seconds(us)));
    vec![
        family(
            ("planned_rate", Unit::PerSecond),
            "Planned arrivals per second now.",
            &[],
            one(gauges.planned_per_sec),
        ),
        family(
            ("arrivals_in_flight", Unit::None),
            "Arrivals in flight, as the agents reported last.",
            &[],
            one(count(gauges.in_flight)),
        ),
        family(
            ("run_phase", Unit::None),
            "1 for the state that the run is in.",
            &["phase"],
            choice("phase", &STATES, Some(gauges.state)),
        ),
        family(
            ("run_start_timestamp", Unit::Seconds),
            "Start of the run, in seconds since 1970.",
            &[],
            instant(gauges.start_at),
        ),
        family(
            ("run_end_timestamp", Unit::Seconds),
            "Seal of the run, in seconds since 1970.",
            &[],
            instant(gauges.ended_at),
        ),
        family(
            ("run_event_timestamp", Unit::Seconds),
            "The newest 64 events of the run, each at its time in seconds since 1970.",
            &["event", "detail"],
            Points::Gauges(events.collect()),
        ),
        family(
            ("run_agents", Unit::None),
            "Agents that hold shards of the run.",
            &[],
            one(count(gauges.holders as u64)),
        ),
        family(
            ("log_lag", Unit::Seconds),
            "Time since the end of the last tick that all agents have reported.",
            &[],
            Points::Gauges(lag.into_iter().collect()),
        ),
    ]
}

fn judgement(figures: &Figures) -> Vec<Family> {
    let judgement = &figures.judgement;
    let is_over = figures.figures.gauges.ended_at.is_some();
    let finding = |finding: &Finding| {
        let grade = GRADES.iter().find(|(grade, _)| *grade == finding.grade);
        let level = grade.map_or("", |(_, name)| name).to_owned();
        let labels = vec![("finding", snake_case(&finding.kind)), ("level", level)];
        (labels, 1.0)
    };
    let found = judgement.certificate.findings.iter();
    // A run that goes on is unfinished, and a series that ends with the run keeps its last value.
    let found = found.filter(|finding| is_over || finding.kind != FindingKind::Unfinished);
    let mut findings: Vec<(Labels, f64)> = found.map(finding).collect();
    findings.sort_by(|(one, _), (other, _)| one.cmp(other));
    findings.dedup();
    let verdict = is_over.then(|| judgement.judged());
    let thresholds = |value: fn(&ThresholdResult) -> Option<f64>| {
        let rows = judgement.thresholds().iter();
        let points = rows.filter_map(|row| {
            let name = format!("{} {} {}", row.key, row.operator, row.limit);
            Some((vec![("threshold", name)], value(row)?))
        });
        Points::Gauges(points.collect())
    };
    vec![
        family(
            ("run_certificate", Unit::None),
            "1 for the certificate of the run as of now: whether its figures can be trusted.",
            &["certificate"],
            choice("certificate", &GRADES, Some(judgement.certificate.grade)),
        ),
        family(
            ("run_finding", Unit::None),
            "1 for each finding of the certificate; of a run that goes on, except `unfinished`.",
            &["finding", "level"],
            Points::Gauges(findings),
        ),
        family(
            ("run_verdict", Unit::None),
            "1 for the verdict of a run that is over: `void` and `stopped` stand for thresholds \
             that held in a run that is INVALID or was cut short.",
            &["verdict"],
            choice("verdict", &VERDICTS, verdict),
        ),
        family(
            ("threshold_value", Unit::None),
            "Measured value of a threshold, in the unit of its key.",
            &["threshold"],
            thresholds(|row| row.actual),
        ),
        family(
            ("threshold_limit", Unit::None),
            "Limit of a threshold, in the unit of its key.",
            &["threshold"],
            thresholds(|row| Some(row.limit)),
        ),
        family(
            ("threshold_passed", Unit::None),
            "1 for a threshold that passes as of now, 0 for one that fails.",
            &["threshold"],
            thresholds(|row| Some(f64::from(u8::from(row.passed)))),
        ),
    ]
}

fn generator(figures: &Figures) -> Vec<Family> {
    let agents = &figures.figures.gauges.agents;
    let of_agents = |value: fn(&AgentGauges) -> Option<f64>| {
        let points = agents.iter();
        let points = points
            .filter_map(|(agent, gauges)| Some((vec![("agent", agent.clone())], value(gauges)?)));
        Points::Gauges(points.collect())
    };
    let lag = &figures.figures.totals.schedule_lag;
    vec![
        family(
            ("generator_cpu", Unit::Ratio),
            "CPU time of an agent by time and core, from 0 to 1.",
            &["agent"],
            of_agents(|gauges| gauges.cpu_ratio),
        ),
        family(
            ("generator_schedule_lag", Unit::Seconds),
            "Lateness of the load generator: from due until it reached the arrival.",
            &[],
            Points::Histograms(vec![(Vec::new(), lag.clone())]),
        ),
        family(
            ("generator_loop_stall", Unit::Seconds),
            "Longest delay of a firing thread behind its own timer in the newest second.",
            &["agent"],
            of_agents(|gauges| Some(seconds(gauges.stall_us))),
        ),
        family(
            ("generator_open_descriptors", Unit::None),
            "Open file descriptors of an agent.",
            &["agent"],
            of_agents(|gauges| Some(count(gauges.open_fds))),
        ),
    ]
}

/// A value of a closed set by its name in JSON.
fn snake_case<T: serde::Serialize>(value: &T) -> String {
    let json = serde_json::to_value(value).ok();
    let name = json.as_ref().and_then(serde_json::Value::as_str);
    name.unwrap_or_default().to_owned()
}

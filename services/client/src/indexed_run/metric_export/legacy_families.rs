//! The families of earlier versions, with their names and units. New dashboards should use the
//! others.

use loadpilot_engine::report::cumulative::legacy::{LegacyFigures, LegacyTask};
use loadpilot_events::answers::live::{LatencyMs, LoadPhase};

use super::families::{Family, Labels, Points, Unit, choice, count, seconds};

/// Directions of the offered rate.
const PHASES: [(LoadPhase, &str); 5] = [
    (LoadPhase::Waiting, "waiting"),
    (LoadPhase::RampUp, "ramp_up"),
    (LoadPhase::Steady, "steady"),
    (LoadPhase::RampDown, "ramp_down"),
    (LoadPhase::Done, "done"),
];

/// The families, without the labels of the run.
pub(super) fn families(figures: &LegacyFigures) -> Vec<Family> {
    let latency = &figures.latency;
    let mut all = vec![
        gauge(
            ("current_rps", Unit::PerSecond),
            "Finished calls per second, newly reported.",
            Some(figures.current_rps),
        ),
        gauge(
            ("target_rps", Unit::PerSecond),
            "Planned arrivals per second now.",
            Some(figures.target_rps),
        ),
        gauge(
            ("active_workers", Unit::None),
            "Agents that reported within 3 s.",
            Some(count(figures.active_workers)),
        ),
        millis(
            "latency_p50_ms",
            "Median response time, newly reported.",
            latency.p50_ms,
        ),
        millis(
            "latency_p95_ms",
            "95th percentile of the response time, newly reported.",
            latency.p95_ms,
        ),
        millis(
            "latency_p99_ms",
            "99th percentile of the response time, newly reported.",
            latency.p99_ms,
        ),
        millis(
            "latency_max_ms",
            "Longest response time, newly reported.",
            latency.max_ms,
        ),
        millis(
            "latency_mean_ms",
            "Mean response time, newly reported.",
            latency.mean_ms,
        ),
        counter("requests", "Calls that have ended.", figures.requests),
        counter(
            "errors",
            "Finished calls that were not ok, and errors of tasks.",
            figures.errors,
        ),
        gauge(
            ("elapsed_secs", Unit::None),
            "Seconds since the start.",
            Some(seconds(figures.elapsed_us)),
        ),
        Family {
            name: "phase".into(),
            help: "1 for the direction of the planned rate.".into(),
            unit: Unit::None,
            labels: &["phase"],
            points: choice("phase", &PHASES, figures.phase),
        },
    ];
    all.extend(tasks(figures));
    all
}

fn tasks(figures: &LegacyFigures) -> Vec<Family> {
    let counts = |name: &'static str, help: &'static str, of: fn(&LegacyTask) -> u64| {
        let points = figures.tasks.iter();
        let points = points.map(|(task, figures)| (of_task(task), of(figures)));
        Family {
            name: name.into(),
            help: help.into(),
            unit: Unit::None,
            labels: &["task"],
            points: Points::Counters(points.collect()),
        }
    };
    let latencies = |name: &'static str, help: &'static str, of: fn(&LatencyMs) -> Option<f64>| {
        let points = figures.tasks.iter();
        let points = points.filter_map(|(task, one)| Some((of_task(task), of(&one.latency)?)));
        Family {
            name: name.into(),
            help: help.into(),
            unit: Unit::Milliseconds,
            labels: &["task"],
            points: Points::Gauges(points.collect()),
        }
    };
    vec![
        counts(
            "task_requests",
            "Calls of a task that have ended.",
            |task| task.requests,
        ),
        counts(
            "task_errors",
            "Finished calls of a task that were not ok, and its errors.",
            |task| task.errors,
        ),
        latencies(
            "task_latency_p50_ms",
            "Median response time of a task since the start.",
            |latency| latency.p50_ms,
        ),
        latencies(
            "task_latency_p99_ms",
            "99th percentile of the response time of a task since the start.",
            |latency| latency.p99_ms,
        ),
        latencies(
            "task_latency_mean_ms",
            "Mean response time of a task since the start.",
            |latency| latency.mean_ms,
        ),
    ]
}

fn of_task(task: &str) -> Labels {
    vec![("task", task.to_owned())]
}

fn counter(name: &'static str, help: &'static str, value: u64) -> Family {
    Family {
        name: name.into(),
        help: help.into(),
        unit: Unit::None,
        labels: &[],
        points: Points::Counters(vec![(Vec::new(), value)]),
    }
}

fn millis(name: &'static str, help: &'static str, value: Option<f64>) -> Family {
    gauge((name, Unit::Milliseconds), help, value)
}

fn gauge((name, unit): (&'static str, Unit), help: &'static str, value: Option<f64>) -> Family {
    let points = value.map(|value| (Vec::new(), value));
    Family {
        name: name.into(),
        help: help.into(),
        unit,
        labels: &[],
        points: Points::Gauges(points.into_iter().collect()),
    }
}

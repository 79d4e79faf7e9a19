//! Counters and histograms of a run with their labels, the same for every system.

use loadpilot_engine::report::cumulative::{ClassicHistogram, Cumulative};

/// A message.
#[derive(Debug, Clone)]
pub struct Message {
    /// Body of the request.
    pub body: Vec<u8>,
    /// Number of its points: series of Prometheus, data points of OpenTelemetry.
    pub points: u64,
}

/// The figures of a run at one instant.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    pub(super) run: String,
    pub(super) scenario: String,
    /// Start of the run in µs since 1970.
    pub(super) start_us: u64,
    /// The instant in µs since 1970.
    pub(super) now_us: u64,
    pub(super) totals: Cumulative,
}

/// Labels of a point, by name.
pub(super) type Labels = Vec<(&'static str, String)>;

/// Points of one name.
#[derive(Debug)]
pub(super) struct Family {
    /// Name without prefix, unit and suffix.
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) points: Points,
}

#[derive(Debug)]
pub(super) enum Points {
    Counters(Vec<(Labels, u64)>),
    Histograms(Vec<(Labels, ClassicHistogram)>),
}

/// All families of a run.
pub(super) fn families(figures: &Figures) -> Vec<Family> {
    let of_task = |task: &str| vec![("task", task.to_owned())];
    let of_call =
        |(task, call): &(String, String)| vec![("task", task.clone()), ("call", call.clone())];
    let (mut started, mut dropped, mut task_errors) = (Vec::new(), Vec::new(), Vec::new());
    for (task, totals) in &figures.totals.tasks {
        started.push((of_task(task), totals.started));
        task_errors.push((of_task(task), totals.errors));
        for (reason, count) in &totals.dropped {
            let reason = ("reason", reason.name().to_owned());
            dropped.push(([of_task(task), vec![reason]].concat(), *count));
        }
    }
    let (mut requests, mut response, mut service) = (Vec::new(), Vec::new(), Vec::new());
    for (call, totals) in &figures.totals.calls {
        for (outcome, count) in &totals.outcomes {
            let outcome = ("outcome", outcome.name().to_owned());
            requests.push(([of_call(call), vec![outcome]].concat(), *count));
        }
        response.push((of_call(call), totals.response.clone()));
        service.push((of_call(call), totals.service.clone()));
    }
    let counters = |name, help, points| Family {
        name,
        help,
        points: Points::Counters(points),
    };
    let histograms = |name, help, points| Family {
        name,
        help,
        points: Points::Histograms(points),
    };
    vec![
        counters("arrivals_started", "Arrivals that were started.", started),
        counters(
            "arrivals_dropped",
            "Planned arrivals that agents never started.",
            dropped,
        ),
        counters(
            "task_errors",
            "Started arrivals that raised an error or had a call that was not ok.",
            task_errors,
        ),
        counters("requests", "Calls that have ended, by outcome.", requests),
        histograms(
            "response",
            "Time of finished calls from due, corrected for coordinated omission.",
            response,
        ),
        histograms("service", "Time of finished calls from dispatch.", service),
    ]
}

//! The families of a process that exports runs.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::families::{Family, Labels, Points, Unit, count};
use super::run_export::RunCounts;

/// What a gateway knows of itself.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatewayProcess {
    /// Its version.
    pub version: String,
    /// Whether NATS can be reached.
    pub nats_up: bool,
    /// Whether the list of runs could be read.
    pub log_read: bool,
    /// Number of answers by route and status code.
    pub requests: Vec<(String, u16, u64)>,
    /// Number of runs by state.
    pub runs: BTreeMap<String, u64>,
    /// Number of runs that are exported.
    pub exported: u64,
    /// Number of runs above the limit.
    pub left_out: u64,
}

/// A gauge of a process.
#[must_use]
pub fn gauge(name: &'static str, help: &'static str, value: f64) -> Family {
    Family {
        name: name.into(),
        help: help.into(),
        unit: Unit::None,
        labels: &[],
        points: Points::Gauges(vec![(Vec::new(), value)]),
    }
}

/// Counters of a process by labels.
#[must_use]
pub fn counters(
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    points: Vec<(Labels, u64)>,
) -> Family {
    Family {
        name: name.into(),
        help: help.into(),
        unit: Unit::None,
        labels,
        points: Points::Counters(points),
    }
}

/// The version of a program, as a gauge that is always 1.
#[must_use]
pub fn version(name: &'static str, version: &str) -> Family {
    Family {
        name: name.into(),
        help: "Version of the program.".into(),
        unit: Unit::None,
        labels: &["version"],
        points: Points::Gauges(vec![(vec![("version", version.to_owned())], 1.0)]),
    }
}

/// The families of a gateway.
#[must_use]
pub fn gateway_families(process: &GatewayProcess) -> Vec<Family> {
    let requests = process.requests.iter().map(|(route, code, number)| {
        let labels = vec![("route", route.clone()), ("code", code.to_string())];
        (labels, *number)
    });
    let mut all = vec![
        version("gateway_info", &process.version),
        gauge(
            "gateway_nats_up",
            "1 when NATS can be reached.",
            f64::from(u8::from(process.nats_up)),
        ),
        gauge(
            "gateway_log_read",
            "1 when the list of runs could be read.",
            f64::from(u8::from(process.log_read)),
        ),
        counters(
            "gateway_http_requests",
            "Answers over HTTP, by route and status code.",
            &["route", "code"],
            requests.collect(),
        ),
    ];
    let runs = process.runs.iter();
    let runs = runs.map(|(state, number)| (state.clone(), *number));
    all.extend(run_families(
        runs.collect(),
        process.exported,
        process.left_out,
    ));
    all
}

/// The families of runs in the log of a coordinator.
#[must_use]
pub fn coordinator_families(counts: &RunCounts) -> Vec<Family> {
    let runs = counts.by_state.iter();
    let runs = runs.map(|(state, number)| ((*state).to_owned(), *number));
    run_families(runs.collect(), counts.exported, counts.left_out)
}

fn run_families(runs: Vec<(String, u64)>, exported: u64, left_out: u64) -> Vec<Family> {
    let points = runs.into_iter();
    let points = points.map(|(state, number)| (vec![("phase", state)], count(number)));
    vec![
        Family {
            name: "runs".into(),
            help: "Runs of the log, by state.".into(),
            unit: Unit::None,
            labels: &["phase"],
            points: Points::Gauges(points.collect()),
        },
        gauge(
            "exporter_runs",
            "Runs whose figures are exported here: open, or ended less than 5 minutes ago.",
            count(exported),
        ),
        gauge(
            "exporter_runs_left_out",
            "Such runs above the limit of 20: the oldest ones.",
            count(left_out),
        ),
    ]
}

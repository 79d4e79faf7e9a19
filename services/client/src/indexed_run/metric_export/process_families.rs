//! The families of a process that exports runs.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::families::{Family, Labels, Points, Unit, count};
use super::run_export::RunCounts;

/// The figures of a gateway about itself.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatewayProcess {
    /// Its version.
    pub version: String,
    /// Number of answers by route and status code.
    pub requests: Vec<(String, u16, u64)>,
    /// Number of requests without a valid key that were above the limit of their address.
    pub unauthenticated_limited: u64,
    /// The logs that the gateway shows.
    pub logs: Vec<GatewayLog>,
}

/// The figures of a gateway about the log of one tenant.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatewayLog {
    /// The tenant, if the gateway shows several.
    pub tenant: Option<String>,
    /// Number of requests that were above the limit of the tenant.
    pub limited: u64,
    /// Whether NATS can be reached.
    pub nats_up: bool,
    /// Whether the list of runs could be read.
    pub log_read: bool,
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
    gauges(name, help, vec![(Vec::new(), value)])
}

/// A gauge with a value for each log.
fn gauges(name: &'static str, help: &'static str, points: Vec<(Labels, f64)>) -> Family {
    Family {
        name: name.into(),
        help: help.into(),
        unit: Unit::None,
        labels: &[],
        points: Points::Gauges(points),
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
    let of_logs = |value: fn(&GatewayLog) -> bool| {
        let points = process.logs.iter();
        let points = points.map(|log| (log.labels(), f64::from(u8::from(value(log)))));
        points.collect()
    };
    let mut all = vec![
        version("gateway_info", &process.version),
        gauges(
            "gateway_nats_up",
            "1 when NATS can be reached.",
            of_logs(|log| log.nats_up),
        ),
        gauges(
            "gateway_log_read",
            "1 when the list of runs could be read.",
            of_logs(|log| log.log_read),
        ),
        counters(
            "gateway_http_requests",
            "Answers over HTTP, by route and status code.",
            &["route", "code"],
            requests.collect(),
        ),
        counters(
            "gateway_http_limited",
            "Requests above the limit of their tenant, answered with 429.",
            &["tenant"],
            process.logs.iter().map(GatewayLog::limited).collect(),
        ),
        counters(
            "gateway_http_unauthenticated_limited",
            "Requests without a valid key above the limit of their address, answered with 429.",
            &[],
            vec![(Labels::new(), process.unauthenticated_limited)],
        ),
    ];
    let logs = process.logs.iter().map(|log| {
        let runs = log.runs.iter();
        let runs = runs.map(|(state, number)| (state.clone(), *number));
        LogRuns {
            labels: log.labels(),
            by_state: runs.collect(),
            exported: log.exported,
            left_out: log.left_out,
        }
    });
    all.extend(run_families(&logs.collect::<Vec<_>>()));
    all
}

impl GatewayLog {
    fn labels(&self) -> Labels {
        let tenant = self.tenant.clone().map(|tenant| ("tenant", tenant));
        tenant.into_iter().collect()
    }

    /// The counter of requests above the limit; its label is empty if there is one tenant.
    fn limited(&self) -> (Labels, u64) {
        let tenant = self.tenant.clone().unwrap_or_default();
        (vec![("tenant", tenant)], self.limited)
    }
}

/// The families of runs in the log of a coordinator.
#[must_use]
pub fn coordinator_families(counts: &RunCounts) -> Vec<Family> {
    let runs = counts.by_state.iter();
    let runs = runs.map(|(state, number)| ((*state).to_owned(), *number));
    run_families(&[LogRuns {
        labels: Labels::new(),
        by_state: runs.collect(),
        exported: counts.exported,
        left_out: counts.left_out,
    }])
}

/// Number of runs of one log, by whether they are exported.
struct LogRuns {
    labels: Labels,
    by_state: Vec<(String, u64)>,
    exported: u64,
    left_out: u64,
}

fn run_families(logs: &[LogRuns]) -> Vec<Family> {
    let by_state = logs.iter().flat_map(|log| {
        log.by_state.iter().map(|(state, number)| {
            let mut labels = log.labels.clone();
            labels.push(("phase", state.clone()));
            (labels, count(*number))
        })
    });
    let of_logs = |value: fn(&LogRuns) -> u64| {
        let points = logs.iter();
        let points = points.map(|log| (log.labels.clone(), count(value(log))));
        points.collect()
    };
    vec![
        Family {
            name: "runs".into(),
            help: "Runs of the log, by state.".into(),
            unit: Unit::None,
            labels: &["phase"],
            points: Points::Gauges(by_state.collect()),
        },
        gauges(
            "exporter_runs",
            "Runs whose figures are exported here: open, or ended less than 5 minutes ago.",
            of_logs(|log| log.exported),
        ),
        gauges(
            "exporter_runs_left_out",
            "Such runs above the limit of 20: the oldest ones.",
            of_logs(|log| log.left_out),
        ),
    ]
}

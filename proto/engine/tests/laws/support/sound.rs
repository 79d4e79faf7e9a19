//! A report without a flaw: tests of gates and of the certificate change one figure at a time.

use std::collections::BTreeMap;

use loadpilot_events::answers::report::{
    ArrivalCounts, CallCounts, Gaps, GeneratorReport, HolderFacts, Ladder, Rates, Report, RunState,
};
use loadpilot_events::log::ctl::Ending;
use loadpilot_events::log::outcome::Outcome;

use crate::fold::projection::fold;
use crate::rules::plans::holder;
use crate::support::history::History;

/// Percentiles that all differ: the median is 1 ms, the maximum 9 ms.
pub(crate) fn ladder() -> Ladder {
    Ladder {
        count: 10_000,
        min_us: 500,
        mean_us: 1_500.0,
        p50_us: 1_000,
        p75_us: 2_000,
        p90_us: 3_000,
        p95_us: 4_000,
        p99_us: 5_000,
        p99_9_us: 6_000,
        p99_99_us: 7_000,
        max_us: 9_000,
    }
}

/// 10,000 arrivals of one task in 10 s, all successful.
pub(crate) fn report() -> Report {
    let history = History::new(5);
    let mut report = fold(&history, &history.control, &history.data);
    let arrivals = ArrivalCounts {
        planned: 10_000,
        started: 10_000,
        ..ArrivalCounts::default()
    };
    report.run.max_in_flight = Some(10);
    report.run.state = RunState::Sealed;
    report.run.ending = Some(Ending::Completed);
    report.run.holders = vec![HolderFacts {
        holder: holder(1, 0),
        shards: 256,
        started: 10_000,
        calls: 10_000,
        deltas: 10,
        finished: true,
        lost: None,
        clock_bound_us: Some(100),
        tail: None,
        development: false,
    }];
    report.duration_secs = 10.0;
    report.error_rate_pct = Some(0.0);
    report.calls = CallCounts {
        attempted: 10_000,
        outcomes: BTreeMap::from([(Outcome::Ok, 10_000)]),
        causes: BTreeMap::new(),
        in_flight: 0,
    };
    report.latency.response = Some(ladder());
    report.latency.response_ok = Some(ladder());
    report.rates = Rates {
        planned: 10_000,
        started: 10_000,
        measured_us: 10_000_000,
        planned_rps: 1_000.0,
        achieved_rps: 1_000.0,
        shortfall_pct: 0.0,
    };
    report.generator = GeneratorReport {
        retransmits_max: 0,
        listen_overflows_max: 0,
        schedule_lag: Some(Ladder {
            p99_us: 50,
            ..ladder()
        }),
        queue: None,
        connections_opened: 1,
        connections_reused: 9_999,
        resent: 0,
        redirects: 0,
        redirects_not_followed: 0,
        busiest_core_permille: 100,
        busy_deltas_pct: 0.0,
        stall_us_max: 0,
    };
    report.gaps = Gaps::default();
    report.tasks.truncate(1);
    let task = &mut report.tasks[0];
    (task.name, task.arrivals) = ("browse".to_owned(), arrivals.clone());
    (task.finished, task.errors, task.response) = (10_000, 0, Some(ladder()));
    report.arrivals = arrivals;
    report
}

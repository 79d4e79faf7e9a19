//! Gates: a figure at the limit passes, and a figure that was not measured never does.

use loadpilot_engine::report::verdict::{passes, verdict};
use loadpilot_events::answers::report::{Checks, Ladder, Report, RunState, StreamReport, Verdict};
use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::ctl::{Ending, Unanswered};
use loadpilot_events::log::delta::TaskRaises;
use loadpilot_events::log::outcome::DropReason;
use loadpilot_events::log::req::Breach;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::threshold::{Metric, Operator, Threshold};
use loadpilot_events::rules::Rules;

use crate::rules::dice::Dice;
use crate::rules::plans;
use crate::support::sound;

fn plan(thresholds: Vec<Threshold>) -> Plan {
    Plan {
        thresholds,
        ..plans::plan(&mut Dice::new(1))
    }
}

fn judge(report: &Report, metric: Metric, task: Option<&str>, limit: f64) -> Verdict {
    let task = task.map(str::to_owned);
    verdict(
        &plan(vec![Threshold {
            metric,
            task,
            limit,
            operator: None,
            own: None,
        }]),
        report,
    )
}

fn checks(passed: u64, failed: u64) -> Checks {
    Checks { passed, failed }
}

/// A report in which every metric has a different value.
fn measured() -> Report {
    let mut report = sound::report();
    report.error_rate_pct = Some(2.0);
    report.rates.shortfall_pct = 5.0;
    report.arrivals.started = 9_500;
    report.arrivals.dropped = [(DropReason::NoSlot, 400)].into();
    report.arrivals.lost = 100;
    report.tasks[0].arrivals = report.arrivals.clone();
    report.tasks[0].errors = 200;
    let later = Ladder {
        p50_us: 11_000,
        p95_us: 12_000,
        p99_us: 13_000,
        ..sound::ladder()
    };
    report.streams = Some(StreamReport {
        tokens: 20_000,
        first_token: Some(later),
        first_token_service: None,
        token_gap: Some(sound::ladder()),
    });
    report.tasks[0].streams = report.streams.clone();
    report.checks = Some(checks(3, 1));
    report.tasks[0].checks = Some(checks(2, 3));
    report.run.rules = Rules::V2;
    report
}

fn raises(after_ok: u64, after_failed: u64, without_call: u64) -> TaskRaises {
    TaskRaises {
        after_ok,
        after_failed,
        without_call,
    }
}

/// Broken if a run with a task that raised passes without a gate that allows it, whatever the
/// task's calls did, or if an older log is judged by this rule.
#[test]
fn a_task_that_raised_passes_by_a_gate_only() {
    for counts in [raises(1, 0, 0), raises(0, 1, 0), raises(0, 0, 1)] {
        let mut report = sound::report();
        report.run.rules = Rules::V2;
        report.task_raises = Some(counts);
        report.tasks[0].task_raises = Some(counts);
        let judged = verdict(&plan(Vec::new()), &report);
        assert!(!judged.passed && judged.reasons.len() == 1, "{judged:?}");
        assert!(judged.reasons[0].contains("1 task raised"), "{judged:?}");
        for metric in [Metric::TaskErrors, Metric::ErrorRate] {
            for task in [None, Some("browse")] {
                assert!(
                    judge(&report, metric, task, 99.0).passed,
                    "{metric:?} {task:?}"
                );
            }
            let other = judge(&report, metric, Some("another"), 99.0);
            assert_eq!(other.reasons, judged.reasons, "a gate of another task");
        }
        report.run.rules = Rules::V1;
        assert!(verdict(&plan(Vec::new()), &report).passed);
    }
}

/// Broken if a run that started less than 95 % of its plan passes without a gate on the shortfall.
#[test]
fn a_shortfall_passes_by_a_gate_only() {
    let judged = |shortfall_pct: f64, users, rules| {
        let mut report = sound::report();
        report.rates.shortfall_pct = shortfall_pct;
        (report.run.users, report.run.rules) = (users, rules);
        let gated = judge(&report, Metric::Shortfall, None, 90.0);
        (verdict(&plan(Vec::new()), &report), gated)
    };
    assert!(judged(5.0, None, Rules::V2).0.passed, "the limit itself");
    for (short, meaning) in [(5.1, "short stalls"), (86.0, "the requests it let in")] {
        let (judged, gated) = judged(short, None, Rules::V2);
        assert!(!judged.passed && judged.reasons.len() == 1, "{judged:?}");
        assert!(judged.reasons[0].contains(meaning), "{judged:?}");
        assert!(gated.passed, "its own gate replaces the rule: {gated:?}");
    }
    assert!(
        judged(86.0, Some(4), Rules::V2).0.passed,
        "a closed loop plans none"
    );
    assert!(judged(86.0, None, Rules::V1).0.passed, "a log of before");
}

/// Broken if the verdict blames the target for a run that did not start, or if an older log loses
/// the reason.
#[test]
fn a_run_that_started_nothing_says_nothing_of_the_target() {
    let reasons = |rules| {
        let mut report = sound::report();
        (report.arrivals.started, report.rates.shortfall_pct) = (0, 100.0);
        (report.run.ending, report.run.rules) = (Some(Ending::Failed), rules);
        report.latency.response = None;
        verdict(&plan(Vec::new()), &report).reasons
    };
    let found = reasons(Rules::V3);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("did not come to its end"), "{found:?}");
    assert!(found[1].contains("no request was finished"), "{found:?}");
    assert!(reasons(Rules::V2)[2].contains("the target accepts no more"));
}

/// Broken if the verdict blames the target for arrivals that the load generator could not start, or
/// the other way round.
#[test]
fn a_shortfall_names_its_cause() {
    let reason = |reason: DropReason, in_flight: Option<u32>| {
        let mut report = sound::report();
        report.run.max_in_flight = in_flight;
        report.arrivals.started = report.arrivals.planned / 4;
        let rest = report.arrivals.planned - report.arrivals.started;
        report.arrivals.dropped = [(reason, rest)].into();
        report.rates.shortfall_pct = 75.0;
        verdict(&plan(Vec::new()), &report).reasons.join("; ")
    };
    for (dropped, in_flight) in [(DropReason::Late, None), (DropReason::NoSlot, None)] {
        let reason = reason(dropped, in_flight);
        assert!(reason.contains("the load generator dropped"), "{reason}");
    }
    let reason = reason(DropReason::NoSlot, Some(64));
    assert!(reason.contains("the target accepts no more"), "{reason}");
}

/// Broken if the verdict blames the target for arrivals that were lost with an agent, or if an
/// older log gets another reason.
#[test]
fn lost_arrivals_say_nothing_of_the_target() {
    let reason = |rules| {
        let mut report = sound::report();
        let rest = report.arrivals.planned / 2;
        (report.arrivals.started, report.arrivals.lost) = (report.arrivals.planned - rest, rest);
        (report.rates.shortfall_pct, report.run.rules) = (50.0, rules);
        verdict(&plan(Vec::new()), &report).reasons.join("; ")
    };
    assert!(reason(Rules::V4).contains("says nothing of the target"));
    assert!(reason(Rules::V3).contains("the target accepts no more"));
}

/// Value of each metric in [`measured`], for the run and for its task.
const VALUES: [(Metric, f64, f64); 21] = [
    (Metric::P50Ms, 1.0, 1.0),
    (Metric::P75Ms, 2.0, 2.0),
    (Metric::P90Ms, 3.0, 3.0),
    (Metric::P95Ms, 4.0, 4.0),
    (Metric::P99Ms, 5.0, 5.0),
    (Metric::P999Ms, 6.0, 6.0),
    (Metric::P9999Ms, 7.0, 7.0),
    (Metric::MaxMs, 9.0, 9.0),
    (Metric::MeanMs, 1.5, 1.5),
    (Metric::P50FirstTokenMs, 11.0, 11.0),
    (Metric::P95FirstTokenMs, 12.0, 12.0),
    (Metric::P99FirstTokenMs, 13.0, 13.0),
    (Metric::P50TokenGapMs, 1.0, 1.0),
    (Metric::P95TokenGapMs, 4.0, 4.0),
    (Metric::P99TokenGapMs, 5.0, 5.0),
    (Metric::ErrorRate, 2.0, 2.0),
    (Metric::TaskErrors, 3.0, 2.0),
    (Metric::DroppedRate, 5.0, 5.0),
    (Metric::Shortfall, 5.0, 5.0),
    (Metric::AchievedRps, 1_000.0, 950.0),
    (Metric::Checks, 75.0, 40.0),
];

/// Broken if a metric reads another metric's figure, or compares in the wrong direction: the wrong
/// runs would pass.
#[test]
fn each_metric_passes_at_its_limit_and_fails_beyond() {
    let report = measured();
    assert_eq!(
        VALUES.map(|(metric, ..)| metric),
        Metric::ALL,
        "every metric is here"
    );
    for (metric, of_run, of_task) in VALUES {
        let mut report = report.clone();
        if metric == Metric::TaskErrors {
            report.task_raises = Some(raises(1, 1, 1));
            report.tasks[0].task_raises = Some(raises(1, 1, 0));
        }
        for (task, value) in [(None, of_run), (Some("browse"), of_task)] {
            let verdict = judge(&report, metric, task, value);
            assert!(verdict.passed, "{metric:?} at its limit: {verdict:?}");
            assert_eq!(verdict.thresholds[0].actual, Some(value), "{metric:?}");
            let (worse, better) = match metric {
                Metric::AchievedRps | Metric::Checks => (value + 0.001, value - 0.001),
                _ => (value - 0.001, value + 0.001),
            };
            assert!(
                !judge(&report, metric, task, worse).passed,
                "{metric:?} beyond its limit"
            );
            assert!(
                judge(&report, metric, task, better).passed,
                "{metric:?} within its limit"
            );
        }
    }
}

/// A value that is not a number never passes, in either direction.
#[test]
fn no_number_passes_no_gate() {
    for operator in [Operator::AtMost, Operator::AtLeast] {
        assert!(passes(operator, Some(1.0), 1.0), "the limit itself");
        for (actual, limit) in [
            (None, 1.0),
            (Some(f64::NAN), 1.0),
            (Some(1.0), f64::NAN),
            (Some(f64::NAN), f64::NAN),
        ] {
            assert!(
                !passes(operator, actual, limit),
                "{operator} {actual:?} {limit}"
            );
        }
    }
    let mut report = measured();
    report.error_rate_pct = Some(f64::NAN);
    report.rates.achieved_rps = f64::INFINITY;
    for metric in [Metric::ErrorRate, Metric::AchievedRps] {
        let verdict = judge(&report, metric, None, 0.0);
        assert!(
            !verdict.passed && verdict.thresholds[0].actual.is_none(),
            "{metric:?}"
        );
    }
}

/// A run in which nothing was measured fails for every metric, and also without any gate.
#[test]
fn what_was_not_measured_does_not_pass() {
    let mut report = measured();
    report.latency.response = None;
    report.streams = None;
    report.error_rate_pct = None;
    report.rates.planned = 0;
    report.arrivals = Default::default();
    report.checks = None;
    for metric in Metric::ALL
        .into_iter()
        .filter(|&metric| metric != Metric::AchievedRps)
    {
        let verdict = judge(&report, metric, None, f64::MAX);
        assert!(!verdict.thresholds[0].passed, "{metric:?}");
    }
    assert!(!verdict(&plan(Vec::new()), &report).passed);
    for metric in Metric::ALL {
        let verdict = judge(&sound::report(), metric, Some("no such task"), f64::MAX);
        let least = judge(&sound::report(), metric, Some("no such task"), 0.0);
        assert!(!verdict.passed && !least.passed, "{metric:?} of no task");
    }
}

/// Each reason alone makes a run without gates fail; a sound one passes.
#[test]
fn a_run_without_gates_fails_for_a_reason_only() {
    let none = plan(Vec::new());
    assert!(verdict(&none, &sound::report()).passed);
    let changes: [fn(&mut Report); 4] = [
        |report| report.run.state = RunState::Running,
        |report| report.run.state = RunState::Refused,
        |report| report.latency.response = None,
        |report| report.latency.response_ok = None,
    ];
    for (place, change) in changes.into_iter().enumerate() {
        let mut report = sound::report();
        change(&mut report);
        let verdict = verdict(&none, &report);
        assert!(
            !verdict.passed && verdict.reasons.len() == 1,
            "change {place}: {verdict:?}"
        );
    }
}

/// One gate that fails is enough, wherever it stands.
#[test]
fn all_gates_must_pass() {
    let threshold = |metric, limit| Threshold {
        metric,
        task: None,
        limit,
        operator: None,
        own: None,
    };
    let good = threshold(Metric::P99Ms, 5.0);
    let bad = threshold(Metric::MaxMs, 8.9);
    for gates in [vec![good.clone(), bad.clone()], vec![bad, good.clone()]] {
        assert!(!verdict(&plan(gates), &sound::report()).passed);
    }
    assert!(verdict(&plan(vec![good]), &sound::report()).passed);
}

/// Arrivals that a stop prevented do not count in the dropped rate.
#[test]
fn a_stop_is_no_drop() {
    let mut report = sound::report();
    report.arrivals.started = 4_000;
    report.arrivals.dropped = [(DropReason::Stopped, 6_000)].into();
    assert!(judge(&report, Metric::DroppedRate, None, 0.0).passed);
    report.arrivals.dropped = [(DropReason::Stopped, 5_999), (DropReason::Late, 1)].into();
    assert!(!judge(&report, Metric::DroppedRate, None, 0.0).passed);
}

/// A run that broke off, or of which too much is unknown, does not pass, however good its figures.
#[test]
fn missing_coverage_never_passes() {
    let none = plan(Vec::new());
    let judged = |change: fn(&mut Report)| {
        let mut report = sound::report();
        change(&mut report);
        verdict(&none, &report)
    };
    assert!(judged(|_| {}).passed);
    for ending in [
        Ending::Abandoned,
        Ending::Failed,
        Ending::Aborted,
        Ending::LogFull,
    ] {
        let mut report = sound::report();
        report.run.ending = Some(ending);
        let verdict = verdict(&none, &report);
        assert!(
            !verdict.passed && verdict.reasons.len() == 1,
            "{ending:?}: {verdict:?}"
        );
    }
    assert!(
        judged(|report| report.arrivals.lost = 100).passed,
        "1 % of 10,000 is the limit"
    );
    let verdict = judged(|report| report.arrivals.lost = 101);
    assert!(
        !verdict.passed && verdict.reasons[0].contains("101 of 10000"),
        "{verdict:?}"
    );
}

/// The latency of refused connections is no latency of a server: such a gate is not measured, for
/// the run and for each task.
#[test]
fn latency_of_calls_that_reached_no_server_is_not_measured() {
    let mut report = measured();
    report.latency.unconnected = sound::ladder().count;
    report.tasks[0].unconnected = sound::ladder().count - 1;
    let name = report.tasks[0].name.clone();
    for metric in [Metric::P50Ms, Metric::P99Ms, Metric::MaxMs, Metric::MeanMs] {
        let of_run = judge(&report, metric, None, 1e9).thresholds.remove(0);
        assert_eq!((of_run.actual, of_run.passed), (None, false), "{metric:?}");
        assert_eq!(of_run.reason.as_deref(), Some("no call reached a server"));
        let of_task = judge(&report, metric, Some(&name), 1e9)
            .thresholds
            .remove(0);
        assert!(of_task.passed, "one of its calls reached a server");
    }
    let errors = judge(&report, Metric::ErrorRate, None, 100.0);
    assert!(
        errors.thresholds[0].passed,
        "errors are measured all the same"
    );
    report.tasks[0].unconnected += 1;
    assert!(!judge(&report, Metric::P99Ms, Some(&name), 1e9).passed);
}

/// The first reason of a run that was stopped because nothing answered is the cause.
#[test]
fn a_run_that_nothing_answered_fails_with_the_cause() {
    let mut report = measured();
    report.run.unanswered = Some(Unanswered {
        calls: 250,
        causes: [(Cause::Refused, 200), (Cause::WhileConnecting, 50)].into(),
    });
    let verdict = verdict(&plan(Vec::new()), &report);
    assert!(!verdict.passed);
    let why = "connection refused 200, time-out while connecting 50";
    let target = &report.target_url;
    let expected = format!("nothing answers at {target}: {why}; all 250 calls failed to connect");
    assert_eq!(verdict.reasons, [expected]);
}

/// The calls that finished after the request to stop may make the gate hold again.
#[test]
fn a_run_that_a_gate_stopped_fails_though_its_gates_hold() {
    let mut report = measured();
    report.run.breach = Some(Breach {
        key: "p99_ms".to_owned(),
        limit: 500.0,
        actual: 612.25,
    });
    let verdict = verdict(&plan(Vec::new()), &report);
    assert!(!verdict.passed);
    let expected = "the run was stopped early: p99_ms was 612.2, and its limit is 500";
    assert_eq!(verdict.reasons, [expected]);
}

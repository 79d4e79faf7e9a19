//! The certificate: each finding at its limit, just below it and just above it.

use loadpilot_engine::report::certificate::certificate;
use loadpilot_events::answers::report::{
    FeedFacts, FindingKind, Grade, LostInterval, Quarantined, Report, RunState,
};
use loadpilot_events::log::ctl::Ending;
use loadpilot_events::log::outcome::{DropReason, Outcome};

use crate::rules::plans::holder;
use crate::support::sound;

/// The grade and the kinds of findings of a sound report after `change`.
fn found(change: impl FnOnce(&mut Report)) -> (Grade, Vec<FindingKind>) {
    let mut report = sound::report();
    change(&mut report);
    let certificate = certificate(&report);
    for finding in &certificate.findings {
        assert!(
            finding.evidence.contains(|c: char| c.is_ascii_alphabetic()),
            "{finding:?}"
        );
    }
    (
        certificate.grade,
        certificate
            .findings
            .iter()
            .map(|finding| finding.kind)
            .collect(),
    )
}

/// Checks the grade of one kind of finding after `change`; `Valid` means no finding.
fn holds(kind: FindingKind, grade: Grade, change: impl FnOnce(&mut Report)) {
    let kinds = if grade == Grade::Valid {
        vec![]
    } else {
        vec![kind]
    };
    assert_eq!(found(change), (grade, kinds));
}

#[test]
fn a_sound_run_is_valid() {
    assert_eq!(found(|_| {}), (Grade::Valid, vec![]));
}

#[test]
fn schedule_lag() {
    let lag = |lag_us: u64, response_us: u64| {
        move |report: &mut Report| {
            report
                .generator
                .schedule_lag
                .as_mut()
                .expect("a ladder")
                .p99_us = lag_us;
            report.latency.response.as_mut().expect("a ladder").p99_us = response_us;
        }
    };
    let kind = FindingKind::ScheduleLag;
    // Above max(10 ms, 10 %) it degrades, above max(100 ms, 50 %) it invalidates.
    for (lag_us, response_us, grade) in [
        (10_000, 5_000, Grade::Valid),
        (10_001, 5_000, Grade::Degraded),
        (100_000, 5_000, Grade::Degraded),
        (100_001, 5_000, Grade::Invalid),
        (50_000, 500_000, Grade::Valid),
        (50_001, 500_000, Grade::Degraded),
        (250_000, 500_000, Grade::Degraded),
        (250_001, 500_000, Grade::Invalid),
    ] {
        holds(kind, grade, lag(lag_us, response_us));
    }
    holds(kind, Grade::Valid, |report| {
        report.generator.schedule_lag = None
    });
}

/// A slot is the user's limit when the plan sets one, and the generator's when it does not.
#[test]
fn a_generator_without_slots_is_at_fault_unless_the_plan_limits_them() {
    let drops = |limit: Option<u32>| {
        move |report: &mut Report| {
            report.run.max_in_flight = limit;
            report.arrivals.dropped.insert(DropReason::NoSlot, 101);
        }
    };
    holds(FindingKind::GeneratorDrops, Grade::Invalid, drops(None));
    holds(FindingKind::GeneratorDrops, Grade::Valid, drops(Some(10)));
    holds(FindingKind::GeneratorDrops, Grade::Valid, |report| {
        drops(None)(report);
        report.run.connections.max = Some(10);
    });
}

#[test]
fn generator_drops() {
    let kind = FindingKind::GeneratorDrops;
    for reason in [DropReason::Late, DropReason::Fenced, DropReason::Unowned] {
        for (count, grade) in [
            (9, Grade::Valid),
            (10, Grade::Valid),
            (11, Grade::Degraded),
            (100, Grade::Degraded),
            (101, Grade::Invalid),
        ] {
            holds(kind, grade, |report| {
                report.arrivals.dropped.insert(reason, count);
            });
        }
    }
    for reason in [
        DropReason::NoSlot,
        DropReason::NoUser,
        DropReason::Paused,
        DropReason::Stopped,
    ] {
        assert!(!reason.is_generators_fault());
        holds(kind, Grade::Valid, |report| {
            report.arrivals.dropped.insert(reason, 9_999);
        });
    }
    // The drops of all these reasons add up.
    holds(kind, Grade::Degraded, |report| {
        report.arrivals.dropped = [(DropReason::Late, 6), (DropReason::Unowned, 5)].into();
    });
}

#[test]
fn agent_cpu() {
    for (share, grade) in [
        (4.9, Grade::Valid),
        (5.0, Grade::Degraded),
        (100.0, Grade::Degraded),
    ] {
        holds(FindingKind::AgentCpu, grade, |report| {
            report.generator.busy_deltas_pct = share
        });
    }
}

#[test]
fn lost_intervals() {
    for (lost, grade) in [
        (0, Grade::Valid),
        (1, Grade::Degraded),
        (100, Grade::Degraded),
        (101, Grade::Invalid),
    ] {
        holds(FindingKind::LostInterval, grade, |report| {
            report.arrivals.lost = lost
        });
    }
    let mut report = sound::report();
    report.arrivals.lost = 5;
    report.gaps.lost.push(LostInterval {
        holder: holder(3, 0),
        from_tick: 4,
        to_tick: 6,
        arrivals: 5,
    });
    let evidence = &certificate(&report).findings[0].evidence;
    assert!(
        evidence.contains("agent-3") && evidence.contains("4–6"),
        "{evidence}"
    );
}

#[test]
fn excess() {
    for (excess, grade) in [
        (0, Grade::Valid),
        (1, Grade::Degraded),
        (100, Grade::Degraded),
        (101, Grade::Invalid),
    ] {
        holds(FindingKind::Excess, grade, |report| {
            report.gaps.excess_arrivals = excess
        });
    }
}

#[test]
fn local_resources() {
    holds(FindingKind::LocalResources, Grade::Degraded, |report| {
        report.calls.outcomes.insert(Outcome::Local, 1);
    });
    holds(FindingKind::LocalResources, Grade::Valid, |report| {
        report.calls.outcomes.insert(Outcome::Io, 1);
    });
}

#[test]
fn clock_bound() {
    for (bound_us, grade) in [(50_000, Grade::Valid), (50_001, Grade::Degraded)] {
        holds(FindingKind::ClockBound, grade, |report| {
            report.run.holders[0].clock_bound_us = Some(bound_us);
        });
    }
}

#[test]
fn coverage() {
    for outcome in [Outcome::Cancelled, Outcome::Indeterminate] {
        for (count, grade) in [(100, Grade::Valid), (101, Grade::Degraded)] {
            holds(FindingKind::Coverage, grade, |report| {
                report.calls.outcomes.insert(outcome, count);
            });
        }
    }
    holds(FindingKind::Coverage, Grade::Invalid, |report| {
        report.arrivals.started = 0
    });
}

#[test]
fn quarantined() {
    holds(FindingKind::Quarantined, Grade::Degraded, |report| {
        report.gaps.quarantined.push(Quarantined {
            subject: "delta".to_owned(),
            seq: 1,
            reason: "not a delta".to_owned(),
        });
    });
}

#[test]
fn unfinished() {
    let kind = FindingKind::Unfinished;
    for (ending, grade) in [
        (Ending::Completed, Grade::Valid),
        (Ending::Stopped, Grade::Valid),
        (Ending::Abandoned, Grade::Invalid),
        (Ending::Failed, Grade::Invalid),
        (Ending::Aborted, Grade::Invalid),
        (Ending::LogFull, Grade::Invalid),
    ] {
        holds(kind, grade, |report| report.run.ending = Some(ending));
    }
    for state in [
        RunState::Requested,
        RunState::Refused,
        RunState::Gathering,
        RunState::Preparing,
        RunState::Running,
        RunState::Stopping,
    ] {
        holds(kind, Grade::Invalid, |report| {
            (report.run.state, report.run.ending) = (state, None);
        });
    }
}

/// The worst finding is the grade.
#[test]
fn the_grade_is_the_worst_finding() {
    let (grade, kinds) = found(|report| {
        report.arrivals.lost = 1;
        report.gaps.excess_arrivals = 500;
    });
    assert_eq!(grade, Grade::Invalid);
    assert_eq!(kinds, [FindingKind::LostInterval, FindingKind::Excess]);
}

#[test]
fn rows_that_are_used_again() {
    let feed = |taken, cycles| {
        move |report: &mut Report| {
            report.run.feeds.push(FeedFacts {
                unique: false,
                stops: false,
                name: "users".to_owned(),
                rows: 100,
                taken,
                cycles,
            });
        }
    };
    let kind = FindingKind::FeederWrapAround;
    holds(kind, Grade::Valid, feed(100, false));
    holds(kind, Grade::Degraded, feed(101, false));
    holds(kind, Grade::Valid, feed(101, true));
}

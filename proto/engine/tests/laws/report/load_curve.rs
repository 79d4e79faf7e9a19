//! The load curve: a level contains the calls that were due in it, and the knee follows its rule.

use loadpilot_engine::report::figures::load_curve::{exceeded, knee, knee_point, levels};
use loadpilot_events::answers::report::{Knee, LevelLatency, LevelLimit, LoadLevel, NoKnee};
use loadpilot_events::log::delta::LastCall;
use loadpilot_events::plan::{Piece, Plan, Profile, Shape};
use loadpilot_events::units::Rate;
use proptest::prelude::*;

use crate::fold::projection::fold;
use crate::rules::dice::Dice;
use crate::rules::plans;
use crate::support::history::{Act, History};
use crate::support::naive::stored;

fn piece(duration_us: u64, from: u64, to: u64) -> Piece {
    Piece {
        duration_us,
        from: Rate::per_second(from),
        to: Rate::per_second(to),
    }
}

fn staged(plan: Plan, pieces: Vec<Piece>) -> Plan {
    Plan {
        profile: Profile {
            shape: Shape::Stages,
            pieces,
        },
        warm_up_us: 0,
        ..plan
    }
}

/// Levels of any length, some with a ramp after them, which is no level.
fn steps(dice: &mut Dice) -> Plan {
    let mut pieces = Vec::new();
    for rate in [10, 20, 30] {
        pieces.push(piece(dice.pick(900_000..3_000_000), rate, rate));
        if dice.chance(50) {
            pieces.push(piece(dice.pick(1..900_000), rate, dice.pick(0..10)));
        }
    }
    let warm_up_us = dice.one_of(&[0, 0, 1_500_000]);
    Plan {
        warm_up_us,
        ..staged(plans::plan(dice), pieces)
    }
}

fn nearest_rank(sorted: &[u64], percent: u64) -> u64 {
    let rank = (sorted.len() as u64 * percent).div_ceil(100).max(1);
    sorted[usize::try_from(rank).expect("short") - 1]
}

/// Whether percentiles equal those of these values, to three digits.
fn is_of(found: Option<LevelLatency>, mut values: Vec<u64>) -> bool {
    values.sort_unstable();
    let Some(found) = found else {
        return values.is_empty();
    };
    let is_close = |us: u64, exact: u64| us.abs_diff(exact) <= exact / 1_000 + 1;
    !values.is_empty()
        && is_close(found.p50_us, nearest_rank(&values, 50))
        && is_close(found.p99_us, nearest_rank(&values, 99))
}

/// Begin and end of the whole ticks of a level that were offered and measured.
fn whole(history: &History, from_us: u64, to_us: u64) -> Option<(u64, u64)> {
    let (plan, end_us) = (&history.plan, history.stop_us.unwrap_or(u64::MAX));
    let begins = (0..u64::from(history.workload.ticks())).map(|tick| tick * plan.tick_us);
    let is_whole = |at_us: &u64| {
        let after_us = at_us + plan.tick_us;
        *at_us >= from_us.max(plan.warm_up_us) && after_us <= to_us.min(end_us)
    };
    let begins: Vec<u64> = begins.filter(is_whole).collect();
    Some((*begins.first()?, begins.last()? + plan.tick_us))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Broken if a level counts a call of a ramp, of another level or of the warm-up, loses one of
    /// its own, or averages percentiles.
    #[test]
    fn a_level_has_the_calls_that_were_due_in_it(seed: u64) {
        let history = History::of(seed, steps);
        let report = fold(&history, &history.control, &history.data);
        let curve = report.load_curve.expect("three rates");
        let mut found = curve.levels.iter();
        let tick_us = history.plan.tick_us;
        let mut begin_us = 0;
        for piece in &history.plan.profile.pieces {
            let from_us = begin_us;
            begin_us += piece.duration_us;
            if piece.from != piece.to {
                continue;
            }
            let Some((from_us, to_us)) = whole(&history, from_us, begin_us) else {
                continue;
            };
            let level = found.next().expect("one for each");
            prop_assert_eq!((level.from_us, level.to_us), (from_us, to_us));
            prop_assert_eq!(level.rate_rps, piece.from.as_rps());
            let is_due = |tick: u32| (from_us..to_us).contains(&(u64::from(tick) * tick_us));
            let dues = history.dues_us.iter();
            let dues = dues.filter(|due_us| is_due(history.workload.tick_of(**due_us)));
            prop_assert_eq!(level.planned, dues.count() as u64);
            let (mut started, mut finished, mut errors) = (0, 0, 0);
            let (mut responses, mut services) = (Vec::new(), Vec::new());
            for deed in history.deeds.iter().filter(|deed| is_due(deed.tick) && !deed.excess) {
                let Act::Started(calls) = &deed.what else { continue };
                if stored(&history, &deed.holder, deed.window) {
                    started += 1;
                    finished += u64::from(deed.raised == Some(LastCall::Absent));
                    errors += u64::from(deed.raised.is_some_and(|last| last != LastCall::Failed));
                }
                let calls = calls.iter().filter(|call| call.outcome.is_finished());
                for call in calls.filter(|call| stored(&history, &deed.holder, call.window)) {
                    finished += 1;
                    errors += u64::from(call.outcome.is_error());
                    responses.push(call.response_us);
                    services.push(call.response_us.div_ceil(2));
                }
            }
            prop_assert_eq!(level.started, started);
            prop_assert_eq!((level.finished, level.errors), (finished, errors));
            prop_assert!(is_of(level.response, responses), "corrected: {:?}", level);
            prop_assert!(is_of(level.service, services), "uncorrected: {:?}", level);
        }
        prop_assert_eq!(found.next(), None, "no more levels than the plan has");
    }
}

/// A level of 100 s at `rate`, of which `pct` percent started.
fn level(rate: u64, pct: u64, p99_us: u64, errors: u64) -> LoadLevel {
    let (planned, started) = (rate * 100, rate * pct);
    let latency = Some(LevelLatency { p50_us: 1, p99_us });
    LoadLevel {
        from_us: 0,
        to_us: 100_000_000,
        rate_rps: Rate::per_second(rate).as_rps(),
        planned,
        started,
        planned_rps: Rate::per_second(rate).as_rps(),
        achieved_rps: 0.0,
        finished: started,
        errors,
        error_rate_pct: None,
        response: latency,
        service: latency,
        exceeded: Vec::new(),
    }
}

/// Broken if a limit changes, or if a level exactly at a limit does not hold.
#[test]
fn a_level_at_its_limits_holds() {
    let lowest = level(10, 100, 5_000, 0);
    let judge = |level: LoadLevel| exceeded(&level, &lowest);
    assert_eq!(judge(level(20, 95, 14_999, 19)), []);
    assert_eq!(judge(level(20, 94, 14_999, 18)), [LevelLimit::Achieved]);
    assert_eq!(judge(level(20, 100, 15_000, 20)), [], "3 times, 1 %");
    assert_eq!(judge(level(20, 100, 15_001, 20)), [LevelLimit::Latency]);
    assert_eq!(judge(level(20, 100, 15_000, 21)), [LevelLimit::Errors]);
    let fast = level(10, 100, 300, 0);
    assert_eq!(exceeded(&level(20, 100, 10_299, 0), &fast), [], "10 ms");
    assert_eq!(
        exceeded(&level(20, 100, 10_300, 0), &fast),
        [LevelLimit::Latency]
    );
    let silent = LoadLevel {
        response: None,
        finished: 0,
        ..level(20, 100, 1, 0)
    };
    assert_eq!(judge(silent), [LevelLimit::Latency], "nothing finished");
}

/// Broken if the knee depends on the order of the levels, or is reported where there is none.
#[test]
fn the_knee_is_below_the_lowest_level_that_broke() {
    let at = |rates: &[(u64, bool)]| {
        let level = |&(rate, held): &(u64, bool)| LoadLevel {
            exceeded: match held {
                true => Vec::new(),
                false => vec![LevelLimit::Errors],
            },
            ..level(rate, 100, 1, 0)
        };
        knee(&rates.iter().map(level).collect::<Vec<_>>())
    };
    let (held, broke) = (true, false);
    let found = |held, broke| Ok(Knee { held, broke });
    assert_eq!(
        at(&[(1, held), (2, held), (3, broke), (4, held)]),
        found(1, 2)
    );
    assert_eq!(at(&[(4, broke), (2, held), (1, held)]), found(1, 0));
    // Of two levels with the same rate, one failed.
    let twice = [(1, held), (2, held), (3, held), (3, broke)];
    assert_eq!(at(&twice), found(1, 3));
    assert_eq!(at(&[(1, held), (2, held), (3, held)]), Err(NoKnee::AllHeld));
    assert_eq!(
        at(&[(1, broke), (2, held), (3, held)]),
        Err(NoKnee::LowestBroke)
    );
    assert_eq!(
        at(&[(1, held), (2, broke), (1, held)]),
        Err(NoKnee::FewLevels)
    );
    assert_eq!(at(&[]), Err(NoKnee::FewLevels));
}

/// Broken if a ramp or a pause is a level, or a level that the plan writes in two pieces is two.
#[test]
fn a_level_is_a_time_of_one_rate() {
    let pieces = vec![
        piece(10, 0, 5),
        piece(20, 5, 5),
        piece(30, 5, 5),
        piece(40, 0, 0),
        piece(50, 5, 5),
    ];
    let plan = staged(plans::plan(&mut Dice::new(1)), pieces);
    let spans = levels(&plan).into_iter();
    let spans: Vec<_> = spans.map(|level| (level.from_us, level.to_us)).collect();
    assert_eq!(spans, [(10, 60), (100, 150)]);
}

/// Broken if the digests change of runs that were sealed by versions without a load curve.
#[test]
fn the_digest_leaves_the_curve_out() {
    let history = History::of(3, steps);
    let mut report = fold(&history, &history.control, &history.data);
    let mut curve = report.load_curve.take().expect("three rates");
    curve.knee = Some(Knee { held: 1, broke: 2 });
    report.knee_point = knee_point(&curve);
    assert_eq!(report.knee_point.as_ref().map(|point| point.step), Some(2));
    assert_eq!(
        loadpilot_engine::report::digest(report.clone()),
        report.digest
    );
}

//! The load curve: latency and errors by level of the load, and the knee.
//!
//! A level is a part of the plan with a constant rate. The rule of the knee is fixed: all levels
//! are compared with the lowest one, and the knee is below the lowest level that exceeds a limit.
//! Percentiles are of merged histograms and must never be averaged.

use std::ops::Range;

use loadpilot_events::answers::report::{
    Knee, KneePoint, LevelLatency, LevelLimit, LoadCurve, LoadLevel, NoKnee,
};
use loadpilot_events::plan::{Plan, Shape};
use loadpilot_events::units::Rate;

use crate::fold::arrival_counts::Accounts;
use crate::report::close::{Closing, per_second};
use crate::report::figures::percentiles::{ms, percentile_us};
use crate::report::timeline;
use crate::tally::packed_histogram::{HistogramSum, Precision};
use crate::tally::ratio::percent;

/// Least share of the planned arrivals of a level that start, in percent.
const ACHIEVED_PCT: u64 = 95;
/// Greatest p99 of a level as a multiple of that of the lowest level.
const LATENCY_FACTOR: u64 = 3;
/// Difference of two p99 in µs below which neither is worse: a pause of an idle machine takes as
/// long.
const LATENCY_US: u64 = 10_000;
/// Greatest error rate of a level above that of the lowest level, in percentage points.
const ERRORS_PCT: u64 = 1;
/// Least number of different rates of a curve with a knee.
const RATES_MIN: usize = 3;

/// A part of a plan with a constant rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Its begin, in µs after the start.
    pub from_us: u64,
    /// Its end, in µs after the start.
    pub to_us: u64,
    /// Its rate, above 0.
    pub rate: Rate,
}

/// The levels of a plan in the order of time; adjacent pieces of one rate are one level. A closed
/// loop has none, and neither has a replayed curve: its seconds are too short to be judged alone.
#[must_use]
pub fn levels(plan: &Plan) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    let mut from_us = 0;
    if plan.profile.shape == Shape::Replay {
        return levels;
    }
    for piece in &plan.profile.pieces {
        let to_us = from_us + piece.duration_us;
        let rate = piece.from;
        match levels.last_mut() {
            _ if piece.from != piece.to || rate == Rate(0) => {}
            Some(last) if last.to_us == from_us && last.rate == rate => last.to_us = to_us,
            _ => levels.push(Level {
                from_us,
                to_us,
                rate,
            }),
        }
        from_us = to_us;
    }
    levels
}

/// The limits that a level exceeds, in comparison with the lowest one.
#[must_use]
pub fn exceeded(level: &LoadLevel, lowest: &LoadLevel) -> Vec<LevelLimit> {
    let is_short = product(level.started, 100) < product(level.planned, ACHIEVED_PCT);
    let p99_us = |level: &LoadLevel| level.response.map(|response| response.p99_us);
    let is_slow = match (p99_us(level), p99_us(lowest)) {
        (Some(us), Some(least_us)) => {
            us > least_us.saturating_mul(LATENCY_FACTOR) && us - least_us >= LATENCY_US
        }
        (Some(_), None) => false,
        (None, _) => true,
    };
    let (finished, of_lowest) = (level.finished.max(1), lowest.finished.max(1));
    // Errors of both levels on one denominator, times 100.
    let errors = product(level.errors, of_lowest).saturating_mul(100);
    let allowed = product(lowest.errors, finished).saturating_mul(100)
        + product(finished, of_lowest).saturating_mul(u128::from(ERRORS_PCT));
    let limits = [
        (is_short, LevelLimit::Achieved),
        (is_slow, LevelLimit::Latency),
        (errors > allowed, LevelLimit::Errors),
    ];
    let exceeded = limits.into_iter().filter(|(is_exceeded, _)| *is_exceeded);
    exceeded.map(|(_, limit)| limit).collect()
}

/// The knee of levels whose limits were judged, by their planned rates.
///
/// # Errors
/// The reason why these levels have no knee.
pub fn knee(levels: &[LoadLevel]) -> Result<Knee, NoKnee> {
    let mut order: Vec<(usize, &LoadLevel)> = levels.iter().enumerate().collect();
    // Stable: levels of one rate stay in the order of time.
    order.sort_by(|(_, one), (_, other)| one.rate_rps.total_cmp(&other.rate_rps));
    let rises = |pair: &&[(usize, &LoadLevel)]| pair[0].1.rate_rps < pair[1].1.rate_rps;
    if order.windows(2).filter(rises).count() + 1 < RATES_MIN {
        return Err(NoKnee::FewLevels);
    }
    let broke = order.iter().find(|(_, level)| !level.exceeded.is_empty());
    let &(broke, first) = broke.ok_or(NoKnee::AllHeld)?;
    let below = order.iter().rev();
    let mut below = below.filter(|(_, level)| level.rate_rps < first.rate_rps);
    let &(held, _) = below.next().ok_or(NoKnee::LowestBroke)?;
    let index = |place| u32::try_from(place).unwrap_or(u32::MAX);
    Ok(Knee {
        held: index(held),
        broke: index(broke),
    })
}

/// The knee as one object; `None` without a knee.
#[must_use]
pub fn knee_point(curve: &LoadCurve) -> Option<KneePoint> {
    let held = curve.knee?.held;
    let level = curve.levels.get(usize::try_from(held).ok()?)?;
    let rates = curve.levels.iter().map(|level| level.rate_rps);
    Some(KneePoint {
        step: held + 1,
        rps: level.rate_rps,
        p99_ms: level.response.map(|response| ms(response.p99_us)),
        error_rate_pct: level.error_rate_pct,
        total_steps: u32::try_from(curve.levels.len()).unwrap_or(u32::MAX),
        max_rps: rates.fold(0.0, f64::max),
    })
}

impl Closing<'_> {
    /// The load curve and its knee as one object.
    pub(crate) fn load_curve_and_knee(
        &self,
        accounts: &Accounts,
    ) -> (Option<LoadCurve>, Option<KneePoint>) {
        let curve = self.load_curve(accounts);
        let point = curve.as_ref().and_then(knee_point);
        (curve, point)
    }

    /// The load curve; `None` when the plan holds fewer than two rates.
    fn load_curve(&self, accounts: &Accounts) -> Option<LoadCurve> {
        let planned = levels(self.plan);
        let first = planned.first()?.rate;
        if planned.iter().all(|level| level.rate == first) {
            return None;
        }
        let steering = &self.control.state.steering;
        if !steering.rates.is_empty() || !timeline::steered(self.control).is_empty() {
            return Some(LoadCurve {
                levels: Vec::new(),
                knee: None,
                no_knee: Some(NoKnee::Steered),
            });
        }
        let measured = planned.iter().map(|level| self.level(accounts, level));
        let mut levels: Vec<LoadLevel> = measured.flatten().collect();
        let rate = |level: &&LoadLevel| level.rate_rps;
        let lowest = levels.iter();
        let lowest = lowest.min_by(|one, other| rate(one).total_cmp(&rate(other)));
        if let Some(lowest) = lowest.cloned() {
            for level in &mut levels {
                level.exceeded = exceeded(level, &lowest);
            }
        }
        let knee = knee(&levels);
        Some(LoadCurve {
            levels,
            knee: knee.ok(),
            no_knee: knee.err(),
        })
    }

    /// The figures of one level, without judgement; `None` when no whole tick of it was offered.
    fn level(&self, accounts: &Accounts, level: &Level) -> Option<LoadLevel> {
        let ticks = self.whole_ticks(level);
        let mut response = HistogramSum::new(Precision::Latency);
        let mut service = HistogramSum::new(Precision::Latency);
        let (mut finished, mut errors) = (0, 0);
        for (_, calls) in self.data.ticks.range(ticks.clone()) {
            finished += calls.finished;
            errors += calls.errors;
            response.add(calls.responses.iter());
            service.add(calls.services.iter());
        }
        let raises = self.raises_in(ticks.clone());
        finished += raises.without_call;
        errors += raises.more_errors();
        let (mut planned, mut started) = (0, 0);
        for (_, arrivals) in accounts.ticks.range(ticks.clone()) {
            planned += arrivals.planned;
            started += arrivals.started;
        }
        let from_us = u64::from(ticks.start) * self.plan.tick_us;
        let to_us = u64::from(ticks.end) * self.plan.tick_us;
        (from_us < to_us).then(|| LoadLevel {
            from_us,
            to_us,
            rate_rps: level.rate.as_rps(),
            planned,
            started,
            planned_rps: per_second(planned, to_us - from_us),
            achieved_rps: per_second(started, to_us - from_us),
            finished,
            errors,
            error_rate_pct: (finished > 0).then(|| percent(errors, finished)),
            response: latency(&response),
            service: latency(&service),
            exceeded: Vec::new(),
        })
    }

    /// The ticks that are whole in a level and in the measured time.
    fn whole_ticks(&self, level: &Level) -> Range<u32> {
        let from_us = level.from_us.max(self.measured_from_us());
        let to_us = level.to_us.min(self.measured_to_us());
        let tick = |us: u64| u32::try_from(us).unwrap_or(u32::MAX);
        let from = tick(from_us.div_ceil(self.plan.tick_us));
        from..tick(to_us / self.plan.tick_us).max(from)
    }
}

fn latency(sum: &HistogramSum) -> Option<LevelLatency> {
    let hist = sum.hist();
    (!hist.is_empty()).then(|| LevelLatency {
        p50_us: percentile_us(&hist, 50.0),
        p99_us: percentile_us(&hist, 99.0),
    })
}

fn product(one: u64, other: u64) -> u128 {
    u128::from(one) * u128::from(other)
}

//! The controller of a run that holds gates: it computes the next rate from the measurements at the
//! earlier rates.
//!
//! It doubles the rate until a gate fails, narrows the range between the highest rate that passed
//! and the lowest that failed, and stays at the former. From time to time it tries a rate above,
//! since the capacity of a target may grow. After a failure it waits at a lower rate until the
//! target has caught up: the queue at the target would make any rate fail. A pure function of the
//! changes in the log and of the newest measurement, without a memory of its own.

use loadpilot_events::limits::{RATE_MAX_URPS, STEERED_MAX};
use loadpilot_events::log::steer::hold::HoldWindow;
use loadpilot_events::units::Rate;

/// The measurements at the present rate.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// The last ticks at the present rate, at most [`WINDOW_TICKS`].
    pub window: &'a HoldWindow,
    /// The newest of them alone.
    pub newest: &'a HoldWindow,
    /// Number of all ticks at the present rate.
    pub ticks: u32,
}

impl Measured<'_> {
    /// The measurement by which the rate is judged: the newest tick alone when it passed and the
    /// whole window failed, since the target has caught up.
    #[must_use]
    pub fn decisive(&self) -> &HoldWindow {
        match self.newest.passed && !self.window.passed {
            true => self.newest,
            false => self.window,
        }
    }
}

/// Maximum number of ticks that are judged together.
pub const WINDOW_TICKS: u32 = 5;
/// Number of ticks after which a rate passes; one is enough before the first failure.
const PASS_TICKS: u32 = 3;
/// Number of ticks after which a rate just above the held one passes: a short queue grows slowly.
const TRY_TICKS: u32 = 6;
/// Number of ticks within which a target has to catch up at a lower rate; otherwise that rate
/// fails, too.
const CATCH_UP_TICKS: u32 = 20;
/// Number of ticks at the held rate before a higher one is tried; doubled after each that failed.
const STAY_TICKS: u32 = 15;
/// How often that number is doubled at most.
const DOUBLINGS_MAX: u32 = 3;
/// Range, in percent of the rate that passed, that is not narrowed any more.
const RANGE_PCT: u64 = 4;
/// How far above the held rate another one is tried, in percent.
const TRY_PCT: u64 = 5;
/// The lowest rate that is tried: one arrival per second.
const RATE_MIN: Rate = Rate(1_000_000);

/// The range in which the highest rate lies at which the gates hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Range {
    /// Rates that passed, unless a lower one failed later; ascending.
    passed: Vec<Rate>,
    /// The lowest rate that failed, or a rate just above the one that the target served; unless it
    /// passed later.
    failed: Option<Rate>,
    /// Whether any rate failed yet.
    has_failed: bool,
    /// Whether the last rate failed, so that the target has to catch up.
    catches_up: bool,
    /// Number of rates that passed since one failed.
    raises: u32,
    /// Number of tries just above the held rate that failed.
    tries: u32,
    /// The largest number of calls per arrival, times 1,000.
    calls_permille: u64,
}

impl Range {
    /// The range after these steps, in their order.
    #[must_use]
    pub fn of<'a>(steps: impl IntoIterator<Item = &'a HoldWindow>) -> Self {
        let after = |range: Self, step| range.after(step);
        steps.into_iter().fold(Self::default(), after)
    }

    /// The highest rate that passed, unless it failed later: the rate that is held.
    #[must_use]
    pub fn held(&self) -> Option<Rate> {
        self.passed.last().copied()
    }

    /// The lowest rate that failed, or the one that the target can serve.
    #[must_use]
    pub fn failed(&self) -> Option<Rate> {
        self.failed
    }

    #[must_use]
    fn after(mut self, step: &HoldWindow) -> Self {
        let rate = step.rate;
        let catches_up = std::mem::replace(&mut self.catches_up, !step.passed);
        if step.passed {
            self.raises += 1;
            self.calls_permille = self.calls_permille.max(permille(step.calls, step.started));
            if self.failed.is_some_and(|failed| failed <= rate) {
                // The target can serve more than before, by a factor that is unknown.
                (self.failed, self.raises) = (None, 1);
            }
            if self.held().is_none_or(|held| held < rate) {
                self.passed.push(rate);
            }
            return self;
        }
        self.tries = if self.is_try(rate) { self.tries + 1 } else { 0 };
        let served = self.served(step).map(|served| raised(served, 2));
        self.passed.retain(|passed| *passed < rate);
        if catches_up {
            // The queue at the target made it fail: the rate itself may be right.
            return self;
        }
        let upper = served.map_or(rate, |served| served.min(rate));
        let upper = self.held().map_or(upper, |held| upper.max(raised(held, 1)));
        self.failed = Some(self.failed.map_or(upper, |failed| failed.min(upper)));
        (self.has_failed, self.raises) = (true, 0);
        self
    }

    /// Whether a rate is just above the one that is held.
    fn is_try(&self, rate: Rate) -> bool {
        self.held()
            .is_some_and(|held| held < rate && rate <= raised(held, TRY_PCT + 1))
    }

    /// Rate at which the target answered in a part that failed, as far as its figures show. Unknown
    /// for a rate near one that passed, which may have left a queue, and for a rate at which the
    /// target kept up.
    fn served(&self, failed: &HoldWindow) -> Option<Rate> {
        let is_far = |held: Rate| raised(held, 20) < failed.rate;
        if !self.held().is_none_or(is_far) {
            return None;
        }
        // With a queue in front of the target, the calls of the first arrivals have ended.
        let share = permille(failed.calls, failed.planned);
        let by_calls = match self.calls_permille {
            0 => failed.rate.0,
            of_passed => (failed.rate.0 / of_passed).saturating_mul(share),
        };
        // The last arrival waited for the time that the target needs beyond the length of the part.
        let waited_us = failed.actual.filter(|_| failed.key.ends_with("_ms"));
        let waited_us = waited_us.map_or(0, |ms| (ms * 1_000.0) as u64);
        let length_us = failed.to_us.saturating_sub(failed.from_us);
        let needed_us = length_us.saturating_add(waited_us).max(1);
        let by_wait = (failed.rate.0 / needed_us).saturating_mul(length_us);
        let served = by_calls.min(by_wait);
        (0 < served && served < reduced(failed.rate, 5).0).then_some(Rate(served))
    }

    /// Whether the range is narrow enough.
    fn is_narrow(&self) -> bool {
        match (self.held(), self.failed) {
            (Some(held), Some(failed)) => failed <= raised(held, RANGE_PCT),
            _ => false,
        }
    }

    /// The rate that tells most about the range, or the rate to hold.
    fn next(&self, now: Rate) -> Rate {
        match (self.held(), self.failed) {
            (None, None) => now,
            (None, Some(failed)) => divided(failed, 4).min(now),
            (Some(held), None) if self.has_failed => {
                raised(held, TRY_PCT << self.raises.saturating_sub(1).min(4))
            }
            (Some(held), None) => raised(held, 100),
            (Some(held), Some(_)) if self.is_narrow() => held,
            (Some(held), Some(failed)) => Rate(held.0.midpoint(failed.0)),
        }
    }
}

/// The rate to change to, after the steps that led to the present rate; `None` to stay. `limit` is
/// the limit of the tenant's rates, known once a rate above it was refused: a change to the same
/// rate then stores that the limit itself passed.
#[must_use]
pub fn next_rate(
    steps: &[HoldWindow],
    measured: &Measured<'_>,
    limit: Option<Rate>,
) -> Option<Rate> {
    if steps.len() >= STEERED_MAX {
        return None;
    }
    let (window, newest) = (measured.window, measured.newest);
    let now = window.rate;
    let range = Range::of(steps);
    let next = if range.catches_up && newest.passed && has_caught_up(newest, measured.ticks) {
        range.after(newest).next(now)
    } else if window.passed {
        after_pass(&range, measured)?
    } else if newest.passed {
        return None; // one of several ticks was bad
    } else if !range.catches_up {
        after_failure(&range, window)
    } else {
        let needed = if is_shrinking(measured) {
            CATCH_UP_TICKS
        } else {
            WINDOW_TICKS
        };
        (measured.ticks >= needed).then_some(divided(now, 2))?
    };
    let next = next.min(limit.unwrap_or(Rate(RATE_MAX_URPS))).max(RATE_MIN);
    let is_stored = limit.is_none() || steps.last().is_some_and(|step| step.rate == now);
    (next != now || !is_stored).then_some(next)
}

/// Whether the queue at the target is empty: the figure is at most half of the limit. A figure that
/// is higher at every rate would never show this, so [`WINDOW_TICKS`] ticks suffice, too.
fn has_caught_up(newest: &HoldWindow, ticks: u32) -> bool {
    let is_well_within = newest
        .actual
        .is_some_and(|actual| actual * 2.0 <= newest.limit);
    is_well_within || ticks >= WINDOW_TICKS
}

/// Whether the queue at the target is shorter in the newest tick than before.
fn is_shrinking(measured: &Measured<'_>) -> bool {
    match (measured.newest.actual, measured.window.actual) {
        (Some(newest), Some(window)) => newest < window,
        _ => false,
    }
}

/// The next rate after one that passed.
fn after_pass(before: &Range, measured: &Measured<'_>) -> Option<Rate> {
    let now = measured.window.rate;
    let range = before.clone().after(measured.window);
    let is_held = range.is_narrow() && range.held() == Some(now);
    let (needed, next) = match (is_held, range.has_failed) {
        (true, _) => {
            let stay = STAY_TICKS << range.tries.min(DOUBLINGS_MAX);
            (stay, raised(now, TRY_PCT))
        }
        (false, true) if before.is_try(now) => (TRY_TICKS, range.next(now)),
        (false, true) => (PASS_TICKS, range.next(now)),
        (false, false) => (1, range.next(now)),
    };
    (measured.ticks >= needed).then_some(next)
}

/// The rate at which the target catches up after a part that failed.
fn after_failure(range: &Range, failed: &HoldWindow) -> Rate {
    let after = range.clone().after(failed);
    match (range.served(failed), after.held()) {
        // The queue at the target shrinks by the arrivals that it can serve beyond the rate.
        (Some(served), _) => divided(served, 3),
        (None, Some(_)) => reduced(failed.rate, 10),
        (None, None) => divided(failed.rate, 4),
    }
}

fn permille(count: u64, of: u64) -> u64 {
    count.saturating_mul(1_000) / of.max(1)
}

fn raised(rate: Rate, pct: u64) -> Rate {
    Rate(rate.0.saturating_add(rate.0 / 100 * pct))
}

fn reduced(rate: Rate, pct: u64) -> Rate {
    Rate(rate.0 - rate.0 / 100 * pct)
}

fn divided(rate: Rate, by: u64) -> Rate {
    Rate(rate.0 / by)
}

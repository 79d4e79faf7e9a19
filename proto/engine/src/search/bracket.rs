//! The rates between which the limit lies, and the probe that narrows them down.

use std::collections::BTreeSet;

use loadpilot_events::answers::compare::search::{
    NextProbe, Probe, ProbePurpose, ProbeVerdict, SearchSettings, SearchState,
};
use loadpilot_events::units::Rate;

/// Maximum number of judged probes of a search: a target that is still not settled has no rate that
/// it passes reliably.
pub const PROBES_MAX: usize = 100;
/// Number of times that the rate of the first probe is halved before the search gives up.
pub const HALVINGS_MAX: u32 = 6;
/// A whole, in millionths.
const WHOLE_PPM: u128 = 1_000_000;
/// Probed rates are rounded to a power of ten that is at most this part of the precision: people
/// read them, and the search needs no additional probe.
const ROUNDING_OF_PRECISION: u128 = 8;

/// The result of all probes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bracket {
    /// The highest rate that passed, below every one that failed.
    pub(super) passed: Option<Rate>,
    /// The lowest rate that failed, whether it passed as well or not.
    pub(super) failed: Option<Rate>,
    /// Number of times that `passed` passed.
    passes: usize,
    /// Number of probes that were judged.
    judged: usize,
    /// Number of rates that passed at or above one that failed.
    pub(super) contradictions: usize,
}

/// Where a search stands, and its next probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) state: SearchState,
    pub(super) next: Option<NextProbe>,
}

impl Bracket {
    /// Folds the probes, in any order.
    pub(super) fn of(probes: &[Probe]) -> Self {
        let rates = |verdict: ProbeVerdict| {
            let of_verdict = probes.iter().filter(move |probe| probe.verdict == verdict);
            of_verdict.map(|probe| probe.rate_urps)
        };
        let failed = rates(ProbeVerdict::Failed).min();
        let is_below = |rate: &Rate| failed.is_none_or(|failed| *rate < failed);
        let passed = rates(ProbeVerdict::Passed).filter(is_below).max();
        let beyond: BTreeSet<Rate> = rates(ProbeVerdict::Passed)
            .filter(|rate| !is_below(rate))
            .collect();
        Self {
            passed,
            failed,
            passes: rates(ProbeVerdict::Passed)
                .filter(|rate| Some(*rate) == passed)
                .count(),
            judged: rates(ProbeVerdict::Passed).count() + rates(ProbeVerdict::Failed).count(),
            contradictions: beyond.len(),
        }
    }

    /// Decides about the next probe.
    pub(super) fn step(&self, settings: &SearchSettings) -> Step {
        let over = |state| Step { state, next: None };
        let probe = |rate_urps, purpose| Step {
            state: SearchState::Searching,
            next: Some(NextProbe { rate_urps, purpose }),
        };
        let (rate, purpose) = match (self.passed, self.failed) {
            (None, None) => (settings.start_urps, ProbePurpose::Start),
            (None, Some(failed)) => {
                let least = settings.start_urps.0 >> HALVINGS_MAX;
                let half = Rate(failed.0 / 2);
                if half.0 < least.max(1) {
                    return over(SearchState::NoRate);
                }
                (half, ProbePurpose::Halve)
            }
            (Some(passed), None) if passed < settings.limit_urps => {
                let double = Rate(passed.0.saturating_mul(2)).min(settings.limit_urps);
                (double, ProbePurpose::Double)
            }
            (Some(passed), failed) => {
                let between = failed
                    .and_then(|failed| middle(passed, failed, u128::from(settings.precision_ppm)));
                let needed = usize::try_from(settings.confirm).unwrap_or(usize::MAX);
                match between {
                    Some(middle) => (middle, ProbePurpose::Bisect),
                    None if self.passes <= needed => (passed, ProbePurpose::Confirm),
                    None if failed.is_none() => return over(SearchState::AtLimit),
                    None => return over(SearchState::Found),
                }
            }
        };
        if self.judged >= PROBES_MAX {
            return over(SearchState::Unsettled);
        }
        probe(rate, purpose)
    }
}

/// The rate between two, rounded; none where they are as close as `precision_ppm` millionths of the
/// lower one.
fn middle(passed: Rate, failed: Rate, precision_ppm: u128) -> Option<Rate> {
    let (low, high) = (u128::from(passed.0), u128::from(failed.0));
    let precise = low * precision_ppm / WHOLE_PPM;
    if high - low <= precise {
        return None;
    }
    let mut unit = 1;
    while unit * 10 * ROUNDING_OF_PRECISION <= precise {
        unit *= 10;
    }
    let middle = (low + high + unit) / 2 / unit * unit;
    let is_between = low < middle && middle < high;
    u64::try_from(middle).ok().filter(|_| is_between).map(Rate)
}

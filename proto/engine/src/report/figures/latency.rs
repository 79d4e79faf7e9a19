//! Latency: corrected and uncorrected percentiles, and the cause of their difference.
//!
//! Coordinated omission is caused by the target. The lateness of the load generator is reported
//! separately.

use loadpilot_events::answers::latency::{Ladder, Latency, Omission, OmissionOrigin};
use loadpilot_events::log::delta::Phase;
use loadpilot_events::log::hist::{self, Hist};
use loadpilot_events::rules::Rules;

use crate::fold::project::Window;
use crate::report::close::Closing;
use crate::report::figures::generator_health::anatomy;
use crate::report::figures::percentiles::{co_factor, ladder, ms};
use crate::tally::aggregates::{AnatomySums, CallSums, merge};
use crate::tally::call_ids::CallId;
use crate::tally::unreached::unconnected;

/// Least difference, in µs, between corrected and uncorrected latency that matters: timer and
/// scheduler of an idle machine may be that late.
const OMISSION_US: u64 = 1_000;

/// Share, in percent, of the wait for a slot in a difference above which the target is its cause.
const OMISSION_QUEUE_PCT: f64 = 50.0;

impl Closing<'_> {
    pub(crate) fn latency(&self, all: &CallSums, ok: &CallSums, failed: &CallSums) -> Latency {
        let (response, service) = (ladder(&all.response), ladder(&all.service));
        let on_schedule = self.plan.users.is_none();
        let both = response.as_ref().zip(service.as_ref());
        let both = both.filter(|_| on_schedule && self.rules() >= Rules::V2);
        let omission = both
            .map(|(response, service)| omission(response, service, &anatomy(self.data, |_| true)));
        Latency {
            co_factor: co_factor(response.as_ref(), service.as_ref()).filter(|_| on_schedule),
            omission,
            unconnected: self.unconnected(|_| true),
            response_ok: ladder(&ok.response),
            response_failed: ladder(&failed.response),
            response_histogram: hist::encode(&normal(&all.response)),
            service_histogram: hist::encode(&normal(&all.service)),
            response,
            service,
        }
    }

    /// Number of finished calls of the measured time that `keep` selects and that reached no
    /// server; 0 under the first rules.
    pub(crate) fn unconnected(&self, keep: impl Fn(&CallId) -> bool) -> u64 {
        if self.rules() < Rules::V2 {
            return 0;
        }
        let calls = self.data.calls.iter();
        let measured = calls.filter(|((window, call, outcome), _)| {
            *window == Window::Measured && outcome.is_finished() && keep(call)
        });
        let counts =
            measured.map(|((_, _, outcome), sums)| unconnected(*outcome, sums.count, &sums.causes));
        counts.sum()
    }

    fn rules(&self) -> Rules {
        self.control.rules()
    }
}

/// The percentile where corrected is the largest multiple of uncorrected, and the cause.
fn omission(response: &Ladder, service: &Ladder, sums: &AnatomySums) -> Omission {
    let at = |percentile: f64, get: fn(&Ladder) -> u64| (percentile, (get(response), get(service)));
    let pairs = [
        at(50.0, |ladder| ladder.p50_us),
        at(75.0, |ladder| ladder.p75_us),
        at(90.0, |ladder| ladder.p90_us),
        at(95.0, |ladder| ladder.p95_us),
        at(99.0, |ladder| ladder.p99_us),
        at(99.9, |ladder| ladder.p99_9_us),
        at(99.99, |ladder| ladder.p99_99_us),
    ];
    let matters = |(response, service): (u64, u64)| response.saturating_sub(service) >= OMISSION_US;
    // p99 when all are alike: the factor is defined there.
    let mut worst = pairs[4];
    for pair in pairs {
        let better = (matters(pair.1), factor(pair.1)) > (matters(worst.1), factor(worst.1));
        if better {
            worst = pair;
        }
    }
    let total_us = |phase| sums.phases.get(&phase).map_or(0.0, total_us);
    let (lag_us, queue_us) = (total_us(Phase::ScheduleLag), total_us(Phase::Queue));
    let share = |part: f64| match lag_us + queue_us {
        whole if whole > 0.0 => part * 100.0 / whole,
        _ => 0.0,
    };
    let (schedule_lag_pct, queue_pct) = (share(lag_us), share(queue_us));
    let (percentile, both) = worst;
    let origin = match queue_pct > OMISSION_QUEUE_PCT {
        _ if !matters(both) => OmissionOrigin::Negligible,
        true => OmissionOrigin::Target,
        false => OmissionOrigin::Generator,
    };
    Omission {
        percentile,
        factor: factor(both),
        response_us: both.0,
        service_us: both.1,
        schedule_lag_pct,
        queue_pct,
        origin,
    }
}

fn factor((response_us, service_us): (u64, u64)) -> f64 {
    ms(response_us.max(1)) / ms(service_us.max(1))
}

/// The sum of the values of a histogram, to its precision.
#[expect(
    clippy::cast_precision_loss,
    reason = "a share for people; counts stay far below 2^53"
)]
fn total_us(hist: &Hist) -> f64 {
    hist.mean() * hist.len() as f64
}

/// The same values in a histogram whose encoding does not depend on the order of merging.
fn normal(hist: &Hist) -> Hist {
    let mut normal = hist::latency();
    merge(&mut normal, hist);
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Percentiles that are `low` up to p90 and `high` from p95 on.
    fn rungs(low: u64, high: u64) -> Ladder {
        Ladder {
            count: 1_000,
            min_us: 1,
            mean_us: 1.0,
            p50_us: low,
            p75_us: low,
            p90_us: low,
            p95_us: high,
            p99_us: high,
            p99_9_us: high,
            p99_99_us: high,
            max_us: high,
        }
    }

    fn waits(lag_us: u64, queue_us: u64) -> AnatomySums {
        let mut sums = AnatomySums::default();
        for (phase, us) in [(Phase::ScheduleLag, lag_us), (Phase::Queue, queue_us)] {
            let hist = sums.phases.entry(phase).or_insert_with(hist::anatomy);
            hist::record(hist, us);
        }
        sums
    }

    /// Broken if the lag of an idle generator is reported as an omission of the target.
    #[test]
    fn a_late_generator_hides_nothing_of_the_target() {
        let idle = omission(&rungs(400, 1_100), &rungs(100, 300), &waits(250, 0));
        assert_eq!(idle.origin, OmissionOrigin::Negligible);
        assert_eq!((idle.percentile, idle.factor), (50.0, 4.0));
        let late = omission(&rungs(400, 9_000), &rungs(100, 3_000), &waits(900, 100));
        assert_eq!(late.origin, OmissionOrigin::Generator);
        assert_eq!(
            (late.percentile, late.factor),
            (99.0, 3.0),
            "the one that matters"
        );
        assert!((late.schedule_lag_pct - 90.0).abs() < 0.5, "{late:?}");
    }

    /// Broken if no omission is reported where both p99 are at the time-out.
    #[test]
    fn what_hides_below_the_time_out_is_found() {
        let both = (rungs(434_000, 1_000_000), rungs(8_700, 1_000_000));
        let found = omission(&both.0, &both.1, &waits(1_000, 99_000));
        assert_eq!(found.origin, OmissionOrigin::Target);
        assert_eq!(found.percentile, 50.0);
        assert!(found.factor > 49.0 && found.queue_pct > 98.0, "{found:?}");
    }

    /// Broken if a run without waiting names a cause, or a percentile other than that of the
    /// factor.
    #[test]
    fn where_nothing_waited_the_factor_is_that_of_p99() {
        let found = omission(&rungs(500, 900), &rungs(500, 900), &AnatomySums::default());
        assert_eq!((found.percentile, found.factor), (99.0, 1.0));
        assert_eq!(found.origin, OmissionOrigin::Negligible);
        assert_eq!((found.schedule_lag_pct, found.queue_pct), (0.0, 0.0));
    }
}

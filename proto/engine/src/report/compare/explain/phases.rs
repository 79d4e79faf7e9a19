//! The contribution of a call, divided among its phases.
//!
//! Requests are ranked by latency. Those whose rank passes the two values of the percentile are the
//! ones that moved; each phase shares in proportion to how much longer it took at these ranks.

use std::collections::BTreeMap;
use std::ops::Range;

use loadpilot_events::log::delta::Phase;

use super::call_counts::{CallCounts, Counts, as_number};

/// Divides `shift_ms`, the contribution of a call (now, and in the baseline) between two buckets:
/// the part of each phase, and the part of no phase.
pub(super) fn divided(
    shift_ms: f64,
    (now, before): (&CallCounts<'_>, &CallCounts<'_>),
    between: &Range<usize>,
) -> (BTreeMap<Phase, f64>, f64) {
    let (slow, fast) = match shift_ms > 0.0 {
        true => (now, before),
        false => (before, now),
    };
    let ranks = slow.response.share_up_to(between.start).unwrap_or(0.0)
        ..fast.response.share_up_to(between.end).unwrap_or(0.0);
    if shift_ms == 0.0 || ranks.start >= ranks.end {
        return (BTreeMap::new(), shift_ms);
    }
    let longer = |slow: Option<&Counts>, fast: Option<&Counts>, of: (u64, u64)| {
        mean_us(slow, of.0, &ranks) - mean_us(fast, of.1, &ranks)
    };
    let calls = (slow.response.total(), fast.response.total());
    let grown = slow.phases.keys().map(|phase| {
        (
            *phase,
            longer(slow.phases.get(phase), fast.phases.get(phase), calls),
        )
    });
    let grown: BTreeMap<Phase, f64> = grown.filter(|(_, by)| *by > 0.0).collect();
    let response = longer(Some(&slow.response), Some(&fast.response), calls);
    let all = grown.values().sum::<f64>().max(response);
    let phases: BTreeMap<Phase, f64> = grown
        .into_iter()
        .map(|(phase, by)| (phase, shift_ms * by / all))
        .collect();
    let other_ms = shift_ms - phases.values().sum::<f64>();
    (phases, other_ms)
}

/// Mean time of the calls at some ranks, 0 for calls without the phase.
fn mean_us(counts: Option<&Counts>, calls: u64, ranks: &Range<f64>) -> f64 {
    let Some(counts) = counts else {
        return 0.0;
    };
    let calls = calls.max(counts.total());
    let (from, to) = (ranks.start * as_number(calls), ranks.end * as_number(calls));
    let mut at = as_number(calls - counts.total());
    let mut sum = 0.0;
    for (value, count) in counts.values() {
        let end = at + as_number(count);
        sum += as_number(value) * (end.min(to) - at.max(from)).max(0.0);
        at = end;
    }
    sum / (to - from)
}

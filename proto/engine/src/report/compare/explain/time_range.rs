//! The time in which the requests that moved were due.
//!
//! A scan statistic in time (Kulldorff, 1997): the parts of the current run in which the share of
//! requests beyond a latency is the least likely under the share of the baseline.

use std::ops::Range;

use super::call_counts::{CallCounts, as_number};

/// Difference of log-likelihood up to which a longer time explains the requests as well as the
/// likeliest one: half of the 95 % quantile of χ² with one degree of freedom.
const AS_LIKELY: f64 = 1.92;

/// The parts of the current run in which a call was slower (or faster) than in the baseline, at a
/// bucket; `None` for all parts.
pub(super) fn time_range(
    now: &CallCounts<'_>,
    before: &CallCounts<'_>,
    bucket: usize,
    is_slower: bool,
) -> Option<Range<usize>> {
    // One more on each side, since no share is surely 0.
    let (all, within) = (
        before.response.total() + 2,
        before.response.up_to(bucket) + 1,
    );
    let of = |all: u64, within: u64| if is_slower { all - within } else { within };
    let expected = as_number(of(all, within)) / as_number(all);
    let parts = now.parts.iter();
    let parts: Vec<(u64, u64)> = parts
        .map(|part| (part.total(), of(part.total(), part.up_to(bucket))))
        .collect();
    let mut found: Vec<(Range<usize>, f64)> = Vec::new();
    for start in 0..parts.len() {
        let (mut calls, mut moved) = (0, 0);
        for (end, part) in (start + 1..).zip(&parts[start..]) {
            calls += part.0;
            moved += part.1;
            found.push((start..end, likelihood(calls, moved, expected)));
        }
    }
    let most = found.iter().map(|(_, likely)| *likely).fold(0.0, f64::max);
    let as_likely = found
        .into_iter()
        .filter(|(_, likely)| *likely >= most - AS_LIKELY);
    let (longest, _) =
        as_likely.max_by(|a, b| a.0.len().cmp(&b.0.len()).then(a.1.total_cmp(&b.1)))?;
    (longest.len() < parts.len()).then_some(longest)
}

/// Logarithm of how much likelier `moved` of `calls` are at their own share than at the expected
/// one; 0 where the share is not above it.
fn likelihood(calls: u64, moved: u64, expected: f64) -> f64 {
    let (all, moved) = (as_number(calls), as_number(moved));
    if moved <= all * expected {
        return 0.0;
    }
    let term = |part: f64, share: f64| {
        if part > 0.0 {
            part * (part / all / share).ln()
        } else {
            0.0
        }
    };
    term(moved, expected) + term(all - moved, 1.0 - expected)
}

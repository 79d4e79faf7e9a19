//! Percentiles of a merged histogram. They are read here and nowhere else, and must never be
//! averaged.

use std::collections::BTreeMap;

use loadpilot_events::answers::report::Ladder;
use loadpilot_events::log::delta::Phase;
use loadpilot_events::log::hist::Hist;

use crate::tally::aggregates::AnatomySums;
use crate::tally::packed_histogram::{PackedHistogram, Precision};

/// The percentiles of a distribution; `None` when it is empty.
#[must_use]
pub fn ladder(hist: &Hist) -> Option<Ladder> {
    (!hist.is_empty()).then(|| Ladder {
        count: hist.len(),
        min_us: hist.min(),
        mean_us: hist.mean(),
        p50_us: percentile_us(hist, 50.0),
        p75_us: percentile_us(hist, 75.0),
        p90_us: percentile_us(hist, 90.0),
        p95_us: percentile_us(hist, 95.0),
        p99_us: percentile_us(hist, 99.0),
        p99_9_us: percentile_us(hist, 99.9),
        p99_99_us: percentile_us(hist, 99.99),
        max_us: hist.max(),
    })
}

/// The percentiles of each phase that took place.
#[must_use]
pub fn ladders(sums: &AnatomySums) -> BTreeMap<Phase, Ladder> {
    let ladders = sums
        .phases
        .iter()
        .map(|(&phase, hist)| (phase, ladder(hist)));
    ladders
        .filter_map(|(phase, ladder)| ladder.map(|ladder| (phase, ladder)))
        .collect()
}

/// Nearest-rank percentile: the smallest recorded value that at least `percent` % of the values do
/// not exceed, in µs, to the precision of the histogram and never above its maximum.
#[must_use]
pub fn percentile_us(hist: &Hist, percent: f64) -> u64 {
    hist.value_at_percentile(percent).min(hist.max())
}

/// [`percentile_us`] of packed counts for each of `percents`, which are above 0 and ascend; `None`
/// when there are none.
#[must_use]
pub fn packed_percentiles_us<const N: usize>(
    packed: &PackedHistogram,
    precision: Precision,
    percents: [f64; N],
) -> Option<[u64; N]> {
    percentiles_of(packed.iter(), precision, percents)
}

/// [`percentile_us`] of counted buckets, ascending and none empty, for each of `percents`, which
/// are above 0 and ascend; `None` when there are none.
#[must_use]
pub fn percentiles_of<const N: usize>(
    mut counts: impl Iterator<Item = (usize, u64)> + Clone,
    precision: Precision,
    percents: [f64; N],
) -> Option<[u64; N]> {
    let total: u64 = counts.clone().map(|(_, count)| count).sum();
    let (mut last, mut passed) = counts.next()?;
    Some(percents.map(|percent| {
        while passed < nearest_rank(percent, total) {
            let Some((bucket, count)) = counts.next() else {
                break;
            };
            (last, passed) = (bucket, passed + count);
        }
        precision.greatest(last)
    }))
}

/// Number of values that a percentile is to cover, as the library of the histograms computes it.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts stay far below 2^53"
)]
pub(in crate::report) fn nearest_rank(percent: f64, total: u64) -> u64 {
    ((percent / 100.0).min(1.0) * total as f64).ceil() as u64
}

/// Corrected p99 over uncorrected p99.
#[must_use]
pub fn co_factor(response: Option<&Ladder>, service: Option<&Ladder>) -> Option<f64> {
    let (response, service) = response.zip(service)?;
    Some(ms(response.p99_us.max(1)) / ms(service.p99_us.max(1)))
}

/// µs as ms, for fields in ms.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "exact below 2^53 µs, which is 285 years"
)]
pub fn ms(us: u64) -> f64 {
    us as f64 / 1e3
}

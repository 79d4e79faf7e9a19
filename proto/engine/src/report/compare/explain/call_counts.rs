//! Response times and phases of the calls of a run, for reading shares of them.

use std::collections::BTreeMap;

use loadpilot_events::answers::compare::{CallParts, RunParts};
use loadpilot_events::id::RunId;
use loadpilot_events::log::delta::Phase;
use loadpilot_events::log::hist::{self, EncodedHistogram, NotAHistogram};

use crate::report::compare::run_parts::bounds_us;
use crate::report::figures::percentiles::percentile_us;
use crate::tally::packed_histogram::{PackedHistogram, Precision};

/// The calls of a run.
pub(super) struct RunCounts<'a> {
    pub(super) id: &'a RunId,
    /// Where the parts of the measured time begin and the last one ends, in µs after the start.
    pub(super) bounds_us: Vec<u64>,
    pub(super) calls: Vec<CallCounts<'a>>,
}

/// A call.
pub(super) struct CallCounts<'a> {
    pub(super) task: &'a str,
    pub(super) call: &'a str,
    /// Response time in the whole measured time.
    pub(super) response: Counts,
    /// Response time in each part of it.
    pub(super) parts: Vec<Counts>,
    pub(super) phases: BTreeMap<Phase, Counts>,
}

/// Counts by bucket.
pub(super) struct Counts {
    precision: Precision,
    /// The buckets that are not empty, each with the number of values up to it.
    up_to: Vec<(usize, u64)>,
}

impl<'a> RunCounts<'a> {
    /// # Errors
    /// When a histogram cannot be decoded.
    pub(super) fn of(run: &'a RunParts) -> Result<Self, NotAHistogram> {
        Ok(Self {
            id: &run.run,
            bounds_us: bounds_us(run),
            calls: run
                .calls
                .iter()
                .map(CallCounts::of)
                .collect::<Result<_, _>>()?,
        })
    }
}

impl<'a> CallCounts<'a> {
    fn of(call: &'a CallParts) -> Result<Self, NotAHistogram> {
        let parts = call.response.iter();
        let parts = parts.map(|part| Counts::of(part, Precision::Latency));
        let parts: Vec<Counts> = parts.collect::<Result<_, _>>()?;
        let phases = call.phases.iter();
        let phases = phases.map(|(phase, hist)| Ok((*phase, Counts::of(hist, Precision::Phase)?)));
        Ok(Self {
            task: &call.task,
            call: &call.call,
            response: Counts::sum(&parts),
            parts,
            phases: phases.collect::<Result<_, NotAHistogram>>()?,
        })
    }
}

impl Counts {
    fn of(hist: &EncodedHistogram, precision: Precision) -> Result<Self, NotAHistogram> {
        let packed = PackedHistogram::of(&hist::decode(hist)?, precision);
        Ok(Self::cumulative(packed.iter(), precision))
    }

    /// The sum of counts of response times.
    pub(super) fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sums: BTreeMap<usize, u64> = BTreeMap::new();
        for (bucket, count) in all.into_iter().flat_map(Self::by_bucket) {
            *sums.entry(bucket).or_default() += count;
        }
        Self::cumulative(sums.into_iter(), Precision::Latency)
    }

    fn cumulative(counts: impl Iterator<Item = (usize, u64)>, precision: Precision) -> Self {
        let up_to = counts.scan(0_u64, |sum, (bucket, count)| {
            *sum = sum.saturating_add(count);
            Some((bucket, *sum))
        });
        Self {
            precision,
            up_to: up_to.collect(),
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.up_to.last().map_or(0, |&(_, sum)| sum)
    }

    /// Number of values in a bucket or below it.
    pub(super) fn up_to(&self, bucket: usize) -> u64 {
        let index = self.up_to.partition_point(|&(at, _)| at <= bucket);
        index.checked_sub(1).map_or(0, |last| self.up_to[last].1)
    }

    /// Share of the values in a bucket or below it; `None` without values.
    pub(super) fn share_up_to(&self, bucket: usize) -> Option<f64> {
        (self.total() > 0).then(|| share(self.up_to(bucket), self.total()))
    }

    /// The least value of each bucket that is not empty, and the number of its values.
    pub(super) fn values(&self) -> impl Iterator<Item = (u64, u64)> {
        let precision = self.precision;
        self.by_bucket()
            .map(move |(bucket, count)| (precision.least(bucket), count))
    }

    fn by_bucket(&self) -> impl Iterator<Item = (usize, u64)> {
        let before = std::iter::once(0).chain(self.up_to.iter().map(|&(_, sum)| sum));
        let counts = self.up_to.iter().zip(before);
        counts.map(|(&(bucket, sum), before)| (bucket, sum - before))
    }

    /// The percentile as reports read it, in µs.
    ///
    /// # Panics
    /// Never: histograms grow on demand.
    pub(super) fn percentile_us(&self, percent: f64) -> u64 {
        let mut hist = self.precision.empty();
        for (value, count) in self.values() {
            hist.record_n(value, count)
                .expect("an auto-resizing histogram takes any value");
        }
        percentile_us(&hist, percent)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and µs stay far below 2^53"
)]
pub(super) fn as_number(number: u64) -> f64 {
    number as f64
}

/// `part` of `whole`; 0 of nothing is 0.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    as_number(part) / as_number(whole.max(1))
}

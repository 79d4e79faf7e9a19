//! The distribution of latencies of a slice: whole, or one for each bucket.

use std::ops::Range;

use loadpilot_events::answers::slice::{Histograms, Slice};
use loadpilot_events::log::hist::{self, EncodedHistogram, Hist, NotAHistogram};
use loadpilot_events::refusal::Refusal;

use super::indexed::Indexed;
use super::{Bucket, Query, Selection};
use crate::report::figures::percentiles::percentile_us;

/// Which latency a distribution is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LatencyKind {
    /// End − due, corrected.
    Response,
    /// End − dispatch, uncorrected.
    Service,
}

impl LatencyKind {
    fn of(self, bucket: &Bucket) -> Hist {
        match self {
            Self::Response => bucket.response.hist(),
            Self::Service => bucket.service.hist(),
        }
    }
}

/// The distribution of the finished calls of a slice.
///
/// # Errors
/// All problems of the slice.
pub fn histogram(run: Indexed<'_>, slice: &Slice, kind: LatencyKind) -> Result<Hist, Refusal> {
    let query = Query::of(run, slice)?;
    let selection = Selection::new(run, &query);
    Ok(kind.of(&bucket(run, &selection, query.ticks.clone())))
}

/// Begin, end and distribution of each bucket of a slice.
///
/// # Errors
/// All problems of the slice.
pub(super) fn by_bucket(
    run: Indexed<'_>,
    slice: &Slice,
    kind: LatencyKind,
) -> Result<Vec<(Range<u64>, Hist)>, Refusal> {
    let query = Query::of(run, slice)?;
    let selection = Selection::new(run, &query);
    let us = |tick: u32| u64::from(tick) * query.tick_us;
    let buckets = query.buckets().map(|ticks| {
        let range = us(ticks.start)..us(ticks.end);
        (range, kind.of(&bucket(run, &selection, ticks)))
    });
    Ok(buckets.collect())
}

/// The stored distributions of a slice, for each bucket of its series.
///
/// # Errors
/// All problems of the slice.
pub fn histograms(run: Indexed<'_>, slice: &Slice) -> Result<Histograms, Refusal> {
    let of = |kind| -> Result<Vec<EncodedHistogram>, Refusal> {
        let buckets = by_bucket(run, slice, kind)?;
        Ok(buckets.iter().map(|(_, hist)| hist::encode(hist)).collect())
    };
    Ok(Histograms {
        response: of(LatencyKind::Response)?,
        service: of(LatencyKind::Service)?,
    })
}

/// A percentile of several stored distributions together; `None` when all are empty.
///
/// # Errors
/// When a text is not a stored histogram.
///
/// # Panics
/// Never: histograms grow on demand.
pub fn percentile_of(
    stored: &[EncodedHistogram],
    percent: f64,
) -> Result<Option<u64>, NotAHistogram> {
    let mut sum = hist::latency();
    for text in stored {
        let more = hist::decode(text)?;
        sum.add(&more)
            .expect("an auto-resizing histogram takes any value");
    }
    Ok((!sum.is_empty()).then(|| percentile_us(&sum, percent)))
}

fn bucket(run: Indexed<'_>, selection: &Selection, ticks: Range<u32>) -> Bucket {
    let mut bucket = Bucket::new();
    run.index.walk(ticks, |entry| {
        if selection.wants(&entry.key) {
            bucket.add(&entry);
        }
    });
    bucket
}

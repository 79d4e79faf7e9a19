//! A distribution as text in the form of wrk2: a few percentiles, then the whole spectrum as
//! HdrHistogram prints it, in ms.

use std::fmt::Write as _;

use loadpilot_events::answers::slice::Slice;
use loadpilot_events::log::hist::Hist;
use loadpilot_events::refusal::Refusal;

use super::Indexed;
use super::histograms::{LatencyKind, histogram};
use crate::fold::project::first_measured_tick;
use crate::report::figures::percentiles::{ms, percentile_us};

/// Percentiles of the first part.
const PERCENTILES: [f64; 8] = [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0];
/// Number of rows of the spectrum for each halving of the distance to 100 %.
const ROWS_PER_HALF: f64 = 5.0;
/// Number of sub-buckets of a histogram with three significant digits.
const SUB_BUCKETS: u64 = 2_048;

/// The text of a slice; one without a begin has no warm-up, as the latency of a report.
///
/// # Errors
/// All problems of the slice.
pub fn percentile_text(
    run: Indexed<'_>,
    slice: &Slice,
    kind: LatencyKind,
) -> Result<String, Refusal> {
    let plan = run.offered().map(|offered| offered.plan);
    let begin = plan.map(|plan| u64::from(first_measured_tick(plan)) * plan.tick_us);
    let slice = Slice {
        from_us: slice.from_us.or(begin),
        ..slice.clone()
    };
    Ok(distribution_text(&histogram(run, &slice, kind)?, kind))
}

/// The text of a distribution.
///
/// # Panics
/// Never: memory takes every write.
#[must_use]
pub fn distribution_text(hist: &Hist, kind: LatencyKind) -> String {
    // The words of wrk2, which parsers look for.
    let what = match kind {
        LatencyKind::Response => "Recorded Latency",
        LatencyKind::Service => "Uncorrected Latency",
    };
    let mut text = format!("  Latency Distribution (HdrHistogram - {what})\n");
    for percent in PERCENTILES {
        let us = if hist.is_empty() {
            0
        } else {
            percentile_us(hist, percent)
        };
        writeln!(text, "{percent:7.3}%{:>9}", duration(us)).expect("memory takes it");
    }
    text.push_str("\n  Detailed Percentile spectrum:\n");
    let heads = ["Value", "Percentile", "TotalCount"].map(|head| format!("{head:>12}"));
    writeln!(text, "{} 1/(1-Percentile)\n", heads.join(" ")).expect("memory takes it");
    for row in spectrum(hist) {
        let inverse = match row.percent < 100.0 {
            true => format!("{:.2}", 100.0 / (100.0 - row.percent)),
            false => "inf".to_owned(),
        };
        let (value, share) = (ms(row.value_us), row.percent / 100.0);
        let line = format!("{value:12.3} {share:12.6} {:12} {inverse:>12}", row.count);
        writeln!(text, "{line}").expect("memory takes it");
    }
    let (mean, deviation) = (hist.mean() / 1e3, hist.stdev() / 1e3);
    let (max, count) = (ms(hist.max()), hist.len());
    write!(
        text,
        "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]\n\
         #[Max     = {max:12.3}, Total count    = {count:12}]\n\
         #[Buckets = {:12}, SubBuckets     = {SUB_BUCKETS:12}]\n",
        hist.buckets(),
    )
    .expect("memory takes it");
    text
}

/// A row of the spectrum.
struct SpectrumRow {
    value_us: u64,
    percent: f64,
    /// Number of values up to this one.
    count: u64,
}

/// The rows of HdrHistogram's percentile iterator: each level at the first value that reaches it,
/// the levels closer together towards 100 %, and 100 % last.
#[expect(
    clippy::cast_precision_loss,
    reason = "shares of counts; the rows are printed to six places"
)]
fn spectrum(hist: &Hist) -> Vec<SpectrumRow> {
    let (mut rows, mut level, mut count) = (Vec::new(), 0.0, 0);
    for step in hist.iter_recorded() {
        count += step.count_at_value();
        let reached = 100.0 * count as f64 / hist.len() as f64;
        let value_us = hist.highest_equivalent(step.value_iterated_to());
        while level <= reached {
            rows.push(SpectrumRow {
                value_us,
                percent: level,
                count,
            });
            let halvings = (100.0 / (100.0 - level)).log2().floor() + 1.0;
            level += 100.0 / (ROWS_PER_HALF * halvings.exp2());
            if count == hist.len() {
                break;
            }
        }
    }
    if let Some(last) = rows.last() {
        rows.push(SpectrumRow {
            value_us: last.value_us,
            percent: 100.0,
            count,
        });
    }
    rows
}

/// A time as wrk prints it.
fn duration(us: u64) -> String {
    let value = ms(us) * 1e3;
    match us {
        0..1_000 => format!("{value:.2}us"),
        1_000..1_000_000 => format!("{:.2}ms", value / 1e3),
        1_000_000..60_000_000 => format!("{:.2}s", value / 1e6),
        60_000_000..3_600_000_000 => format!("{:.2}m", value / 60e6),
        _ => format!("{:.2}h", value / 3_600e6),
    }
}

//! A slice as a histogram log of HdrHistogram: format version 1.3, an interval for each bucket.
//!
//! Each interval has a line of all calls, and a line with a tag for each task. Times are relative
//! to the start of the run, values are µs, and an interval without a finished call has no line. No
//! base time is written: readers take times far before the start time for relative ones, and the
//! one in Python skips every interval after a base time.

use std::fmt::Write as _;

use loadpilot_events::answers::slice::Slice;
use loadpilot_events::log::hist;
use loadpilot_events::refusal::Refusal;

use super::Indexed;
use super::histograms::{LatencyKind, by_bucket};

/// The log of a slice.
///
/// # Errors
/// All problems of the slice.
///
/// # Panics
/// Never: memory takes every write.
pub fn histogram_log(
    run: Indexed<'_>,
    slice: &Slice,
    kind: LatencyKind,
) -> Result<String, Refusal> {
    let offered = run.offered();
    let tasks = offered
        .as_ref()
        .map_or(&[][..], |offered| &offered.plan.tasks);
    let wanted = |name: &String| {
        slice
            .tasks
            .as_ref()
            .is_none_or(|tasks| tasks.contains(name))
    };
    let all = by_bucket(run, slice, kind)?;
    let mut columns = vec![(String::new(), all)];
    for name in tasks
        .iter()
        .map(|task| &task.name)
        .filter(|name| wanted(name))
    {
        let of_task = Slice {
            tasks: Some(vec![name.clone()]),
            ..slice.clone()
        };
        columns.push((
            format!("Tag={},", tag(name)),
            by_bucket(run, &of_task, kind)?,
        ));
    }
    let mut text = head(run, kind);
    for index in 0..columns[0].1.len() {
        for (tag, buckets) in &columns {
            let (range, hist) = &buckets[index];
            if !hist.is_empty() {
                let length_us = range.end - range.start;
                let (from, length) = (seconds(range.start), seconds(length_us));
                let (max, counts) = (seconds(hist.max()), hist::encode(hist).0);
                writeln!(text, "{tag}{from},{length},{max},{counts}").expect("memory takes it");
            }
        }
    }
    Ok(text)
}

fn head(run: Indexed<'_>, kind: LatencyKind) -> String {
    let start = run.control.state.start.as_ref();
    let start_us = start.map_or(0, |start| start.start_at.0);
    let what = match kind {
        LatencyKind::Response => "response times from due (corrected)",
        LatencyKind::Service => "service times from dispatch (uncorrected)",
    };
    format!(
        "#[Histogram log format version 1.3]\n\
         #[LoadPilot run {}: {what} in microseconds; Interval_Max in seconds]\n\
         #[StartTime: {} (seconds since epoch)]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
         \"Interval_Compressed_Histogram\"\n",
        run.control.run,
        seconds(start_us),
    )
}

/// µs in seconds, exactly.
fn seconds(us: u64) -> String {
    format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
}

/// A name as a tag: without the characters that end a field, a line or a comment.
fn tag(name: &str) -> String {
    name.replace([' ', ',', '\r', '\n', '\t', '#', '"'], "_")
}

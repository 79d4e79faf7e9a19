//! Distributions of a slice: as a whole, by bucket, and as text for other tools.

use loadpilot_engine::report::slice::{
    LatencyKind, distribution_text, histogram, histogram_log, histograms, percentile_of, series,
};
use loadpilot_events::answers::slice::Slice;
use loadpilot_events::log::hist::{self, EncodedHistogram};
use proptest::prelude::*;

use crate::report::slices::{Whole, really, slice};
use crate::rules::dice::Dice;
use crate::support::history::History;

/// The nearest rank of sorted values.
fn exact(sorted: &[u64], percent: u64) -> u64 {
    let rank = (sorted.len() as u64 * percent).div_ceil(100).max(1);
    sorted[usize::try_from(rank).expect("short") - 1]
}

/// Whether a figure equals an exact value to three digits.
fn is_close(figure: u64, exact: u64) -> bool {
    figure.abs_diff(exact) <= exact / 1_000 + 1
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Broken if the distribution of a slice differs from that of its calls, or from the sum of its
    /// stored parts.
    #[test]
    fn a_distribution_is_that_of_the_calls(seed: u64) {
        let history = History::new(seed);
        let whole = Whole::of(&history, &history.data);
        let slice = slice(&history, &mut Dice::new(!seed));
        let (responses, _, _) = really(&history, &slice);
        let hist = histogram(whole.run(), &slice, LatencyKind::Response).expect("it is sound");
        prop_assert_eq!(hist.len(), responses.len() as u64);
        let stored = histograms(whole.run(), &slice).expect("it is sound");
        let buckets = series(whole.run(), &slice).expect("it is sound").from_us.len();
        prop_assert_eq!((stored.response.len(), stored.service.len()), (buckets, buckets));
        for percent in [50, 99, 100] {
            let point = percentile_of(&stored.response, percent as f64).expect("ours");
            prop_assert_eq!(point.is_some(), !responses.is_empty());
            if let Some(point) = point {
                prop_assert!(is_close(point, exact(&responses, percent)), "p{}", percent);
            }
        }
    }

    /// Broken if a histogram log loses a call, puts one into another interval or task, or contains
    /// a line that readers skip.
    #[test]
    fn a_histogram_log_has_each_call_in_its_interval_and_task(seed: u64) {
        let history = History::new(seed);
        let whole = Whole::of(&history, &history.data);
        let every = Slice { bucket_us: Some(history.plan.tick_us), ..Slice::default() };
        let text = histogram_log(whole.run(), &every, LatencyKind::Response).expect("it is sound");
        let found = series(whole.run(), &every).expect("it is sound");
        let mut counts = vec![(0, 0); found.from_us.len()];
        let begins = |line: &str| !line.starts_with(['#', '"']);
        for line in text.lines().filter(|line| begins(line)) {
            let (tag, rest) = match line.strip_prefix("Tag=") {
                Some(tagged) => tagged.split_once(',').expect("a tag ends"),
                None => ("", line),
            };
            let cells: Vec<&str> = rest.split(',').collect();
            prop_assert_eq!(cells.len(), 4);
            let begin_us = cells[0].replace('.', "").parse::<u64>().expect("six decimals");
            let place = found.from_us.iter().position(|us| *us == begin_us).expect("a bucket");
            let hist = hist::decode(&EncodedHistogram(cells[3].to_owned())).expect("it is stored");
            match tag {
                "" => counts[place].0 += hist.len(),
                _ => counts[place].1 += hist.len(),
            }
        }
        for (place, (all, tagged)) in counts.into_iter().enumerate() {
            prop_assert_eq!(all, tagged);
            let (responses, _, _) = really(&history, &Slice {
                from_us: Some(found.from_us[place]),
                to_us: Some(found.from_us[place] + history.plan.tick_us),
                ..Slice::default()
            });
            prop_assert_eq!(all, responses.len() as u64);
        }
    }

    /// Broken if a row of the spectrum is wrong: it must count the values up to its value, and no
    /// smaller value may reach its share.
    #[test]
    fn a_spectrum_is_that_of_the_values(
        mut values in prop::collection::vec(1_u64..60_000_000, 1..400),
    ) {
        let mut hist = hist::latency();
        values.iter().for_each(|value| hist::record(&mut hist, *value));
        values.sort_unstable();
        let text = distribution_text(&hist, LatencyKind::Response);
        let (_, spectrum) = text.split_once("1/(1-Percentile)\n\n").expect("a heading");
        let rows = spectrum.lines().take_while(|line| !line.starts_with('#'));
        let mut last = 0.0;
        for row in rows {
            let cells: Vec<f64> = row.split_whitespace().map(|cell| {
                cell.parse().expect("a number")
            }).collect();
            let (value_us, share, count) = (cells[0] * 1e3, cells[1], cells[2] as usize);
            prop_assert!(last <= share);
            last = share;
            let edge_us = values[count - 1] as f64;
            prop_assert!((value_us - edge_us).abs() <= edge_us / 1e3 + 1.0, "{}", row);
            prop_assert!(values.get(count).is_none_or(|next| *next as f64 > value_us), "{}", row);
            prop_assert!(count as f64 / values.len() as f64 >= share - 1e-6, "{}", row);
        }
        prop_assert_eq!(last, 1.0);
    }
}

/// Broken if the text of an empty distribution is an error, or contains a latency.
#[test]
fn an_empty_distribution_has_no_rows() {
    let text = distribution_text(&hist::latency(), LatencyKind::Service);
    assert!(text.contains("Uncorrected Latency"), "{text}");
    assert!(text.contains("Total count    =            0]"), "{text}");
    assert!(!text.contains("NaN"), "{text}");
}

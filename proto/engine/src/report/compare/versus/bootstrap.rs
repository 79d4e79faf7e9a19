//! How far the difference of two targets varies by chance: parts of the run are drawn again, each
//! with what both targets did in it (paired block bootstrap, Künsch 1989).
//!
//! A change over the run affects both targets of a part, and cancels out. The seed is fixed: the
//! same run gives the same intervals.

use std::collections::BTreeMap;

use loadpilot_events::answers::compare::versus::VersusFigure;
use loadpilot_events::answers::compare::{GroupParts, RunPart};
use loadpilot_events::log::hist::{self, NotAHistogram};

use crate::report::compare::interval::{interval, widening};
use crate::report::figures::percentiles::{ms, percentiles_of};
use crate::schedule::hash::{Purpose, below, draw};
use crate::schedule::user_types::pairs::SIDES;
use crate::tally::packed_histogram::{PackedHistogram, Precision};
use crate::tally::ratio::percent;

/// Least number of parts with requests to both targets from which the spread can be seen.
pub const PARTS_MIN: usize = 8;
/// Number of samples that are drawn.
const DRAWS: u64 = 1_000;
/// Seed of all draws.
const SEED: u64 = 0;
const FIGURES: usize = VersusFigure::ALL.len();

/// Values of [`VersusFigure::ALL`]; `None` where nothing was measured.
type Figures = [Option<f64>; FIGURES];

/// Intervals of one figure; `None` without enough parts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spread {
    /// Of the difference, second less first, in the unit of the figure.
    pub difference: Option<[f64; 2]>,
    /// Of the difference in percent of the first.
    pub percent: Option<[f64; 2]>,
}

/// The parts of a run, each with what both targets did in it.
#[derive(Debug)]
pub struct PairedParts {
    /// Buckets of response times that any part has, ascending.
    buckets: Vec<usize>,
    parts: Vec<[Part; SIDES]>,
}

/// One target in one part.
#[derive(Debug)]
struct Part {
    length_us: u64,
    started: u64,
    finished: u64,
    errors: u64,
    /// Counts of response times, with the positions of their buckets.
    counts: Vec<(usize, u64)>,
}

impl PairedParts {
    /// Pairs the parts of two groups of tasks of one run.
    ///
    /// # Errors
    /// When a histogram is invalid.
    pub fn of(first: &GroupParts, second: &GroupParts) -> Result<Self, NotAHistogram> {
        let packed = |part: &RunPart| {
            let response = hist::decode(&part.response)?;
            Ok(PackedHistogram::of(&response, Precision::Latency))
        };
        let mut positions = BTreeMap::new();
        let mut pairs = Vec::new();
        for (first, second) in first.parts.iter().zip(&second.parts) {
            let pair = [(first, packed(first)?), (second, packed(second)?)];
            let buckets = pair.iter().flat_map(|(_, response)| response.iter());
            positions.extend(buckets.map(|(bucket, _)| (bucket, 0)));
            pairs.push(pair);
        }
        for (position, (_, known)) in positions.iter_mut().enumerate() {
            *known = position;
        }
        let part = |(part, response): (&RunPart, PackedHistogram)| Part {
            length_us: part.length_us,
            started: part.started,
            finished: part.finished,
            errors: part.errors,
            counts: response
                .iter()
                .map(|(bucket, count)| (positions[&bucket], count))
                .collect(),
        };
        Ok(Self {
            parts: pairs.into_iter().map(|pair| pair.map(part)).collect(),
            buckets: positions.into_keys().collect(),
        })
    }

    /// Number of parts.
    #[must_use]
    pub fn count(&self) -> u32 {
        u32::try_from(self.parts.len()).unwrap_or(u32::MAX)
    }

    /// Whether enough parts have requests to both targets.
    #[must_use]
    pub fn has_spread(&self) -> bool {
        let has_both = |pair: &&[Part; SIDES]| pair.iter().all(|part| part.finished > 0);
        self.parts.iter().filter(has_both).count() >= PARTS_MIN
    }

    /// The figures of each target in the whole run.
    #[must_use]
    pub fn figures(&self) -> [Figures; SIDES] {
        self.figures_of(&vec![1; self.parts.len()])
    }

    /// The share in percent of all pairs of one request to each target, of the same part, of which
    /// the one to the second took longer; equal ones count half (Vargha and Delaney, 2000).
    #[must_use]
    pub fn second_slower_pct(&self) -> Option<f64> {
        let (mut slower_halves, mut all) = (0_u128, 0_u128);
        for [first, second] in &self.parts {
            let (mut below, mut ours) = (0_u128, first.counts.iter().peekable());
            for &(position, count) in &second.counts {
                while let Some((_, less)) = ours.next_if(|(at, _)| *at < position) {
                    below += u128::from(*less);
                }
                let same = ours.peek().filter(|(at, _)| *at == position);
                let same = same.map_or(0, |(_, same)| u128::from(*same));
                slower_halves += u128::from(count) * (2 * below + same);
            }
            let totals = [first, second].map(|part| {
                let counts = part.counts.iter().map(|(_, count)| u128::from(*count));
                counts.sum::<u128>()
            });
            all += totals[0] * totals[1];
        }
        #[expect(clippy::cast_precision_loss, reason = "a share for people")]
        let share = || slower_halves as f64 / (2 * all) as f64 * 100.0;
        (all > 0).then(share)
    }

    /// The intervals of all figures.
    #[must_use]
    pub fn spreads(&self) -> [Spread; FIGURES] {
        if !self.has_spread() {
            return [Spread::default(); FIGURES];
        }
        let mut differences: [Vec<f64>; FIGURES] = Default::default();
        let mut percents: [Vec<f64>; FIGURES] = Default::default();
        let count = self.parts.len() as u64;
        for number in 0..DRAWS {
            let mut times = vec![0; self.parts.len()];
            for index in 0..count {
                let part = below(count, draw(SEED, Purpose::Bootstrap, number, index));
                times[usize::try_from(part).unwrap_or(0)] += 1;
            }
            let [ours, theirs] = self.figures_of(&times);
            for (index, pair) in ours.into_iter().zip(theirs).enumerate() {
                if let (Some(first), Some(second)) = pair {
                    differences[index].push(second - first);
                    if first != 0.0 {
                        percents[index].push((second - first) / first * 100.0);
                    }
                }
            }
        }
        let [ours, theirs] = self.figures();
        let widening = widening(self.parts.len());
        std::array::from_fn(|index| {
            let both = ours[index].zip(theirs[index]);
            let difference = both.map(|(first, second)| second - first);
            let base = ours[index].filter(|&first| first != 0.0);
            let percent = difference.zip(base).map(|(by, base)| by / base * 100.0);
            Spread {
                difference: interval(
                    std::mem::take(&mut differences[index]),
                    difference,
                    widening,
                ),
                percent: interval(std::mem::take(&mut percents[index]), percent, widening),
            }
        })
    }

    /// The figures of each target where part k counts `times[k]` times.
    fn figures_of(&self, times: &[u64]) -> [Figures; SIDES] {
        std::array::from_fn(|side| {
            let mut counts = vec![0; self.buckets.len()];
            let (mut length_us, mut started, mut finished, mut errors) = (0, 0, 0, 0);
            for (pair, &times) in self.parts.iter().zip(times) {
                if times == 0 {
                    continue;
                }
                let part = &pair[side];
                length_us += times * part.length_us;
                started += times * part.started;
                finished += times * part.finished;
                errors += times * part.errors;
                for &(position, count) in &part.counts {
                    counts[position] += times * count;
                }
            }
            let counts = self.buckets.iter().copied().zip(counts);
            let counts = counts.filter(|(_, count)| *count > 0);
            let at = percentiles_of(counts.clone(), Precision::Latency, [50.0, 95.0, 99.0]);
            let at = |index: usize| at.map(|at| ms(at[index]));
            VersusFigure::ALL.map(|figure| match figure {
                VersusFigure::P50Ms => at(0),
                VersusFigure::P95Ms => at(1),
                VersusFigure::P99Ms => at(2),
                VersusFigure::MeanMs => mean_ms(counts.clone()),
                VersusFigure::ErrorRatePct => (finished > 0).then(|| percent(errors, finished)),
                // `percent` of µs is per 10^-2 of µs: a rate per second is 10^4 times that.
                VersusFigure::AchievedRps => {
                    (length_us > 0).then(|| percent(started, length_us) * 1e4)
                }
            })
        })
    }
}

/// The mean of counted response times, each in the middle of its bucket.
#[expect(clippy::cast_precision_loss, reason = "a mean for people")]
fn mean_ms(counts: impl Iterator<Item = (usize, u64)>) -> Option<f64> {
    let (mut twice_us, mut total) = (0_u128, 0_u128);
    for (bucket, count) in counts {
        let ends = Precision::Latency.least(bucket) + Precision::Latency.greatest(bucket);
        twice_us += u128::from(ends) * u128::from(count);
        total += u128::from(count);
    }
    (total > 0).then(|| twice_us as f64 / 2e3 / total as f64)
}

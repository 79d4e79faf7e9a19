//! How far a figure varies by chance: samples are drawn again from the parts of a run (block
//! bootstrap, Künsch 1989), and of several runs first a run and then its parts.

use loadpilot_events::answers::compare::{ComparedFigure, GroupParts, RunPart};
use loadpilot_events::log::hist::{self, NotAHistogram};

use crate::report::figures::percentiles::{ms, percentile_us};
use crate::schedule::hash::{Purpose, below, draw};
use crate::tally::packed_histogram::{HistogramSum, PackedHistogram, Precision};
use crate::tally::ratio::percent;

/// Number of samples that are drawn.
const DRAWS: u64 = 300;
/// Seed of all draws: a comparison gives the same answer each time.
const SEED: u64 = 0;
/// Share of the differences on each side of the interval.
const TAIL: f64 = 0.025;
/// Least number of parts with calls from which the spread within a run can be seen.
pub(super) const PARTS_MIN: usize = 8;

/// Values of the figures of [`ComparedFigure::ALL`]; `None` where nothing was measured.
pub(super) type Figures = [Option<f64>; ComparedFigure::ALL.len()];

/// The parts of one group of one run, decoded.
#[derive(Debug)]
pub(super) struct Parts(Vec<Part>);

#[derive(Debug)]
struct Part {
    length_us: u64,
    started: u64,
    finished: u64,
    errors: u64,
    response: PackedHistogram,
}

impl Parts {
    /// # Errors
    /// When a histogram is none.
    pub(super) fn of(group: &GroupParts) -> Result<Self, NotAHistogram> {
        let part = |part: &RunPart| {
            let response = hist::decode(&part.response)?;
            Ok(Part {
                length_us: part.length_us,
                started: part.started,
                finished: part.finished,
                errors: part.errors,
                response: PackedHistogram::of(&response, Precision::Latency),
            })
        };
        group
            .parts
            .iter()
            .map(part)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The figures of the run itself.
    pub(super) fn figures(&self) -> Figures {
        figures(self.0.iter())
    }

    /// The figures of as many parts, drawn with repetition.
    fn drawn(&self, number: u64) -> Figures {
        let count = self.0.len() as u64;
        let place = |index: u64| {
            let place = below(count, draw(SEED, Purpose::Bootstrap, number, index));
            usize::try_from(place).unwrap_or(0)
        };
        figures((1..=count).map(|index| &self.0[place(index)]))
    }

    fn has_spread(&self) -> bool {
        self.0.iter().filter(|part| part.finished > 0).count() >= PARTS_MIN
    }
}

/// Intervals of the differences between the current run and its baseline, by figure; `None` without
/// enough parts.
pub(super) fn intervals(
    current: &Parts,
    baseline: &[&Parts],
) -> [Option<[f64; 2]>; ComparedFigure::ALL.len()] {
    let mut differences: [Vec<f64>; ComparedFigure::ALL.len()] = Default::default();
    if !current.has_spread() || !baseline.iter().all(|run| run.has_spread()) {
        return [None; ComparedFigure::ALL.len()];
    }
    for number in 0..DRAWS {
        // Of equal numbers, both sides would draw the same places.
        let (ours, theirs) = (current.drawn(2 * number), {
            let run = below(
                baseline.len() as u64,
                draw(SEED, Purpose::Bootstrap, 2 * number + 1, 0),
            );
            baseline[usize::try_from(run).unwrap_or(0)].drawn(2 * number + 1)
        });
        for (found, pair) in differences.iter_mut().zip(ours.iter().zip(theirs)) {
            if let (Some(ours), Some(theirs)) = (pair.0, pair.1) {
                found.push(ours - theirs);
            }
        }
    }
    differences.map(|found| without_tails(found, TAIL))
}

/// The least and the greatest of the values that remain without a share of them at each end; `None`
/// without values.
pub(super) fn without_tails(mut values: Vec<f64>, tail: f64) -> Option<[f64; 2]> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most the number of draws"
    )]
    let place = |share: f64| (last as f64 * share).round() as usize;
    Some([values[place(tail)], values[place(1.0 - tail)]])
}

fn figures<'a>(parts: impl Iterator<Item = &'a Part>) -> Figures {
    let (mut length_us, mut started, mut finished, mut errors) = (0, 0, 0, 0);
    let mut response = HistogramSum::new(Precision::Latency);
    for part in parts {
        length_us += part.length_us;
        started += part.started;
        finished += part.finished;
        errors += part.errors;
        response.add(part.response.iter());
    }
    let hist = response.hist();
    let at = |percent: f64| (!hist.is_empty()).then(|| ms(percentile_us(&hist, percent)));
    ComparedFigure::ALL.map(|figure| match figure {
        // `percent` of µs is per 10^-2 of µs: a rate per second is 10^4 times that.
        ComparedFigure::AchievedRps => (length_us > 0).then(|| percent(started, length_us) * 1e4),
        ComparedFigure::P50Ms => at(50.0),
        ComparedFigure::P95Ms => at(95.0),
        ComparedFigure::P99Ms => at(99.0),
        ComparedFigure::MaxMs => at(100.0),
        ComparedFigure::ErrorRatePct => (finished > 0).then(|| percent(errors, finished)),
        // It is of the whole run.
        ComparedFigure::HeldRps => None,
    })
}

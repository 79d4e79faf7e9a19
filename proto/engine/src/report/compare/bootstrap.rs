//! How far a figure varies by chance: samples are drawn again from the parts of a run (block
//! bootstrap, Künsch 1989), and of several runs first a run and then its parts.

use loadpilot_events::answers::compare::{ComparedFigure, GroupParts, RunPart};
use loadpilot_events::log::hist::{self, NotAHistogram};

use super::interval::{interval, widening};
use crate::report::figures::percentiles::{ms, percentile_us};
use crate::schedule::hash::{Purpose, below, draw};
use crate::tally::packed_histogram::{HistogramSum, PackedHistogram, Precision};
use crate::tally::ratio::percent;

/// Number of samples that are drawn.
const DRAWS: u64 = 300;
/// Seed of all draws: a comparison gives the same answer each time.
const SEED: u64 = 0;
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
    /// When a histogram is invalid.
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
        let part = |index: u64| {
            let part = below(count, draw(SEED, Purpose::Bootstrap, number, index));
            usize::try_from(part).unwrap_or(0)
        };
        figures((1..=count).map(|index| &self.0[part(index)]))
    }

    /// Number of finished requests.
    pub(super) fn finished(&self) -> u64 {
        self.0.iter().map(|part| part.finished).sum()
    }

    fn has_spread(&self) -> bool {
        self.0.iter().filter(|part| part.finished > 0).count() >= PARTS_MIN
    }
}

/// Intervals of the `differences` between the current run and its baseline, by figure; `None`
/// without enough parts.
pub(super) fn intervals(
    current: &Parts,
    baseline: &[Parts],
    differences: Figures,
) -> [Option<[f64; 2]>; ComparedFigure::ALL.len()] {
    let mut found: [Vec<f64>; ComparedFigure::ALL.len()] = Default::default();
    if !current.has_spread() || !baseline.iter().all(Parts::has_spread) {
        return [None; ComparedFigure::ALL.len()];
    }
    for number in 0..DRAWS {
        // With equal numbers, both sides would draw the same parts.
        let (ours, theirs) = (current.drawn(2 * number), {
            let run = below(
                baseline.len() as u64,
                draw(SEED, Purpose::Bootstrap, 2 * number + 1, 0),
            );
            baseline[usize::try_from(run).unwrap_or(0)].drawn(2 * number + 1)
        });
        for (found, pair) in found.iter_mut().zip(ours.iter().zip(theirs)) {
            if let (Some(ours), Some(theirs)) = (pair.0, pair.1) {
                found.push(ours - theirs);
            }
        }
    }
    let parts = baseline.iter().map(|run| run.0.len());
    let widening = widening(parts.fold(current.0.len(), usize::min));
    std::array::from_fn(|index| {
        let found = std::mem::take(&mut found[index]);
        interval(found, differences[index], widening)
    })
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
        // A figure of the whole run, not of its parts.
        ComparedFigure::HeldRps => None,
    })
}

//! Cumulative figures of a run for systems of metrics: counters and histograms since its start, and
//! its state at an instant.
//!
//! Counts are those of the report over the whole run, warm-up included.
//!
//! - `run_fold`: a run as far as it was read
//! - `names`: names of tasks and calls, whose number is limited
//! - [`buckets`]: classic and native buckets of a histogram
//! - `totals`: counters and histograms
//! - [`gauges`]: the run at an instant
//! - [`legacy`]: the figures that earlier versions exported

use loadpilot_events::units::Timestamp;

pub mod buckets;
pub mod gauges;
pub mod legacy;
mod names;
mod run_fold;
mod totals;

use gauges::Gauges;
use legacy::LegacyFigures;
pub use names::{Exported, NAMES_MAX, OTHER};
pub use run_fold::Folded;
pub use totals::{CallTotals, Cumulative, OutcomeTotals, TaskTotals, cumulative};

/// All figures of a run for a system of metrics.
#[derive(Debug, Clone)]
pub struct RunFigures {
    /// Counters and histograms.
    pub totals: Cumulative,
    /// The run at the instant.
    pub gauges: Gauges,
    /// Figures by the names of earlier versions.
    pub legacy: LegacyFigures,
}

/// All figures of a run at `now`; `None` before it is created.
#[must_use]
pub fn run_figures(run: Folded<'_>, exported: &mut Exported, now: Timestamp) -> Option<RunFigures> {
    Some(RunFigures {
        totals: cumulative(run, exported, now)?,
        gauges: gauges::gauges(run, now)?,
        legacy: legacy::legacy(run, now)?,
    })
}

//! The report of a run: its log, folded, in figures.
//!
//! The report is a pure function of the log up to the seal, so that its digest is reproducible,
//! today or in a year. Must never read a clock.
//!
//! The whole:
//! - [`figures`]: its figures, part by part
//! - [`timeline`]: decisions and facts in words
//! - `state`: where the run stands, and the digest of a report
//! - `close`: the fold closed into a report
//! - [`verdict`]: thresholds against figures
//! - [`certificate`]: whether the figures are those of the target
//!
//! Parts of it:
//! - [`live`]: the figures of a run that goes on
//! - [`mod@cumulative`]: counters, histograms and gauges, for systems of metrics
//! - `failure_reasons`: the most frequent reason of its errors
//! - [`mod@slice`]: figures of a part of a run over time
//! - [`agent_stats`]: figures of each agent over time
//! - [`failures`]: failed calls and errors of a part of a run
//! - [`samples`]: single calls as a table
//! - `window`: the data of a run with another measured time
//! - [`time_range`]: the report of a part of the time
//! - [`what_if`]: the verdict by other thresholds
//!
//! Several runs:
//! - [`mod@compare`]: a run beside earlier ones

pub mod figures;
pub mod timeline;

mod close;
mod failure_reasons;
mod state;

pub mod certificate;
pub mod verdict;

pub mod agent_stats;
pub mod compare;
pub mod cumulative;
pub mod failures;
pub mod live;
pub mod samples;
pub mod slice;
pub mod time_range;
pub mod what_if;
mod window;

pub use close::{NoReport, report, report_without_series};
pub use figures::drops::dropped_for;
pub use figures::percentiles;
pub use state::{digest, run_state};

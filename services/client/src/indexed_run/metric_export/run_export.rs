//! The runs of a log whose figures a long-lived process exports: runs that are open or ended a
//! short while ago, up to a maximum number.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use loadpilot_engine::report::cumulative::Exported;
use loadpilot_events::{RunId, Timestamp};

use super::families::{Exporter, Figures};
use super::run_families::state_name;
use crate::indexed_run::{IndexedRun, LogState};
use crate::run_list::ListedRun;
use crate::session::{Session, SessionError};

/// Time in µs for which a run is exported after its end: Prometheus looks back as far as that.
const ENDED_US: u64 = 300_000_000;
/// Maximum number of exported runs: the newest ones.
const RUNS_MAX: usize = 20;
/// Minimum interval between two reads of the log.
const INTERVAL: Duration = Duration::from_secs(1);
/// The same, as a multiple of the duration of the last read: at most 5 % of a core.
const BUSY_FACTOR: u32 = 20;

/// Numbers of runs in the log: by state, exported, and left out.
#[derive(Debug, Clone, Default)]
pub struct RunCounts {
    /// Number of runs in the log by state.
    pub by_state: BTreeMap<&'static str, u64>,
    /// Number of runs that are exported.
    pub exported: u64,
    /// Number of runs above [`RUNS_MAX`].
    pub left_out: u64,
}

/// The runs of one log.
#[derive(Debug, Default)]
pub struct ExportedRuns {
    listed: Vec<ListedRun>,
    listed_at: Option<LogState>,
    /// When the log may be read again.
    next_at: Option<Instant>,
    runs: BTreeMap<RunId, OneRun>,
    counts: RunCounts,
}

/// One run: its log while it is open, then the figures of its end.
#[derive(Debug, Default)]
struct OneRun {
    indexed: Option<IndexedRun>,
    exported: Exported,
    figures: Option<Figures>,
}

impl ExportedRuns {
    /// Reads new records, unless that was done a short while ago.
    ///
    /// # Errors
    /// A fault of the bus; the records read before stay.
    pub async fn refresh(&mut self, session: &Session, now: Timestamp) -> Result<(), SessionError> {
        let begun = Instant::now();
        if self.next_at.is_some_and(|next_at| begun < next_at) {
            return Ok(());
        }
        let state = session.log_state().await?;
        if self.listed_at.is_none_or(|at| at.ctl_seq != state.ctl_seq) {
            self.listed = session.runs().await?;
            self.listed.reverse();
            self.listed_at = Some(state);
        }
        let shown = self.shown(now);
        self.runs.retain(|run, _| shown.contains(run));
        for run in shown {
            self.runs
                .entry(run.clone())
                .or_default()
                .read(session, &run, now)
                .await?;
        }
        self.next_at = Some(begun + INTERVAL.max(begun.elapsed() * BUSY_FACTOR));
        Ok(())
    }

    /// The runs to export.
    fn shown(&mut self, now: Timestamp) -> BTreeSet<RunId> {
        let is_recent = |run: &&ListedRun| match run.ended_at {
            None => true,
            Some(ended_at) => now.since_us(ended_at) < ENDED_US,
        };
        let recent: Vec<&ListedRun> = self.listed.iter().filter(is_recent).collect();
        let mut counts = RunCounts {
            exported: recent.len().min(RUNS_MAX) as u64,
            left_out: recent.len().saturating_sub(RUNS_MAX) as u64,
            ..RunCounts::default()
        };
        for run in &self.listed {
            *counts.by_state.entry(state_name(run.state)).or_default() += 1;
        }
        let shown = recent.iter().take(RUNS_MAX).map(|run| run.run.clone());
        let shown = shown.collect();
        self.counts = counts;
        shown
    }

    /// The figures of the runs at the last read.
    pub fn figures(&self) -> impl Iterator<Item = &Figures> {
        self.runs.values().filter_map(|run| run.figures.as_ref())
    }

    /// Numbers of runs in the log: by state, exported, and left out.
    #[must_use]
    pub fn counts(&self) -> &RunCounts {
        &self.counts
    }
}

impl OneRun {
    async fn read(
        &mut self,
        session: &Session,
        run: &RunId,
        now: Timestamp,
    ) -> Result<(), SessionError> {
        let indexed = match &mut self.indexed {
            Some(indexed) => {
                indexed.refresh().await?;
                indexed
            }
            // Its log was read to the end.
            None if self.figures.is_some() => return Ok(()),
            None => self.indexed.insert(session.read(run, None).await?),
        };
        let exporter = Some(Exporter::Coordinator);
        self.figures = indexed.figures(exporter, &mut self.exported, now.0);
        if indexed.position().over {
            self.indexed = None;
        }
        Ok(())
    }
}

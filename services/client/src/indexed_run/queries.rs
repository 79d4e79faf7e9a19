//! The queries of an indexed run: the engine answers each, now or as of an instant.

use loadpilot_engine::report::agent_stats::agent_stats;
use loadpilot_engine::report::compare::run_parts::run_parts;
use loadpilot_engine::report::compare::versus::versus;
use loadpilot_engine::report::failures::errors;
use loadpilot_engine::report::slice::{
    LatencyKind, heat, histogram_log, histograms, percentile_text, series,
};
use loadpilot_engine::report::time_range::report_of;
use loadpilot_engine::report::timeline;
use loadpilot_engine::report::what_if::what_if;
use loadpilot_events::answers::agent_stats::Attendance;
use loadpilot_events::answers::compare::RunParts;
use loadpilot_events::answers::compare::versus::Versus;
use loadpilot_events::answers::failures::Errors;
use loadpilot_events::answers::report::{Report, StoryLine};
use loadpilot_events::answers::slice::{Heat, Histograms, Series, Slice};
use loadpilot_events::answers::what_if::{WhatIf, WhatIfAnswer};
use loadpilot_events::refusal::{Problem, Refusal};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{IndexedRun, SessionError};

/// A page of a timeline.
#[derive(Debug, Clone, Serialize)]
pub struct TimelinePage {
    /// Its lines, in the order of the log.
    pub lines: Vec<StoryLine>,
    /// The sequence to continue after; null on the last page.
    pub next: Option<u64>,
}

impl IndexedRun {
    /// The figures of a slice over time.
    ///
    /// # Errors
    /// Every problem of the slice; or a fault of the bus.
    pub async fn series(&mut self, slice: &Slice) -> Result<Series, SessionError> {
        Ok(series(self.as_of(slice.as_of_us).await?.run(), slice)?)
    }

    /// The distribution of response times of a slice over time.
    ///
    /// # Errors
    /// Every problem of the slice; or a fault of the bus.
    pub async fn heat(&mut self, slice: &Slice) -> Result<Heat, SessionError> {
        Ok(heat(self.as_of(slice.as_of_us).await?.run(), slice)?)
    }

    /// The stored distributions of a slice, for each bucket of its series.
    ///
    /// # Errors
    /// Every problem of the slice; or a fault of the bus.
    pub async fn histograms(&mut self, slice: &Slice) -> Result<Histograms, SessionError> {
        Ok(histograms(self.as_of(slice.as_of_us).await?.run(), slice)?)
    }

    /// A slice as a histogram log of HdrHistogram.
    ///
    /// # Errors
    /// Every problem of the slice; or a fault of the bus.
    pub async fn histogram_log(
        &mut self,
        slice: &Slice,
        kind: LatencyKind,
    ) -> Result<String, SessionError> {
        let folded = self.as_of(slice.as_of_us).await?;
        Ok(histogram_log(folded.run(), slice, kind)?)
    }

    /// The distribution of a slice as text in the form of wrk2.
    ///
    /// # Errors
    /// Every problem of the slice; or a fault of the bus.
    pub async fn percentile_text(
        &mut self,
        slice: &Slice,
        kind: LatencyKind,
    ) -> Result<String, SessionError> {
        let folded = self.as_of(slice.as_of_us).await?;
        Ok(percentile_text(folded.run(), slice, kind)?)
    }

    /// The failed calls of a slice, by cause.
    ///
    /// # Errors
    /// Every problem of the slice; or a fault of the bus.
    pub async fn errors(&mut self, slice: &Slice) -> Result<Errors, SessionError> {
        Ok(errors(self.as_of(slice.as_of_us).await?.run(), slice)?)
    }

    /// The agents that generated the load, with their figures.
    ///
    /// # Errors
    /// When an instant is given and the run never started; or a fault of the bus.
    pub async fn agents(&mut self, as_of_us: Option<u64>) -> Result<Attendance, SessionError> {
        let folded = self.as_of(as_of_us).await?;
        Ok(agent_stats(folded.run(), &Slice::default())?)
    }

    /// At most `limit` lines of the timeline after sequence `after`.
    #[must_use]
    pub fn timeline_page(&self, after: u64, limit: usize) -> TimelinePage {
        let mut lines = timeline::lines_after(&self.now.control, after);
        let more = lines.len() > limit;
        lines.truncate(limit);
        let last = lines.last().map_or(after, |line| line.seq);
        TimelinePage {
            lines,
            next: more.then_some(last),
        }
    }

    /// The report of the arrivals that are due from `from_us` until before `to_us`, in µs after the
    /// start. If absent, they are the start and the end.
    ///
    /// # Errors
    /// Every problem of the range; or a fault of the bus.
    pub async fn report_of(
        &mut self,
        from_us: Option<u64>,
        to_us: Option<u64>,
        as_of_us: Option<u64>,
    ) -> Result<Report, SessionError> {
        let folded = self.as_of(as_of_us).await?;
        Ok(report_of(folded.run(), from_us, to_us)?)
    }

    /// The verdict of the run under other gates, another warm-up or other bounds of time.
    ///
    /// # Errors
    /// Every problem of the question; or a fault of the bus.
    pub async fn verdict(&mut self, question: &WhatIf) -> Result<WhatIfAnswer, SessionError> {
        let folded = self.as_of(question.as_of_us).await?;
        Ok(what_if(folded.run(), question)?)
    }

    /// The parts of the run that a comparison needs.
    ///
    /// # Errors
    /// When the run was never created.
    pub async fn parts(&mut self) -> Result<RunParts, SessionError> {
        let report = self.report_without_series()?;
        let folded = self.as_of(None).await?;
        Ok(run_parts(folded.run(), &report)?)
    }

    /// Compares the two targets of the run; differences up to `threshold_pct` percent count as
    /// none.
    ///
    /// # Errors
    /// When the run does not compare two targets.
    pub async fn versus(&mut self, threshold_pct: f64) -> Result<Versus, SessionError> {
        let report = self.report_without_series()?;
        let folded = self.as_of(None).await?;
        Ok(versus(folded.run(), &report, threshold_pct)?)
    }
}

/// Parses a slice or another query from JSON.
///
/// # Errors
/// The path of the first invalid field, and why.
pub fn parse_query<T: DeserializeOwned>(text: &str) -> Result<T, Refusal> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let refusal = |field: String, rule: String| Refusal {
        problems: vec![Problem::new(field, rule, text)],
    };
    let question = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| refusal(error.path().to_string(), error.inner().to_string()))?;
    let end = reader.end();
    end.map_err(|error| refusal(".".to_owned(), error.to_string()))?;
    Ok(question)
}

//! One run's log, folded and indexed in memory, for many queries.
//!
//! It reads on only when it is refreshed. All of it can be read again from the log: losing it, or
//! its cache file, costs only time.

use std::path::PathBuf;

use loadpilot_bus::{Bus, Fault, Step, Stored, Stream};
use loadpilot_engine::control::{Control, ControlLog};
use loadpilot_engine::fold::as_of::AsOf;
use loadpilot_engine::fold::index::Index;
use loadpilot_engine::fold::project::Projection;
use loadpilot_engine::report::agent_stats::agent_stats;
use loadpilot_engine::report::compare::run_parts::run_parts;
use loadpilot_engine::report::failures::errors;
use loadpilot_engine::report::slice::{
    Indexed, LatencyKind, heat, histogram_log, histograms, percentile_text, series,
};
use loadpilot_engine::report::time_range::report_of;
use loadpilot_engine::report::timeline;
use loadpilot_engine::report::what_if::what_if;
use loadpilot_engine::report::{NoReport, report};
use loadpilot_events::RunId;
use loadpilot_events::answers::agent_stats::Attendance;
use loadpilot_events::answers::compare::RunParts;
use loadpilot_events::answers::failures::Errors;
use loadpilot_events::answers::report::{Report, StoryLine, ThresholdResult};
use loadpilot_events::answers::slice::{Heat, Histograms, Series, Slice};
use loadpilot_events::answers::what_if::{WhatIf, WhatIfAnswer};
use loadpilot_events::id::AgentId;
use loadpilot_events::refusal::{Problem, Refusal};
use loadpilot_events::wire::subject::{Kind, Subjects};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::session::{Session, SessionError, control_of, retry_unreachable};

mod cache;

use cache::Cache;

/// The heads of the two streams, of all runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LogState {
    /// The last sequence of LP_CTL.
    pub ctl_seq: u64,
    /// The last sequence of LP_DATA.
    pub data_seq: u64,
}

/// How far a run has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Position {
    /// Sequence of its last record in LP_CTL.
    pub ctl_seq: u64,
    /// Sequence of its last valid fact.
    pub evt_seq: u64,
    /// Sequence of its last record in LP_DATA.
    pub data_seq: u64,
    /// Whether it is sealed or refused.
    pub over: bool,
}

/// A page of a timeline.
#[derive(Debug, Clone, Serialize)]
pub struct TimelinePage {
    /// Its lines, in the order of the log.
    pub lines: Vec<StoryLine>,
    /// The sequence to continue after; null on the last page.
    pub next: Option<u64>,
}

/// A fold with its index.
#[derive(Debug, Clone)]
struct Folded {
    control: Control,
    data: Projection,
    index: Index,
}

impl Folded {
    fn new(control: Control) -> Self {
        Self {
            control,
            data: Projection::default(),
            index: Index::default(),
        }
    }

    fn run(&self) -> Indexed<'_> {
        Indexed {
            control: &self.control,
            data: &self.data,
            index: &self.index,
        }
    }

    fn add(&mut self, agent: &AgentId, stored: &Stored) {
        let record = (agent, &*stored.subject, stored.seq, &*stored.payload);
        self.data
            .add_indexed(&self.control, record, &mut self.index);
    }
}

/// One run's log, indexed.
#[derive(Debug)]
pub struct IndexedRun {
    bus: Bus,
    subjects: Subjects,
    run: RunId,
    log: ControlLog,
    now: Folded,
    /// Sequences of the last records of the run in both streams.
    ctl_seq: u64,
    data_seq: u64,
    /// The heads of the streams at the last read.
    read: LogState,
    /// The run as of the instant, in µs after the start, of the last such query.
    then: Option<(u64, Folded)>,
    /// The report of the whole run, after its first query.
    report: Option<Box<Report>>,
    cache: Option<Cache>,
}

impl Session {
    /// Reads a run's log and indexes it. `cache` is the folder of a file that speeds up the next
    /// read.
    ///
    /// # Errors
    /// When the log holds no such run; or a fault of the bus.
    pub async fn read(
        &self,
        run: &RunId,
        cache: Option<PathBuf>,
    ) -> Result<IndexedRun, SessionError> {
        let (bus, subjects) = self.parts();
        let log = ControlLog::new(run.clone());
        let mut indexed = IndexedRun {
            now: Folded::new(log.close()),
            bus,
            subjects,
            run: run.clone(),
            log,
            ctl_seq: 0,
            data_seq: 0,
            read: LogState::default(),
            then: None,
            report: None,
            cache: None,
        };
        indexed.open(cache).await?;
        Ok(indexed)
    }

    /// The heads of the streams: if equal to the last ones, nothing has changed.
    ///
    /// # Errors
    /// A fault of the bus.
    pub async fn log_state(&self) -> Result<LogState, SessionError> {
        let (bus, _) = self.parts();
        Ok(heads(&bus).await?)
    }
}

async fn heads(bus: &Bus) -> Result<LogState, Fault> {
    Ok(LogState {
        ctl_seq: retry_unreachable(|| bus.head(Stream::Ctl)).await?,
        data_seq: retry_unreachable(|| bus.head(Stream::Data)).await?,
    })
}

impl IndexedRun {
    async fn open(&mut self, cache: Option<PathBuf>) -> Result<(), SessionError> {
        let heads = heads(&self.bus).await?;
        self.read_control().await?;
        let state = &self.now.control.state;
        if state.requested.is_none() && state.created.is_none() {
            return Err(NoReport::Unknown(self.run.to_string()).into());
        }
        if let Some(folder) = cache {
            let created = retry_unreachable(|| self.bus.created(Stream::Data)).await?;
            let mut cache = Cache::new(folder, self.run.clone(), created);
            if let Some(cached) = cache.load(&self.now.control) {
                (self.now.data, self.now.index) = (cached.data, cached.index);
                self.data_seq = cached.data_seq;
            }
            self.cache = Some(cache);
        }
        self.read_data().await?;
        self.read = heads;
        Ok(())
    }

    /// Reads the records appended since the last read; returns whether there were any of this run.
    ///
    /// # Errors
    /// A fault of the bus; the run stays as it was read.
    pub async fn refresh(&mut self) -> Result<bool, SessionError> {
        let heads = heads(&self.bus).await?;
        if heads == self.read {
            return Ok(false);
        }
        let before = self.position();
        self.read_control().await?;
        self.read_data().await?;
        self.read = heads;
        let changed = self.position() != before;
        if changed {
            (self.then, self.report) = (None, None);
        }
        Ok(changed)
    }

    async fn read_control(&mut self) -> Result<(), SessionError> {
        let filters = control_of(&self.subjects, &self.run);
        let from = self.ctl_seq + 1;
        let mut tail =
            retry_unreachable(|| self.bus.tail(Stream::Ctl, filters.clone(), from)).await?;
        while let Step::Event(stored) = tail.next().await? {
            if let Some(kind) = self.kind(&stored) {
                let (subject, payload) = (&stored.subject, &stored.payload);
                self.log.add(subject, &kind, stored.seq, payload);
            }
            self.ctl_seq = stored.seq;
        }
        let control = self.log.close();
        let (before, data) = (&self.now.control, &self.now.data);
        if !is_still_valid(data, self.data_seq, (before, &control)) {
            // The deltas folded so far may be judged differently now.
            self.now = Folded::new(control);
            self.data_seq = 0;
            if let Some(cache) = &mut self.cache {
                cache.forget();
            }
        } else {
            self.now.control = control;
        }
        Ok(())
    }

    async fn read_data(&mut self) -> Result<(), SessionError> {
        let deltas = vec![self.subjects.delta_all(&self.run)];
        let from = self.data_seq + 1;
        let mut tail =
            retry_unreachable(|| self.bus.tail(Stream::Data, deltas.clone(), from)).await?;
        while let Step::Event(stored) = tail.next().await? {
            if let Some(Kind::Delta(agent)) = self.kind(&stored) {
                self.now.add(&agent, &stored);
            }
            self.data_seq = stored.seq;
        }
        self.now.index.compact();
        if let Some(cache) = &mut self.cache {
            let now = &self.now;
            cache.store(&now.control, (&now.data, &now.index), self.data_seq);
        }
        Ok(())
    }

    /// How far the run has been read.
    #[must_use]
    pub fn position(&self) -> Position {
        Position {
            ctl_seq: self.ctl_seq,
            evt_seq: self.now.control.state.evt_seq,
            data_seq: self.data_seq,
            over: self.now.control.state.over,
        }
    }

    /// The report of the whole run, or as of an instant in µs after the start.
    ///
    /// # Errors
    /// When an instant is given and the run never started; or a fault of the bus.
    pub async fn report(&mut self, as_of_us: Option<u64>) -> Result<Report, SessionError> {
        if as_of_us.is_some() {
            let folded = self.as_of(as_of_us).await?;
            return Ok(report(&folded.control, &folded.data)?);
        }
        if let Some(report) = &self.report {
            return Ok((**report).clone());
        }
        let report = report(&self.now.control, &self.now.data)?;
        self.report = Some(Box::new(report.clone()));
        Ok(report)
    }

    /// The gates, judged by what was read so far.
    pub(crate) fn gates(&self) -> Result<Vec<ThresholdResult>, NoReport> {
        let report = report(&self.now.control, &self.now.data)?;
        Ok(report.verdict.thresholds)
    }

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
    /// start; absent: from the start, to the end.
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

    /// The verdict of the run under other gates, warm-up or bounds of time.
    ///
    /// # Errors
    /// Every problem of the question; or a fault of the bus.
    pub async fn verdict(&mut self, question: &WhatIf) -> Result<WhatIfAnswer, SessionError> {
        let folded = self.as_of(question.as_of_us).await?;
        Ok(what_if(folded.run(), question)?)
    }

    /// What a comparison needs of the run.
    ///
    /// # Errors
    /// When the run was never created.
    pub async fn parts(&mut self) -> Result<RunParts, SessionError> {
        let report = self.report(None).await?;
        Ok(run_parts(self.now.run(), &report)?)
    }

    /// The run as of an instant, folded from the log; the last one stays in memory.
    async fn as_of(&mut self, us: Option<u64>) -> Result<&Folded, SessionError> {
        let Some(us) = us else {
            return Ok(&self.now);
        };
        if self.then.as_ref().is_none_or(|(at_us, _)| *at_us != us) {
            let then = self.fold_as_of(us).await?;
            self.then = Some((us, then));
        }
        Ok(self.then.as_ref().map_or(&self.now, |(_, folded)| folded))
    }

    async fn fold_as_of(&self, us: u64) -> Result<Folded, SessionError> {
        let Some(then) = AsOf::new(&self.log, us) else {
            let rule = "must be left out: the run never started";
            return Err(Problem::new("as_of_us", rule, us).into());
        };
        let mut folded = Folded::new(then.control().clone());
        let deltas = vec![self.subjects.delta_all(&self.run)];
        let mut tail = retry_unreachable(|| self.bus.tail(Stream::Data, deltas.clone(), 1)).await?;
        while let Step::Event(stored) = tail.next().await? {
            if stored.seq > self.data_seq {
                break;
            }
            if let Some(Kind::Delta(agent)) = self.kind(&stored)
                && then.holds(stored.seq, &stored.payload)
            {
                folded.add(&agent, &stored);
            }
        }
        folded.index.compact();
        Ok(folded)
    }

    fn kind(&self, stored: &Stored) -> Option<Kind> {
        let subject = self.subjects.parse(&stored.subject);
        subject.map(|subject| subject.kind)
    }
}

/// Whether the deltas up to `data_seq`, folded in `data` under one control side, count the same
/// under a later one.
pub(crate) fn is_still_valid(
    data: &Projection,
    data_seq: u64,
    (before, after): (&Control, &Control),
) -> bool {
    let nothing_folded = data_seq == 0;
    let covered = after
        .sealed
        .as_ref()
        .is_none_or(|sealed| data_seq <= sealed.data_seq);
    let sealed_alike = before.sealed.is_some() || covered;
    let assigned_alike = before.assignments.len() == after.assignments.len();
    let created_alike = before.state.created.is_some() == after.state.created.is_some();
    let counts_alike = sealed_alike && assigned_alike && created_alike;
    (nothing_folded || counts_alike) && data.is_valid_under(after)
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

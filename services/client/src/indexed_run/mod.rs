//! One run's log, folded and indexed in memory, for many queries.
//!
//! It reads further records only when it is refreshed. Everything can be read again from the log:
//! losing it, or its cache file, costs only time.

use std::path::PathBuf;

use loadpilot_bus::{Bus, Fault, Stored, Stream};
use loadpilot_engine::control::{Control, ControlLog};
use loadpilot_engine::fold::as_of::AsOf;
use loadpilot_engine::fold::delta_record::DeltaRecord;
use loadpilot_engine::fold::gauge_windows::NewestWindows;
use loadpilot_engine::fold::index::Index;
use loadpilot_engine::fold::progress::{OpenArrivals, ticks_settled};
use loadpilot_engine::fold::project::Projection;
use loadpilot_engine::report::slice::Indexed;
use loadpilot_engine::report::what_if::next_change;
use loadpilot_engine::report::{NoReport, report, report_without_series};
use loadpilot_events::RunId;
use loadpilot_events::answers::report::{Report, ThresholdResult};
use loadpilot_events::log::steer::hold::HoldWindow;
use loadpilot_events::refusal::Problem;
use loadpilot_events::units::Rate;
use loadpilot_events::wire::subject::{Kind, Subjects};
use serde::Serialize;

use super::delta_stream::DeltaStream;
use super::session::{Session, SessionError, control_of, retry_unreachable};

mod cache;
mod cache_file;
pub mod metric_export;
mod queries;

use cache::Cache;
use cache_file::UnreadIndex;
pub use queries::{TimelinePage, parse_query};

/// The heads of the two streams, over all runs.
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

/// A fold with its index.
#[derive(Debug, Clone)]
struct Folded {
    control: Control,
    data: Projection,
    index: Index,
    /// Open arrivals of the deltas that were read here, without those in the cache.
    open: OpenArrivals,
    /// The newest windows of the same deltas.
    newest: NewestWindows,
}

impl Folded {
    fn new(control: Control) -> Self {
        Self {
            control,
            data: Projection::default(),
            index: Index::default(),
            open: OpenArrivals::default(),
            newest: NewestWindows::default(),
        }
    }

    fn run(&self) -> Indexed<'_> {
        Indexed {
            control: &self.control,
            data: &self.data,
            index: &self.index,
        }
    }

    /// Adds a delta; `is_watched` if the gauges of its window may be needed. Storing them means
    /// that the delta's histograms are merged a second time.
    fn add(&mut self, record: &DeltaRecord, is_watched: bool) {
        let index = Some(&mut self.index);
        let counts = self.data.add_parsed(&self.control, record, index);
        if counts && is_watched {
            self.newest.add(record);
        }
        self.open.add(record);
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
    /// The run as of the instant of the last such query, in µs after the start.
    then: Option<(u64, Folded)>,
    /// The report of the whole run, after its first query.
    report: Option<Box<Report>>,
    cache: Option<Cache>,
    /// The index of the fold, as long as it is only in the cache.
    unread_index: Option<UnreadIndex>,
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
            unread_index: None,
        };
        indexed.open(cache).await?;
        Ok(indexed)
    }

    /// The heads of the streams: if they equal the last ones, nothing has changed.
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
            let log = retry_unreachable(|| self.bus.identity()).await?;
            let mut cache = Cache::new(folder, self.run.clone(), log);
            if let Some(cached) = cache.load(&self.now.control, heads.data_seq) {
                self.now.data = cached.data;
                self.data_seq = cached.data_seq;
                self.unread_index = Some(cached.index);
            }
            self.cache = Some(cache);
        }
        let stored = self.read_data().await?;
        if self.now.control.sealed.is_some() && stored.is_some() {
            // A report needs no index, and can then use its memory. A query that does need the
            // index reads it from the file.
            self.now.index = Index::default();
            self.unread_index = stored;
        }
        self.read = heads;
        Ok(())
    }

    /// Reads the records appended since the last read; returns whether there were any of this run.
    ///
    /// # Errors
    /// A fault of the bus; the run stays in the state before.
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
        while let Some(stored) = tail.next_stored().await? {
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
            self.begin_anew(control);
        } else {
            self.now.control = control;
        }
        Ok(())
    }

    /// Reads and folds new deltas; returns the index if it was stored in the cache.
    async fn read_data(&mut self) -> Result<Option<UnreadIndex>, SessionError> {
        let mut deltas = self.deltas(self.data_seq + 1).await?;
        let mut next = deltas.next().await?;
        if next.is_none() && self.unread_index.is_some() {
            return Ok(None);
        }
        if !self.read_index() {
            deltas = self.deltas(1).await?;
            next = deltas.next().await?;
        }
        while let Some(batch) = next {
            // The gauges of a run that is over are not shown.
            let is_watched = !self.now.control.state.over;
            let records = batch.records.iter();
            records.for_each(|record| self.now.add(record, is_watched));
            self.data_seq = batch.last_seq;
            next = deltas.next().await?;
        }
        self.now.index.compact();
        if self.now.control.state.over {
            self.now.index.pack();
        }
        let now = &self.now;
        let cache = self.cache.as_mut();
        Ok(cache
            .and_then(|cache| cache.store(&now.control, (&now.data, &now.index), self.data_seq)))
    }

    /// Reads the index from the cache, if it is only there. Returns false if it is damaged; then no
    /// delta is folded any more.
    fn read_index(&mut self) -> bool {
        let Some(unread) = self.unread_index.take() else {
            return true;
        };
        match unread.read() {
            Some(index) => self.now.index = index,
            None => self.begin_anew(self.now.control.clone()),
        }
        self.data_seq > 0
    }

    /// Reads the index, if it is still only in the cache. Later queries need neither the cache nor,
    /// unless they are as of an instant, the log.
    ///
    /// # Errors
    /// A fault of the bus, if the index is damaged.
    pub async fn load_index(&mut self) -> Result<(), SessionError> {
        match self.read_index() {
            true => Ok(()),
            false => self.read_data().await.map(drop),
        }
    }

    /// Discards all deltas; from now on they are judged by `control`.
    fn begin_anew(&mut self, control: Control) {
        self.now = Folded::new(control);
        self.data_seq = 0;
        self.unread_index = None;
        if let Some(cache) = &mut self.cache {
            cache.forget();
        }
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

    /// Time after the start, in µs, up to which all arrivals have ended: whole ticks of a run in
    /// progress, as far as its newest deltas report. `None` for a run that is over, and before its
    /// start.
    #[must_use]
    pub fn settled_us(&self) -> Option<u64> {
        let now = &self.now;
        let tick_us = now.control.state.created.as_ref()?.plan.tick_us;
        let ticks = ticks_settled(&now.control, &now.data, &now.open, tick_us)?;
        Some(u64::from(ticks) * tick_us)
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

    /// The report of the whole run without its series, which are the largest part, and without a
    /// digest.
    ///
    /// # Errors
    /// None: the run is known.
    pub fn report_without_series(&self) -> Result<Report, SessionError> {
        Ok(report_without_series(&self.now.control, &self.now.data)?)
    }

    /// The gates, judged by the records read so far.
    pub(crate) fn gates(&self) -> Result<Vec<ThresholdResult>, NoReport> {
        let report = report_without_series(&self.now.control, &self.now.data)?;
        Ok(report.verdict.thresholds)
    }

    /// The next change of the rate, for a run that holds gates.
    pub(crate) fn next_change(&self) -> Option<(Rate, HoldWindow)> {
        next_change(self.now.run())
    }

    /// The run as of an instant, folded from the log; the last such fold stays in memory.
    async fn as_of(&mut self, us: Option<u64>) -> Result<&Folded, SessionError> {
        let Some(us) = us else {
            self.load_index().await?;
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
        let mut deltas = self.deltas(1).await?;
        while let Some(batch) = deltas.next().await? {
            let held = |record: &&DeltaRecord| record.seq() <= self.data_seq && then.holds(record);
            batch
                .records
                .iter()
                .filter(held)
                .for_each(|record| folded.add(record, false));
            if batch.last_seq >= self.data_seq {
                break;
            }
        }
        folded.index.compact();
        Ok(folded)
    }

    async fn deltas(&self, from_seq: u64) -> Result<DeltaStream, SessionError> {
        DeltaStream::open(&self.bus, &self.subjects, &self.run, from_seq).await
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

//! Reads the sampled calls of a run from its log, delta by delta.

use std::{io, vec};

use loadpilot_engine::fold::delta_record::DeltaRecord;
use loadpilot_engine::fold::project::Projection;
use loadpilot_engine::report::samples::{SampleRow, SampleTable, SampleText};
use loadpilot_events::RunId;
use loadpilot_events::answers::slice::Slice;
use loadpilot_events::refusal::Problem;
use serde::Serialize;

use super::delta_stream::DeltaStream;
use super::session::{Session, SessionError};

/// Number of sampled calls that were read, and of missing ones.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct WrittenSamples {
    /// Number of calls.
    pub rows: u64,
    /// Number of sampled calls that did not fit into their deltas.
    pub dropped: u64,
    /// Number of deltas whose samples cannot be read.
    pub unreadable: u64,
}

/// Reads sampled calls; the fold of the deltas determines which of them count.
#[derive(Debug)]
pub struct SampleReader {
    table: SampleTable,
    data: Projection,
    deltas: DeltaStream,
    /// The rest of a batch of deltas.
    batch: vec::IntoIter<DeltaRecord>,
    read: WrittenSamples,
}

impl Session {
    /// Opens the sampled calls of a run, restricted to the times and tasks of a slice.
    ///
    /// # Errors
    /// When the log holds no such run, its plan samples no calls, or the slice is invalid; or a
    /// fault of the bus.
    pub async fn sample_reader(
        &self,
        run: &RunId,
        slice: &Slice,
    ) -> Result<SampleReader, SessionError> {
        let control = self.control(run).await?;
        let table = SampleTable::new(control);
        let table = table.map_err(|error| Problem::new("run", error.to_string(), run))?;
        let table = table.within(slice)?;
        let (bus, subjects) = self.parts();
        Ok(SampleReader {
            table,
            data: Projection::default(),
            deltas: DeltaStream::open(&bus, &subjects, run, 1).await?,
            batch: Vec::new().into_iter(),
            read: WrittenSamples::default(),
        })
    }

    /// Announces every sampled call to a text format that needs their order.
    ///
    /// # Errors
    /// As [`Session::sample_reader`].
    pub async fn announce_samples(
        &self,
        run: &RunId,
        slice: &Slice,
        text: &mut SampleText,
    ) -> Result<(), SessionError> {
        if text.needs_order() {
            let mut reader = self.sample_reader(run, slice).await?;
            while reader.next(|_, row| text.announce(row)).await? {}
            text.announced();
        }
        Ok(())
    }

    /// Writes every sampled call of a run into `table`, a CSV file with a header.
    ///
    /// # Errors
    /// As [`Session::sample_reader`], and when `table` cannot be written.
    pub async fn samples(
        &self,
        run: &RunId,
        table: &mut impl io::Write,
    ) -> Result<WrittenSamples, SessionError> {
        let mut reader = self.sample_reader(run, &Slice::default()).await?;
        let mut form = SampleText::Table;
        table.write_all(form.header().as_bytes())?;
        let mut text = String::new();
        while reader
            .next(|table, row| form.line(table, row, &mut text))
            .await?
        {
            table.write_all(text.as_bytes())?;
            text.clear();
        }
        table.flush()?;
        Ok(reader.read())
    }
}

impl SampleReader {
    /// Passes the rows of the next delta to `each`; false at the end.
    ///
    /// # Errors
    /// A fault of the bus.
    pub async fn next(
        &mut self,
        mut each: impl FnMut(&SampleTable, &SampleRow<'_>),
    ) -> Result<bool, SessionError> {
        while let Some(record) = self.next_record().await? {
            let table = &self.table;
            let is_new = self.data.add_parsed(table.control(), &record, None);
            let Some((agent, delta)) = record.delta().filter(|_| is_new) else {
                continue;
            };
            match table.rows(agent, delta, |row| each(table, row)) {
                Ok(rows) => self.read.rows += rows,
                Err(_) => self.read.unreadable += 1,
            }
            self.read.dropped = self.read.dropped.saturating_add(delta.samples_dropped);
            return Ok(true);
        }
        Ok(false)
    }

    async fn next_record(&mut self) -> Result<Option<DeltaRecord>, SessionError> {
        loop {
            if let Some(record) = self.batch.next() {
                return Ok(Some(record));
            }
            match self.deltas.next().await? {
                Some(batch) => self.batch = batch.records.into_iter(),
                None => return Ok(None),
            }
        }
    }

    /// Number of calls read so far.
    #[must_use]
    pub fn read(&self) -> WrittenSamples {
        self.read
    }
}

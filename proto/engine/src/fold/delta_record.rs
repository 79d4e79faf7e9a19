//! A record of LP_DATA, parsed.
//!
//! The result depends on the bytes of the record alone: any thread may parse it, before or while
//! other records are folded, and several folds may share it. Must never judge a delta: each fold
//! does.

use std::borrow::Cow;
use std::iter;

use loadpilot_events::id::AgentId;
use loadpilot_events::log::delta::DeltaReported;
use loadpilot_events::log::hist::{EncodedHistogram, FilledBuckets, HistogramReader};

use crate::control::envelope;
use crate::fold::chain::{Content, content};

/// Number of filled buckets that are read ahead of a delta's fold. The fold reads the rest, up to
/// its own limits: a forged delta must not take memory before they are checked.
const READ_AHEAD_MAX: usize = 1 << 16;

/// A record of LP_DATA, parsed.
#[derive(Debug)]
pub struct DeltaRecord {
    pub(crate) agent: AgentId,
    pub(crate) subject: String,
    /// Its stream sequence.
    pub(crate) seq: u64,
    /// End of its window, in µs after the start, if that is readable.
    pub(crate) ended_us: Option<u64>,
    /// The delta, or why it is unreadable.
    pub(crate) parsed: Result<ParsedDelta, String>,
}

impl DeltaRecord {
    /// Parses a record; `agent` is the last token of its subject.
    #[must_use]
    pub fn parse(agent: AgentId, subject: String, seq: u64, payload: &[u8]) -> Self {
        let read = envelope::<DeltaReported>(payload);
        let ended_us = match &read {
            Ok(envelope) => Some(envelope.event.to_us),
            Err(_) => ended_us(payload),
        };
        Self {
            agent,
            subject,
            seq,
            ended_us,
            parsed: read.map(|envelope| ParsedDelta::new(envelope.event, payload.len())),
        }
    }

    /// Its stream sequence.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Its agent and its delta, unless it is unreadable.
    #[must_use]
    pub fn delta(&self) -> Option<(&AgentId, &DeltaReported)> {
        let parsed = self.parsed.as_ref().ok()?;
        Some((&self.agent, &parsed.delta))
    }
}

/// End of the window of a delta that may be unreadable otherwise, in µs after the start.
pub(crate) fn ended_us(payload: &[u8]) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Stored {
        event: Ended,
    }
    #[derive(serde::Deserialize)]
    struct Ended {
        to_us: u64,
    }
    let stored: Stored = serde_json::from_slice(payload).ok()?;
    Some(stored.event.to_us)
}

/// A delta with its histograms.
#[derive(Debug)]
pub(crate) struct ParsedDelta {
    pub(crate) delta: DeltaReported,
    /// Size of its record in bytes.
    pub(crate) bytes: usize,
    /// What distinguishes it from another delta of its number.
    pub(crate) content: Content,
    /// The histograms of [`encoded`] that were read ahead.
    read_ahead: Vec<Result<FilledBuckets, String>>,
}

impl ParsedDelta {
    fn new(delta: DeltaReported, bytes: usize) -> Self {
        let content = content(&delta);
        let (mut reader, mut room) = (HistogramReader::default(), READ_AHEAD_MAX);
        let mut read_ahead = Vec::new();
        for encoded in encoded(&delta) {
            let read = read(&mut reader, encoded);
            let filled = read.as_ref().map_or(0, FilledBuckets::filled);
            read_ahead.push(read);
            room = room.saturating_sub(filled);
            if room == 0 {
                break;
            }
        }
        Self {
            delta,
            bytes,
            content,
            read_ahead,
        }
    }

    /// The histogram at `index` of [`encoded`]; `encoded` is its stored form.
    ///
    /// # Errors
    /// Why it is unreadable, in words.
    pub(crate) fn histogram(
        &self,
        index: usize,
        encoded: &EncodedHistogram,
    ) -> Result<Cow<'_, FilledBuckets>, String> {
        match self.read_ahead.get(index) {
            Some(Ok(filled)) => Ok(Cow::Borrowed(filled)),
            Some(Err(why)) => Err(why.clone()),
            None => read(&mut HistogramReader::default(), encoded).map(Cow::Owned),
        }
    }
}

/// The histograms of a delta: response and service of each row of calls, then those of each row of
/// anatomy by phase.
fn encoded(delta: &DeltaReported) -> impl Iterator<Item = &EncodedHistogram> {
    let calls = delta.calls.iter();
    let calls = calls.flat_map(|row| iter::once(&row.response).chain([&row.service]));
    let anatomy = delta.anatomy.iter().flat_map(|row| row.phases.values());
    calls.chain(anatomy)
}

fn read(reader: &mut HistogramReader, encoded: &EncodedHistogram) -> Result<FilledBuckets, String> {
    reader.read(encoded).map_err(|error| error.to_string())
}

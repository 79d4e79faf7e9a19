//! The open tick of a core in a memory-mapped file of records, which outlives a kill.
//!
//! The writer stores a call twice: at its dispatch in the record of its seat, and at its end in the
//! half of the file that is being filled. Other counted events go to that half, too. A harvest of
//! the counters ends an *epoch*: the writer continues in the other half. When the harvested counts
//! are closed into a delta, their half is free again. So the same few pages are used over and
//! over, and the file always holds everything that is open.
//!
//! - [`layout`]: offsets in the file.
//! - [`event`]: other counted events, as a record.
//! - [`texts`]: names and error texts that records name by number.
//! - [`writer`]: records each counted call and event.
//! - [`read`]: the records of a dead process.
//!
//! Once created, a ring must never allocate, lock or wait: a record that finds no room is only
//! counted.

use std::path::{Path, PathBuf};

use loadpilot_engine::tally::crash_recovery::Watermark;
use loadpilot_events::id::Holder;
use loadpilot_events::plan::Plan;

use super::record::{CallRecord, EPOCH_MAX, RECORD_BYTES};
use crate::crash::mmap_file::Map;

mod event;
mod layout;
mod read;
mod texts;
pub(crate) mod writer;

use layout::{Layout, NUMBER_BITS, finished_place, seat_place};
use texts::TextWriter;

pub use event::{RingEvent, RingEventKind};
pub use layout::RingOwner;
pub use read::{RingContents, RingError, read};
pub use texts::RingTexts;

/// Extension of its file's name.
pub const EXTENSION: &str = "ring";
/// Default for the maximum bytes of one ring: at a tick of 1 s, 55,000 calls a second.
pub const RING_BYTES_DEFAULT: u64 = 8 << 20;
/// Bytes for texts of users whose tasks read answers, on one core in one run.
const TEXTS_BYTES: u64 = 512 << 10;
/// Minimum number of finished calls that a half has room for.
const HALF_RECORDS_MIN: u64 = 1_024;
/// Number of ticks at the highest rate for which a half has room: a harvest may be late.
const HALF_TICKS: u64 = 2;

/// Where rings are created, and how large they may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingSettings {
    /// The folder; created when absent.
    pub folder: PathBuf,
    /// Maximum bytes of one ring, that is, of one core in one run.
    pub bytes_max: u64,
}

/// The state of the ring at the end of an epoch.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EpochEnd {
    /// Watermark up to which calls are harvested; `None` without a ring.
    pub mark: Option<Watermark>,
    /// Calls that found no room in that epoch.
    pub unrecorded: u64,
}

/// The ring of one core.
#[derive(Debug)]
pub struct Ring {
    map: Map,
    layout: Layout,
    path: PathBuf,
    /// The half that is being filled.
    half: usize,
    /// For each half, the number of its first record and the number of its records.
    halves: [(u64, u32); 2],
    /// Number of the next finished call, from 1.
    next: u64,
    /// Number of the last record that is closed into a delta.
    closed: u64,
    epoch: u32,
    /// Calls and events that found no room, since the last epoch and in all.
    unrecorded: (u64, u64),
    /// Calls in flight without a place in the file.
    seatless: u64,
    texts: TextWriter,
}

impl Ring {
    /// Creates the file of a ring with room for the calls that a core may make of `plan`, within
    /// the maximum size in `place`. All of its bytes are allocated on the disk.
    ///
    /// # Errors
    /// The error of the file system: no room, no permission, or a ring of this owner exists
    /// already.
    pub fn create(
        place: &RingSettings,
        owner: &RingOwner,
        plan: &Plan,
        max_in_flight: u32,
    ) -> std::io::Result<Self> {
        let layout = layout_of(plan, max_in_flight, place.bytes_max);
        let path = place.folder.join(file_name(owner));
        let map = Map::create(&path, layout.bytes())?;
        map.write(0, &layout.header(owner));
        let ring = Self {
            texts: TextWriter::new(layout.texts_at(), layout.bytes()),
            map,
            layout,
            path,
            half: 0,
            halves: [(1, 0); 2],
            next: 1,
            closed: 0,
            epoch: 1,
            unrecorded: (0, 0),
            seatless: 0,
        };
        ring.map.store_u64(layout::FIRST_AT[0], 1);
        Ok(ring)
    }

    /// Path of its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn begin(&mut self, seat: u32, record: &CallRecord) {
        match self.layout.seat_at(seat) {
            Some(at) => self.write(at, &record.encode(seat_place(seat))),
            None => self.set_seatless(self.seatless + 1),
        }
    }

    /// A call has ended and is not counted yet: it stays in its seat, with its end.
    fn hold(&mut self, seat: u32, record: &CallRecord) {
        if let Some(at) = self.layout.seat_at(seat) {
            self.write(at, &record.encode(seat_place(seat)));
        }
    }

    fn end(&mut self, seat: u32, record: &CallRecord) {
        // If the process is killed between this store and the clearing of the seat, the call is in
        // both places: the reader compares them.
        let ended = self.next | (u64::from(seat) << NUMBER_BITS);
        self.map.store_u64(layout::ENDED_AT, ended);
        self.append(&record.encode(finished_place(self.next)));
        match self.layout.seat_at(seat) {
            Some(at) => self.map.store_u32(at, 0),
            None => self.set_seatless(self.seatless.saturating_sub(1)),
        }
    }

    fn append_event(&mut self, event: &RingEvent) {
        self.append(&event.encode(finished_place(self.next)));
    }

    /// Appends a record that was encoded for the next number.
    fn append(&mut self, bytes: &[u8; RECORD_BYTES]) {
        let (first, held) = self.halves[self.half];
        match self.layout.finished_at(self.half, held) {
            Some(at) => {
                self.write(at, bytes);
                self.halves[self.half] = (first, held + 1);
                self.next += 1;
            }
            None => self.count_unrecorded(),
        }
    }

    /// The check value is written last: until then the record is invalid.
    fn write(&self, at: usize, bytes: &[u8; RECORD_BYTES]) {
        self.map.write(at + 4, &bytes[4..]);
        let check = [bytes[0], bytes[1], bytes[2], bytes[3]];
        self.map.store_u32(at, u32::from_le_bytes(check));
    }

    fn count_unrecorded(&mut self) {
        self.unrecorded.0 += 1;
        self.unrecorded.1 += 1;
        self.map.store_u64(layout::UNRECORDED_AT, self.unrecorded.1);
    }

    fn set_seatless(&mut self, calls: u64) {
        self.seatless = calls;
        self.map.store_u64(layout::SEATLESS_AT, calls);
    }

    /// Calls that ended by now are harvested. Later calls go to the other half if that is free.
    fn end_epoch(&mut self) -> EpochEnd {
        let mark = Watermark {
            // The stored type calls the epoch `turn`.
            turn: self.epoch,
            number: self.next - 1,
            unrecorded: self.unrecorded.1,
        };
        self.epoch = (self.epoch + 1).min(EPOCH_MAX);
        let other = 1 - self.half;
        let (first, held) = self.halves[other];
        let is_free = first + u64::from(held) <= self.closed + 1;
        if is_free && self.halves[self.half].1 > 0 {
            self.half = other;
            self.halves[other] = (self.next, 0);
            // Old records there have other numbers.
            self.map.store_u64(layout::FIRST_AT[other], self.next);
        }
        EpochEnd {
            mark: Some(mark),
            unrecorded: std::mem::take(&mut self.unrecorded.0),
        }
    }

    /// The records up to `mark` are in a delta: they are closed by one store, so all at once.
    fn close(&mut self, mark: Watermark) {
        self.closed = self.closed.max(mark.number);
        let word = (u64::from(mark.turn) << NUMBER_BITS) | mark.number;
        self.map.store_u64(layout::CLOSED_AT, word);
    }
}

/// File name of a ring.
#[must_use]
pub fn file_name(owner: &RingOwner) -> String {
    let Holder { agent, boot_id } = &owner.holder;
    format!("{}.{agent}.{boot_id}.{}.{EXTENSION}", owner.run, owner.core)
}

/// At most a quarter of the records are seats. The halves have room for the calls that the plan can
/// make, a number that is unknown for a closed loop.
fn layout_of(plan: &Plan, max_in_flight: u32, bytes_max: u64) -> Layout {
    // A row that cannot be read is counted as an error with a text.
    let has_texts = plan.scenario_users().is_some() || plan.requests.is_some();
    let texts = match has_texts {
        true => TEXTS_BYTES.min(bytes_max / 4),
        false => 0,
    };
    let others = texts + layout::HEADER_BYTES as u64;
    let records = bytes_max.saturating_sub(others) / RECORD_BYTES as u64;
    let records = records.max(4);
    let seats = u64::from(max_in_flight).clamp(1, records / 4);
    let half_max = (records - seats) / 2;
    let steps = plan.steps_per_arrival() as u64;
    let a_tick = u128::from(plan.profile.peak().0) * u128::from(plan.tick_us) / 1_000_000_000_000;
    let a_tick = u64::try_from(a_tick).unwrap_or(u64::MAX).saturating_add(1);
    let wanted = match plan.users {
        Some(_) => half_max,
        // The number of calls of a task that reads answers is unknown.
        None if plan.scenario_users().is_some() => half_max,
        // One more record for an arrival that is dropped or ends with an error.
        None => a_tick.saturating_mul(HALF_TICKS * (steps + 1)),
    };
    let half = wanted.max(HALF_RECORDS_MIN).min(half_max);
    Layout {
        seats: u32::try_from(seats).unwrap_or(u32::MAX),
        half: u32::try_from(half).unwrap_or(u32::MAX),
        texts: u32::try_from(texts).unwrap_or(0),
    }
}

#[cfg(all(test, unix))]
mod tests;

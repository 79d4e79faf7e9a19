//! The open tick of a core, kept where a kill cannot reach it: a file of records, mapped into
//! memory.
//!
//! A call is written at its dispatch, into the place of its seat, and once more at its end, into
//! the half of the file that is being filled; so is whatever else the tally is told. When the
//! counters are harvested the ring *turns* to the other half; when what was harvested is closed
//! into a delta, its half is free again. So the same few pages are used over and over, and all that
//! is open is in the file at any moment.
//!
//! Must never allocate, lock or wait once it is made: what finds no room is counted instead.

use std::path::{Path, PathBuf};

use loadpilot_engine::tally::crash_recovery::Mark;
use loadpilot_events::RunId;
use loadpilot_events::id::Holder;
use loadpilot_events::plan::Plan;

use super::record::{CallRecord, RECORD_BYTES, TURN_MAX};
use crate::crash::mmap_file::Map;

mod event;
mod layout;
mod read;
mod texts;
mod writer;

use layout::{Layout, finished_place, seat_place};
use texts::Texts;

pub use event::{Note, Noted};
pub use read::{Leftover, NotARing, read};
pub use texts::ReadTexts;
pub(crate) use writer::{Recorder, Turned};

/// What its file's name ends in.
pub const EXTENSION: &str = "ring";
/// Most bytes of one ring, unless the operator says otherwise: at a tick of 1 s, 55,000 calls a
/// second.
pub const RING_BYTES_DEFAULT: u64 = 8 << 20;
/// Bytes of texts that users whose tasks look at answers may make up, on one core in one run.
const TEXTS_BYTES: u64 = 512 << 10;
/// Fewest finished calls that a half has room for.
const HALF_RECORDS_MIN: u64 = 1_024;
/// Ticks of the highest rate that a half has room for: a harvest may be late.
const HALF_TICKS: u64 = 2;
/// Bits of the number of a record in the word that says what is closed; the others are the turn.
const NUMBER_BITS: u32 = 40;

/// Where rings are made, and how large they may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingPlace {
    /// The folder; made when it is not there.
    pub folder: PathBuf,
    /// Most bytes of one ring: of one core in one run.
    pub bytes_max: u64,
}

/// Whose calls a ring holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingOwner {
    /// The run.
    pub run: RunId,
    /// The process.
    pub holder: Holder,
    /// The core of the process, from 0.
    pub core: u32,
}

/// The ring of one core.
#[derive(Debug)]
pub struct Ring {
    map: Map,
    layout: Layout,
    path: PathBuf,
    /// The half that is being filled.
    half: usize,
    /// Of each half, the number of its first record and how many it holds.
    halves: [(u64, u32); 2],
    /// The number of the next finished call, from 1.
    next: u64,
    /// The number of the last one that is closed into a delta.
    closed: u64,
    turn: u32,
    /// Calls and notes that found no room, since the last turn and in all.
    unrecorded: (u64, u64),
    /// Calls in flight that have no place.
    seatless: u64,
    texts: Texts,
}

impl Ring {
    /// Makes the file of a ring with room for what a core may do of `plan`, at most `place`'s
    /// bytes of it, all of them set aside on the disk.
    ///
    /// # Errors
    /// What the file system says: no room, no right, a ring of this owner that is there already.
    pub fn create(
        place: &RingPlace,
        owner: &RingOwner,
        plan: &Plan,
        max_in_flight: u32,
    ) -> std::io::Result<Self> {
        let layout = layout_of(plan, max_in_flight, place.bytes_max);
        let path = place.folder.join(file_name(owner));
        let map = Map::create(&path, layout.bytes())?;
        map.write(0, &layout.header(owner));
        let ring = Self {
            texts: Texts::new(layout.texts_at(), layout.bytes()),
            map,
            layout,
            path,
            half: 0,
            halves: [(1, 0); 2],
            next: 1,
            closed: 0,
            turn: 1,
            unrecorded: (0, 0),
            seatless: 0,
        };
        ring.map.store_u64(layout::FIRST_AT[0], 1);
        Ok(ring)
    }

    /// Its file.
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
        // A call that is killed between this and the clearing of its seat is in both places: the
        // reader compares them.
        let ended = self.next | (u64::from(seat) << NUMBER_BITS);
        self.map.store_u64(layout::ENDED_AT, ended);
        self.tell(&record.encode(finished_place(self.next)));
        match self.layout.seat_at(seat) {
            Some(at) => self.map.store_u32(at, 0),
            None => self.set_seatless(self.seatless.saturating_sub(1)),
        }
    }

    fn note(&mut self, note: &Note) {
        self.tell(&note.encode(finished_place(self.next)));
    }

    /// Puts a record, made for the next number, behind the others.
    fn tell(&mut self, bytes: &[u8; RECORD_BYTES]) {
        let (first, held) = self.halves[self.half];
        match self.layout.finished_at(self.half, held) {
            Some(at) => {
                self.write(at, bytes);
                self.halves[self.half] = (first, held + 1);
                self.next += 1;
            }
            None => self.note_unrecorded(),
        }
    }

    /// The check value comes last: until then nothing is there.
    fn write(&self, at: usize, bytes: &[u8; RECORD_BYTES]) {
        self.map.write(at + 4, &bytes[4..]);
        let check = [bytes[0], bytes[1], bytes[2], bytes[3]];
        self.map.store_u32(at, u32::from_le_bytes(check));
    }

    fn note_unrecorded(&mut self) {
        self.unrecorded.0 += 1;
        self.unrecorded.1 += 1;
        self.map.store_u64(layout::UNRECORDED_AT, self.unrecorded.1);
    }

    fn set_seatless(&mut self, calls: u64) {
        self.seatless = calls;
        self.map.store_u64(layout::SEATLESS_AT, calls);
    }

    /// What ended by now was harvested; later calls go to the other half when that is free.
    fn turn(&mut self) -> Turned {
        let mark = Mark {
            turn: self.turn,
            number: self.next - 1,
            unrecorded: self.unrecorded.1,
        };
        self.turn = (self.turn + 1).min(TURN_MAX);
        let other = 1 - self.half;
        let (first, held) = self.halves[other];
        let is_free = first + u64::from(held) <= self.closed + 1;
        if is_free && self.halves[self.half].1 > 0 {
            self.half = other;
            self.halves[other] = (self.next, 0);
            // Whatever stands there has other numbers.
            self.map.store_u64(layout::FIRST_AT[other], self.next);
        }
        Turned {
            mark: Some(mark),
            unrecorded: std::mem::take(&mut self.unrecorded.0),
        }
    }

    /// What was harvested up to `mark` is in a delta: one store, so that it is closed as a whole.
    fn close(&mut self, mark: Mark) {
        self.closed = self.closed.max(mark.number);
        let word = (u64::from(mark.turn) << NUMBER_BITS) | mark.number;
        self.map.store_u64(layout::CLOSED_AT, word);
    }
}

/// The name of a ring's file.
#[must_use]
pub fn file_name(owner: &RingOwner) -> String {
    let Holder { agent, boot_id } = &owner.holder;
    format!("{}.{agent}.{boot_id}.{}.{EXTENSION}", owner.run, owner.core)
}

/// A quarter for calls in flight at most; of finished calls what the plan can make, which a closed
/// loop does not say.
fn layout_of(plan: &Plan, max_in_flight: u32, bytes_max: u64) -> Layout {
    let texts = match plan.scenario_users() {
        Some(_) => TEXTS_BYTES.min(bytes_max / 4),
        None => 0,
    };
    let others = texts + layout::HEADER_BYTES as u64;
    let records = bytes_max.saturating_sub(others) / RECORD_BYTES as u64;
    let records = records.max(4);
    let seats = u64::from(max_in_flight).clamp(1, records / 4);
    let half_max = (records - seats) / 2;
    let steps = plan.tasks.iter().map(|task| task.steps.len() as u64).max();
    let a_tick = u128::from(plan.profile.peak().0) * u128::from(plan.tick_us) / 1_000_000_000_000;
    let a_tick = u64::try_from(a_tick).unwrap_or(u64::MAX).saturating_add(1);
    let wanted = match plan.users {
        Some(_) => half_max,
        // Nobody knows how many calls a task makes that looks at answers.
        None if plan.scenario_users().is_some() => half_max,
        // One more for an arrival that is dropped, or does not go well.
        None => a_tick.saturating_mul(HALF_TICKS * (steps.unwrap_or(1) + 1)),
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

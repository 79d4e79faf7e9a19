//! The layout of a ring's file. Pure.
//!
//! One page of header, then a record for each seat, then two halves of finished calls and events,
//! then texts:
//!
//! | bytes | field, little-endian |
//! |---|---|
//! | 0–7 | `lp-ring` and a zero |
//! | 8–11 | version of the records |
//! | 12–15 | seats |
//! | 16–19 | records of each half |
//! | 20–23 | core |
//! | 24–27 | bytes of texts, which follow the records |
//! | 32–39 | closed: number of the last closed record in bits 0–39, the epoch above it |
//! | 40–47, 48–55 | number of the first record of each half; 0 when it was never used |
//! | 56–63 | finished calls and events that found no room, in all |
//! | 64, 256, 448 | run, agent, boot: one byte for the length, then the text |
//! | 640–647 | the call that ended last: its number in bits 0–39, its seat above it |
//! | 648–655 | calls in flight without a seat in the file |

use loadpilot_events::id::{Holder, RunId};
use loadpilot_events::limits::NAME_BYTES_MAX;

use crate::fire::journal::record::{RECORD_BYTES, RECORD_VERSION};

/// The owner of the calls in a ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingOwner {
    /// The run.
    pub run: RunId,
    /// The process.
    pub holder: Holder,
    /// The core of the process, from 0.
    pub core: u32,
}

/// Number of bits of a record's number in the word `closed`; the other bits are the epoch.
pub(super) const NUMBER_BITS: u32 = 40;
/// Length of the header: one page, so that the records begin at a page.
pub(super) const HEADER_BYTES: usize = 4_096;
pub(super) const MAGIC: [u8; 8] = *b"lp-ring\0";
pub(super) const CLOSED_AT: usize = 32;
pub(super) const FIRST_AT: [usize; 2] = [40, 48];
pub(super) const UNRECORDED_AT: usize = 56;
pub(super) const ENDED_AT: usize = 640;
pub(super) const SEATLESS_AT: usize = 648;
/// Offsets of run, agent and boot.
pub(super) const NAMES_AT: [usize; 3] = [64, 256, 448];

/// How a file is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// Number of calls in flight with a place in the file.
    pub(super) seats: u32,
    /// Number of finished calls and events in each half.
    pub(super) half: u32,
    /// Bytes of texts.
    pub(super) texts: u32,
}

impl Layout {
    pub(super) fn bytes(&self) -> usize {
        self.texts_at() + self.texts as usize
    }

    /// Offset of the texts.
    pub(super) fn texts_at(&self) -> usize {
        HEADER_BYTES + RECORD_BYTES * (self.seats as usize + 2 * self.half as usize)
    }

    /// Offset of the call in flight of a seat.
    pub(super) fn seat_at(&self, seat: u32) -> Option<usize> {
        (seat < self.seats).then(|| HEADER_BYTES + RECORD_BYTES * seat as usize)
    }

    /// Offset of a finished call, by its place in its half.
    pub(super) fn finished_at(&self, half: usize, place: u32) -> Option<usize> {
        let before = self.seats as usize + half * self.half as usize;
        (place < self.half).then(|| HEADER_BYTES + RECORD_BYTES * (before + place as usize))
    }

    /// The header of a ring that has recorded nothing.
    pub(super) fn header(&self, owner: &RingOwner) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        let numbers = [
            RECORD_VERSION,
            self.seats,
            self.half,
            owner.core,
            self.texts,
        ];
        for (number, at) in numbers.into_iter().zip((8..).step_by(4)) {
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        let holder = &owner.holder;
        let names = [
            owner.run.as_str(),
            holder.agent.as_str(),
            holder.boot_id.as_str(),
        ];
        for (name, at) in names.into_iter().zip(NAMES_AT) {
            let name = &name.as_bytes()[..name.len().min(NAME_BYTES_MAX)];
            bytes[at] = u8::try_from(name.len()).unwrap_or(0);
            bytes[at + 1..=at + name.len()].copy_from_slice(name);
        }
        bytes
    }
}

/// The place in the check value of a call in flight.
pub(super) fn seat_place(seat: u32) -> u64 {
    (1 << 63) | u64::from(seat)
}

/// The place in the check value of a finished call: its number, which is never used again.
pub(super) fn finished_place(number: u64) -> u64 {
    number
}

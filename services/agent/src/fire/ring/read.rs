//! What a dead process left in its ring.
//!
//! Pure: the bytes are an argument. Must never panic on whatever they are, and never give a call
//! twice.

use std::collections::BTreeSet;

use loadpilot_events::id::{AgentId, BootId, Holder, RunId};

use super::layout::{
    CLOSED_AT, FIRST_AT, HEADER_BYTES, Layout, MAGIC, NAMES_AT, UNRECORDED_AT, finished_place,
    seat_place,
};
use super::{NUMBER_BITS, RingOwner};
use crate::fire::calls::Name;
use crate::fire::record::{CallRecord, RECORD_BYTES, RECORD_VERSION};

/// Everything that was open when the process died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Whose it is.
    pub owner: RingOwner,
    /// Calls that finished since the last delta was closed, in the order of their ends.
    pub finished: Vec<CallRecord>,
    /// Calls without an end.
    pub in_flight: Vec<CallRecord>,
    /// The last turn that was closed into a delta. An arrival whose first call began in a later
    /// one was not reported as started.
    pub closed_turn: u32,
    /// Calls that found no room since the start: as many may be missing here.
    pub unrecorded: u64,
}

/// Why bytes are not a ring.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotARing {
    /// They begin otherwise.
    #[error("not a ring")]
    Foreign,
    /// Another version wrote it.
    #[error("a ring of version {0}, this program reads {RECORD_VERSION}")]
    Version(u32),
    /// It is shorter than it says.
    #[error("a ring of {said} bytes, of which {found} are there")]
    Short {
        /// The length it should have.
        said: u64,
        /// The length it has.
        found: u64,
    },
    /// It does not say whose it is.
    #[error("a ring of nobody")]
    Nameless,
}

/// Reads the bytes of a ring's file whose process is dead.
///
/// # Errors
/// Why they are not a whole ring of this version.
pub fn read(bytes: &[u8]) -> Result<Leftover, NotARing> {
    let header = bytes.first_chunk::<HEADER_BYTES>();
    let header = header.filter(|header| header.starts_with(&MAGIC));
    let header = header.ok_or(NotARing::Foreign)?;
    if word_u32(header, 8) != RECORD_VERSION {
        return Err(NotARing::Version(word_u32(header, 8)));
    }
    let layout = Layout {
        seats: word_u32(header, 12),
        half: word_u32(header, 16),
    };
    if bytes.len() < layout.bytes() {
        return Err(NotARing::Short {
            said: layout.bytes() as u64,
            found: bytes.len() as u64,
        });
    }
    let owner = owner(header).ok_or(NotARing::Nameless)?;
    let closed = word_u64(header, CLOSED_AT);
    let closed_number = closed & ((1 << NUMBER_BITS) - 1);
    let mut finished = Vec::new();
    for (half, first_at) in FIRST_AT.into_iter().enumerate() {
        let first = word_u64(header, first_at);
        if first > 0 {
            finished.extend(finished_of(bytes, &layout, half, first));
        }
    }
    finished.retain(|(number, _)| *number > closed_number);
    finished.sort_by_key(|(number, _)| *number);
    let finished: Vec<CallRecord> = finished.into_iter().map(|(_, record)| record).collect();
    // One that was killed between its end and the clearing of its seat is in both places.
    let ended: BTreeSet<_> = finished.iter().map(identity).collect();
    let seats = (0..layout.seats).filter_map(|seat| {
        let record = record_at(bytes, layout.seat_at(seat)?, seat_place(seat))?;
        record.ended.is_none().then_some(record)
    });
    Ok(Leftover {
        owner,
        in_flight: seats
            .filter(|record| !ended.contains(&identity(record)))
            .collect(),
        finished,
        closed_turn: u32::try_from(closed >> NUMBER_BITS).unwrap_or(u32::MAX),
        unrecorded: word_u64(header, UNRECORDED_AT),
    })
}

/// The finished calls of a half with their numbers, up to the first place that holds none.
fn finished_of(
    bytes: &[u8],
    layout: &Layout,
    half: usize,
    first: u64,
) -> impl Iterator<Item = (u64, CallRecord)> {
    (0..layout.half).map_while(move |place| {
        let number = first.checked_add(u64::from(place))?;
        let at = layout.finished_at(half, place)?;
        let record = record_at(bytes, at, finished_place(number))?;
        record.ended.is_some().then_some((number, record))
    })
}

fn record_at(bytes: &[u8], at: usize, place: u64) -> Option<CallRecord> {
    let record = bytes.get(at..)?.first_chunk::<RECORD_BYTES>()?;
    CallRecord::decode(record, place)
}

/// What no two calls of a process share.
fn identity(record: &CallRecord) -> (u64, u64, u32, u16) {
    let (user, number) = match record.arrival {
        Name::Planned(n) => (u64::MAX, n),
        Name::Iteration { user, k } => (u64::from(user), k),
    };
    (user, number, record.generation, record.call)
}

fn owner(header: &[u8; HEADER_BYTES]) -> Option<RingOwner> {
    let [run, agent, boot] = NAMES_AT.map(|at| {
        let len = usize::from(header[at]);
        std::str::from_utf8(&header[at + 1..=at + len]).ok()
    });
    Some(RingOwner {
        run: RunId::parse(run?).ok()?,
        holder: Holder {
            agent: AgentId::parse(agent?).ok()?,
            boot_id: BootId::parse(boot?).ok()?,
        },
        core: word_u32(header, 20),
    })
}

fn word_u32(header: &[u8; HEADER_BYTES], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&header[at..at + 4]);
    u32::from_le_bytes(word)
}

fn word_u64(header: &[u8; HEADER_BYTES], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&header[at..at + 8]);
    u64::from_le_bytes(word)
}

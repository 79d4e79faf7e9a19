//! Reads the ring of a dead process.
//!
//! Pure: the bytes are an argument. Must never panic on any bytes, and never return a call twice.

use loadpilot_engine::tally::crash_recovery::Watermark;
use loadpilot_events::id::{AgentId, BootId, Holder, RunId};

use super::event::RingEvent;
use super::layout::{
    CLOSED_AT, ENDED_AT, FIRST_AT, HEADER_BYTES, Layout, MAGIC, NAMES_AT, NUMBER_BITS, RingOwner,
    SEATLESS_AT, UNRECORDED_AT, finished_place, seat_place,
};
use super::texts::RingTexts;
use crate::fire::journal::record::{CallRecord, RECORD_BYTES, RECORD_VERSION};

const NUMBER_MAX: u64 = (1 << NUMBER_BITS) - 1;

/// Everything that was open when the process died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingContents {
    /// The owner of the ring.
    pub owner: RingOwner,
    /// Calls that finished since the last delta was closed, in the order of their ends. After them,
    /// calls that had ended and still waited for their checks.
    pub finished: Vec<CallRecord>,
    /// Other events since then, in order.
    pub events: Vec<RingEvent>,
    /// Calls without an end.
    pub in_flight: Vec<CallRecord>,
    /// Texts that calls and events name by number.
    pub texts: RingTexts,
    /// The watermark up to which everything is in deltas. An arrival whose first call began in a
    /// later epoch was not reported as started.
    pub closed: Watermark,
    /// Finished calls and events that found no room since the start: up to this number may be
    /// missing here.
    pub unrecorded: u64,
    /// Calls in flight that had no record in the file.
    pub seatless: u64,
}

/// Why bytes are not a ring.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// The magic number is absent.
    #[error("not a ring")]
    Foreign,
    /// The version is unknown.
    #[error("a ring of version {0}, this program reads {RECORD_VERSION}")]
    Version(u32),
    /// It is shorter than its header says.
    #[error("a ring of {said} bytes, of which {found} are there")]
    Short {
        /// Length according to the header, in bytes.
        said: u64,
        /// Length found, in bytes.
        found: u64,
    },
    /// The header contains no valid owner.
    #[error("a ring without an owner")]
    NoOwner,
}

/// Reads the file of a ring whose process is dead. `closed` is the watermark up to which the calls
/// are known to be in deltas; the ring itself may contain an older one.
///
/// # Errors
/// The bytes are not a complete ring of this version.
pub fn read(bytes: &[u8], closed: Watermark) -> Result<RingContents, RingError> {
    let header = bytes.first_chunk::<HEADER_BYTES>();
    let header = header.filter(|header| header.starts_with(&MAGIC));
    let header = header.ok_or(RingError::Foreign)?;
    if word_u32(header, 8) != RECORD_VERSION {
        return Err(RingError::Version(word_u32(header, 8)));
    }
    let layout = Layout {
        seats: word_u32(header, 12),
        half: word_u32(header, 16),
        texts: word_u32(header, 24),
    };
    if bytes.len() < layout.bytes() {
        return Err(RingError::Short {
            said: layout.bytes() as u64,
            found: bytes.len() as u64,
        });
    }
    let owner = owner(header).ok_or(RingError::NoOwner)?;
    let word = word_u64(header, CLOSED_AT);
    let stored = Watermark {
        turn: u32::try_from(word >> NUMBER_BITS).unwrap_or(u32::MAX),
        number: word & NUMBER_MAX,
        unrecorded: 0,
    };
    let closed = closed.max(stored);
    let mut entries = Vec::new();
    for (half, first_at) in FIRST_AT.into_iter().enumerate() {
        let first = word_u64(header, first_at);
        if first > 0 {
            entries.extend(entries_of(bytes, &layout, half, first));
        }
    }
    let ended = word_u64(header, ENDED_AT);
    let last_end = entries.iter().find_map(|entry| match entry {
        (number, Entry::Call(record)) if *number == ended & NUMBER_MAX => Some(*record),
        _ => None,
    });
    entries.retain(|(number, _)| !closed.covers(*number));
    entries.sort_by_key(|(number, _)| *number);
    let mut contents = RingContents {
        owner,
        finished: Vec::new(),
        events: Vec::new(),
        in_flight: Vec::new(),
        texts: RingTexts::read(bytes, layout.texts_at()),
        closed,
        unrecorded: word_u64(header, UNRECORDED_AT),
        seatless: word_u64(header, SEATLESS_AT),
    };
    for (_, entry) in entries {
        match entry {
            Entry::Call(record) => contents.finished.push(record),
            Entry::Event(event) => contents.events.push(event),
        }
    }
    let last_seat = ended >> NUMBER_BITS;
    read_seats(
        bytes,
        &layout,
        last_end.map(|end| (last_seat, end)),
        &mut contents,
    );
    Ok(contents)
}

/// Adds the calls in the seats. `last_end` is the seat and the end of the call that ended last.
fn read_seats(
    bytes: &[u8],
    layout: &Layout,
    last_end: Option<(u64, CallRecord)>,
    contents: &mut RingContents,
) {
    for seat in 0..layout.seats {
        let at = layout.seat_at(seat);
        let record = at.and_then(|at| record_at(bytes, at, seat_place(seat)));
        let Some(record) = record else {
            continue;
        };
        let is_last =
            |(last, end): (u64, CallRecord)| last == u64::from(seat) && is_same(&end, &record);
        if last_end.is_some_and(is_last) {
            // The process was killed between the end of the call and the clearing of its seat.
            continue;
        }
        match record.ended {
            Some(_) => contents.finished.push(record),
            None => contents.in_flight.push(record),
        }
    }
}

/// A record of a half.
enum Entry {
    Call(CallRecord),
    Event(RingEvent),
}

/// The finished calls and events of a half with their numbers, up to the first invalid record.
fn entries_of(
    bytes: &[u8],
    layout: &Layout,
    half: usize,
    first: u64,
) -> impl Iterator<Item = (u64, Entry)> {
    (0..layout.half).map_while(move |place| {
        let number = first.checked_add(u64::from(place))?;
        let at = layout.finished_at(half, place)?;
        let place = finished_place(number);
        let call = record_at(bytes, at, place).filter(|record| record.ended.is_some());
        let entry = match call {
            Some(record) => Entry::Call(record),
            None => Entry::Event(RingEvent::decode(place_at(bytes, at)?, place)?),
        };
        Some((number, entry))
    })
}

fn record_at(bytes: &[u8], at: usize, place: u64) -> Option<CallRecord> {
    CallRecord::decode(place_at(bytes, at)?, place)
}

fn place_at(bytes: &[u8], at: usize) -> Option<&[u8; RECORD_BYTES]> {
    bytes.get(at..)?.first_chunk()
}

/// Whether the call in a seat is the one that has ended there. The next call of that seat is due at
/// the end of this one, or later.
fn is_same(ended: &CallRecord, seated: &CallRecord) -> bool {
    let identity = |record: &CallRecord| {
        let CallRecord {
            arrival,
            generation,
            call,
            due_us,
            ..
        } = *record;
        (arrival, generation, call, due_us)
    };
    identity(ended) == identity(seated)
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

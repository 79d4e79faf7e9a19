//! One call as 64 bytes: the figures that the tally counts of it, in a form that outlives the
//! process.
//!
//! Version 2, little-endian, at these places:
//!
//! | bytes | field |
//! |---|---|
//! | 0–3 | check value of the other 60 bytes and of the record's place; never 0 |
//! | 4 | bits 0–3 state, 4–5 connection, 6 sent a second time, 7 arrival of a user |
//! | 5–7 | epoch of the ring in which it began, from 1; 0 when an event records its start |
//! | 8–9 | call, by its place in the plan's list of calls |
//! | 10–11 | status code; else 1,000 + the index of its cause in [`Cause::ALL`], or 0 |
//! | 12–15 | due tick of its arrival |
//! | 16–19 | generation held at that tick |
//! | 20–21 | schedule lag, short form; the first call of an arrival only |
//! | 22–23 | name resolution, short form |
//! | 24–31 | arrival: n; of a user k in bits 0–42 and the user in bits 43–63 |
//! | 32–36 | due, µs after the start |
//! | 37–41 | dispatched, µs after the start |
//! | 42–46 | end, µs after the start; 0 while in flight |
//! | 47–51 | bytes received |
//! | 52–55 | bytes sent |
//! | 56–57 | TCP connect, short form |
//! | 58–59 | TLS handshake, short form |
//! | 60–61 | first byte, short form |
//! | 62–63 | last byte, short form |
//!
//! State is 1 in flight, or 2 + the place of the outcome in [`Outcome::ALL`]. Connection is 0 none,
//! 1 opened, 2 reused. The place of a record is a seat, or the number of a finished call
//! ([`super::ring`]).
//!
//! Short form is µs with 11 significant bits: exact below 2,048, within 0.1 % above, which is more
//! exact than an anatomy histogram. A number that does not fit is stored as the greatest that does.
//! Pure: must never do I/O, and never panic on any bytes.

use loadpilot_engine::tally::{CallEnd, ConnectionUse, Phases, Redirects};
use loadpilot_events::log::assign::Generation;
use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::outcome::Outcome;

use crate::fire::arrival_id::ArrivalId;

/// Version of this layout.
pub const RECORD_VERSION: u32 = 2;
/// Length of a record.
pub const RECORD_BYTES: usize = 64;
/// Number of 8-byte words in a record.
const WORDS: usize = RECORD_BYTES / 8;

/// Maximum epoch that a record can name: 2²⁴ ticks of a second are 194 days.
pub(crate) const EPOCH_MAX: u32 = (1 << 24) - 1;
/// Maximum time (12 days) and count of bytes (1 TiB) in five bytes.
const FIVE_BYTES_MAX: u64 = (1 << 40) - 1;
/// Number of bits of an iteration's number k.
const K_BITS: u32 = 43;
const IN_FLIGHT: u8 = 1;
const FIRST_OUTCOME: u8 = 2;
/// Offset of causes: above every status code.
const FIRST_CAUSE: u16 = 1_000;

/// A call that began, and its end if it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallRecord {
    /// The arrival that it belongs to.
    pub arrival: ArrivalId,
    /// Epoch of the ring in which it began; 0 when the start of its arrival is an event of its own.
    pub epoch: u32,
    /// Due tick of its arrival.
    pub tick: u32,
    /// Generation held at that tick.
    pub generation: Generation,
    /// Place of the call in the plan's list of calls.
    pub call: u16,
    /// When it was due, in µs after the start.
    pub due_us: u64,
    /// When it was dispatched, in µs after the start.
    pub dispatched_us: u64,
    /// From due until the pacer reached the arrival, in µs; first call of a task only.
    pub schedule_lag_us: Option<u64>,
    /// Its end; `None` while it is in flight.
    pub ended: Option<CallRecordEnd>,
}

/// The end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallRecordEnd {
    /// The outcome.
    pub outcome: Outcome,
    /// When it ended, in µs after the start.
    pub end_us: u64,
    /// Status code, when it was answered.
    pub status: Option<u16>,
    /// Why it was not answered, where that is known.
    pub cause: Option<Cause>,
    /// Bytes written.
    pub sent_bytes: u64,
    /// Bytes read.
    pub received_bytes: u64,
    /// Whether the request was sent a second time.
    pub resent: bool,
    /// Whether its connection was opened for it or reused.
    pub connection: Option<ConnectionUse>,
    /// Name resolution, in µs.
    pub dns_us: Option<u64>,
    /// TCP connect, in µs.
    pub connect_us: Option<u64>,
    /// TLS handshake, in µs.
    pub tls_us: Option<u64>,
    /// Time until the first byte of the answer, in µs.
    pub first_byte_us: Option<u64>,
    /// Time from the first to the last byte, in µs.
    pub last_byte_us: Option<u64>,
}

impl CallRecord {
    /// The same call with the given end. Its dispatch moves by less than 1 µs, so that both
    /// latencies equal the counted ones.
    #[must_use]
    pub fn with_end(self, end: &CallEnd) -> Self {
        let phases = &end.phases;
        let end_us = self.due_us.saturating_add(end.response_us);
        let ended = CallRecordEnd {
            outcome: end.outcome,
            end_us,
            status: end.status,
            cause: end.cause,
            sent_bytes: end.sent_bytes,
            received_bytes: end.received_bytes,
            resent: phases.resent,
            connection: phases.connection,
            dns_us: phases.dns_us,
            connect_us: phases.connect_us,
            tls_us: phases.tls_us,
            first_byte_us: phases.first_byte_us,
            last_byte_us: phases.last_byte_us,
        };
        Self {
            dispatched_us: end_us.saturating_sub(end.service_us),
            ended: Some(ended),
            ..self
        }
    }

    /// The figures of the call that the tally counts; `None` while it is in flight.
    #[must_use]
    pub fn call_end(&self) -> Option<CallEnd> {
        let ended = self.ended?;
        let waited_us = self.dispatched_us.saturating_sub(self.due_us);
        let queue_us = |lag_us: u64| waited_us.saturating_sub(lag_us);
        Some(CallEnd {
            tick: self.tick,
            generation: self.generation,
            call: self.call,
            outcome: ended.outcome,
            response_us: ended.end_us.saturating_sub(self.due_us),
            service_us: ended.end_us.saturating_sub(self.dispatched_us),
            status: ended.status,
            cause: ended.cause,
            sent_bytes: ended.sent_bytes,
            received_bytes: ended.received_bytes,
            phases: Phases {
                schedule_lag_us: self.schedule_lag_us,
                queue_us: self.schedule_lag_us.map(queue_us),
                dns_us: ended.dns_us,
                connect_us: ended.connect_us,
                tls_us: ended.tls_us,
                first_byte_us: ended.first_byte_us,
                last_byte_us: ended.last_byte_us,
                // The record stores the call of a stream, not its tokens.
                first_token_us: None,
                first_token_service_us: None,
                resent: ended.resent,
                connection: ended.connection,
                // Nor the number of redirects that the call followed: those of a killed process are
                // lost.
                redirects: Redirects::default(),
            },
        })
    }

    /// The bytes of the record, valid only at `place`.
    #[must_use]
    pub fn encode(&self, place: u64) -> [u8; RECORD_BYTES] {
        let (mut head, arrival) = match self.arrival {
            ArrivalId::Planned(n) => (0, n),
            ArrivalId::Iteration { user, k } => (1 << 7, (u64::from(user) << K_BITS) | k_of(k)),
        };
        let due = self.due_us.min(FIVE_BYTES_MAX);
        let dispatched = self.dispatched_us.min(FIVE_BYTES_MAX);
        let mut words = [0; WORDS];
        words[1] = u64::from(self.call) | (u64::from(self.tick) << 32);
        words[2] = u64::from(self.generation) | (short(self.schedule_lag_us) << 32);
        words[3] = arrival;
        words[4] = due | (dispatched << 40);
        words[5] = dispatched >> 24;
        head |= match &self.ended {
            None => IN_FLIGHT,
            Some(ended) => ended.write(&mut words),
        };
        words[0] = (u64::from(head) << 32) | (u64::from(self.epoch.min(EPOCH_MAX)) << 40);
        seal(words, place)
    }

    /// The record in `bytes`; `None` when they were not written completely, belong to another
    /// place, or are not a record.
    #[must_use]
    pub fn decode(bytes: &[u8; RECORD_BYTES], place: u64) -> Option<Self> {
        unseal(bytes, place)?;
        let arrival = get(bytes, 24, 8);
        let arrival = match bytes[4] >> 7 {
            0 => ArrivalId::Planned(arrival),
            _ => ArrivalId::Iteration {
                user: u32::try_from(arrival >> K_BITS).ok()?,
                k: k_of(arrival),
            },
        };
        let ended = match bytes[4] & 0x0f {
            IN_FLIGHT => None,
            state => Some(CallRecordEnd::read(
                bytes,
                state.checked_sub(FIRST_OUTCOME)?,
            )?),
        };
        let record = Self {
            arrival,
            epoch: u32::try_from(get(bytes, 5, 3)).ok()?,
            tick: u32::try_from(get(bytes, 12, 4)).ok()?,
            generation: u32::try_from(get(bytes, 16, 4)).ok()?,
            call: get_u16(bytes, 8),
            due_us: get(bytes, 32, 5),
            dispatched_us: get(bytes, 37, 5),
            schedule_lag_us: long(get_u16(bytes, 20)),
            ended,
        };
        // A record has exactly one encoding: this code did not write any other one.
        (record.encode(place) == *bytes).then_some(record)
    }
}

impl CallRecordEnd {
    /// Writes the fields of an end; returns the bits of byte 4.
    fn write(&self, words: &mut [u64; WORDS]) -> u8 {
        let received = self.received_bytes.min(FIVE_BYTES_MAX);
        // The causes are declared in the order of the list.
        let cause = self.cause.map(|cause| FIRST_CAUSE + cause as u16);
        words[1] |= u64::from(self.status.or(cause).unwrap_or(0)) << 16;
        words[2] |= short(self.dns_us) << 48;
        words[5] |= (self.end_us.min(FIVE_BYTES_MAX) << 16) | (received << 56);
        words[6] = (received >> 8) | (self.sent_bytes.min(u64::from(u32::MAX)) << 32);
        words[7] = short(self.connect_us)
            | (short(self.tls_us) << 16)
            | (short(self.first_byte_us) << 32)
            | (short(self.last_byte_us) << 48);
        let connection = match self.connection {
            None => 0,
            Some(ConnectionUse::Opened) => 1,
            Some(ConnectionUse::Reused) => 2,
        };
        // The outcomes are declared in the order of the list.
        (FIRST_OUTCOME + self.outcome as u8) | (connection << 4) | (u8::from(self.resent) << 6)
    }

    fn read(bytes: &[u8; RECORD_BYTES], outcome: u8) -> Option<Self> {
        let status = get_u16(bytes, 10);
        let cause = status.checked_sub(FIRST_CAUSE);
        Some(Self {
            outcome: *Outcome::ALL.get(usize::from(outcome))?,
            end_us: get(bytes, 42, 5),
            status: (1..FIRST_CAUSE).contains(&status).then_some(status),
            cause: match cause {
                None => None,
                Some(place) => Some(*Cause::ALL.get(usize::from(place))?),
            },
            sent_bytes: get(bytes, 52, 4),
            received_bytes: get(bytes, 47, 5),
            resent: (bytes[4] >> 6) & 1 == 1,
            connection: match (bytes[4] >> 4) & 3 {
                0 => None,
                1 => Some(ConnectionUse::Opened),
                2 => Some(ConnectionUse::Reused),
                _ => return None,
            },
            dns_us: long(get_u16(bytes, 22)),
            connect_us: long(get_u16(bytes, 56)),
            tls_us: long(get_u16(bytes, 58)),
            first_byte_us: long(get_u16(bytes, 60)),
            last_byte_us: long(get_u16(bytes, 62)),
        })
    }
}

fn k_of(word: u64) -> u64 {
    word & ((1 << K_BITS) - 1)
}

fn get(bytes: &[u8; RECORD_BYTES], at: usize, len: usize) -> u64 {
    let mut word = [0; 8];
    word[..len].copy_from_slice(&bytes[at..at + len]);
    u64::from_le_bytes(word)
}

fn get_u16(bytes: &[u8; RECORD_BYTES], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// Number of significant bits of a short form; the others hold the shift.
const SHORT_BITS: u32 = 11;
const SHORT_NONE: u16 = u16::MAX;

/// `us` with 11 significant bits, rounded down: 5 bits of shift, 11 bits.
fn short(us: Option<u64>) -> u64 {
    let Some(us) = us else {
        return u64::from(SHORT_NONE);
    };
    let shift = (u64::BITS - us.leading_zeros()).saturating_sub(SHORT_BITS);
    let form = (u64::from(shift) << SHORT_BITS) | (us >> shift);
    form.min(u64::from(SHORT_NONE - 1))
}

fn long(form: u16) -> Option<u64> {
    let shift = form >> SHORT_BITS;
    let bits = form & ((1 << SHORT_BITS) - 1);
    (form != SHORT_NONE).then(|| u64::from(bits) << shift)
}

/// The bytes of `words`, whose lowest 32 bits are free for the check value.
pub(crate) fn seal(mut words: [u64; WORDS], place: u64) -> [u8; RECORD_BYTES] {
    words[0] |= u64::from(check(&words, place));
    let mut bytes = [0; RECORD_BYTES];
    for (part, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *part = word.to_le_bytes();
    }
    bytes
}

/// The words of `bytes` without the check value; `None` when the check value does not match.
pub(crate) fn unseal(bytes: &[u8; RECORD_BYTES], place: u64) -> Option<[u64; WORDS]> {
    let mut words = [0; WORDS];
    for (word, part) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(*part);
    }
    let found = words[0] & u64::from(u32::MAX);
    words[0] ^= found;
    (found == u64::from(check(&words, place))).then_some(words)
}

/// Mixes the bytes after the check value, and the place, into 32 bits that are never 0.
///
/// Each step is one-to-one in the word that it mixes in, so that two records that differ in one
/// word differ before the fold to 32 bits (the multiplier is that of SplitMix64's finaliser).
fn check(words: &[u64; WORDS], place: u64) -> u32 {
    const MULTIPLIER: u64 = 0xbf58_476d_1ce4_e5b9;
    let mut mixed = place ^ (u64::from(RECORD_VERSION) << 56) ^ (words[0] >> 32);
    for word in &words[1..] {
        mixed = mixed.wrapping_mul(MULTIPLIER);
        mixed ^= (mixed >> 32) ^ word;
    }
    mixed = mixed.wrapping_mul(MULTIPLIER);
    mixed ^= mixed >> 29;
    mixed = mixed.wrapping_mul(MULTIPLIER);
    u32::try_from(mixed >> 32).unwrap_or(0).max(1)
}

#[cfg(test)]
mod tests;

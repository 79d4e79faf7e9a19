//! An event that a thread counts besides calls, as a record of the ring: 64 bytes like a call's.
//!
//! Version 2, little-endian, at these places, everything else 0:
//!
//! | bytes | field |
//! |---|---|
//! | 0–3 | check value, as in a call's record |
//! | 4 | 13: no call has that state |
//! | 8–9 | kind, by its place in the order of [`RingEventKind`], from 1 |
//! | 10–11 | task |
//! | 12–15 | due tick |
//! | 16–19 | generation held at that tick |
//! | 20–21 | number of a text ([`super::texts`]), or the kind of a metric in bits 14–15 above it |
//! | 24–31 | reason, whether a check passed, the value of a metric, how the last call ended, or
//! whether a session followed another |
//!
//! Pure: must never do I/O, and never panic on any bytes.

use loadpilot_engine::tally::RowKey;
use loadpilot_events::log::delta::LastCall;
use loadpilot_events::log::metrics::{MetricValue, Millionths, TrendCount};
use loadpilot_events::log::outcome::DropReason;

use crate::fire::journal::record::{RECORD_BYTES, seal, unseal};

const EVENT: u64 = 13;
/// Number of texts that an event can name.
pub(super) const TEXTS_MAX: u16 = 1 << 14;
const REASONS: [DropReason; 7] = [
    DropReason::Late,
    DropReason::NoSlot,
    DropReason::NoUser,
    DropReason::Fenced,
    DropReason::Paused,
    DropReason::Stopped,
    DropReason::Unowned,
];

/// Something that happened to an arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingEvent {
    /// Row key of the arrival.
    pub key: RowKey,
    /// What happened.
    pub kind: RingEventKind,
}

/// The kinds of events of an arrival besides its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingEventKind {
    /// It started, before its first call. Only for users whose tasks read answers.
    Started,
    /// It will never start.
    Dropped(DropReason),
    /// It ended, and not every call succeeded.
    TaskError,
    /// A check examined an answer.
    Check {
        /// Whether it passed.
        passed: bool,
    },
    /// It added a sample to an own metric.
    Metric {
        /// Number of the metric's name.
        text: u16,
        /// The value that was added.
        value: MetricValue,
    },
    /// It raised an error.
    Raised {
        /// Number of the error's text.
        text: u16,
    },
    /// Its task raised an error.
    TaskRaised(LastCall),
    /// A session began with it.
    Session {
        /// Whether the session took the place of another one.
        follows: bool,
    },
}

impl RingEvent {
    /// The bytes of the event, valid only at `place`.
    pub(super) fn encode(&self, place: u64) -> [u8; RECORD_BYTES] {
        let (kind, text, value) = match self.kind {
            RingEventKind::Started => (1, 0, 0),
            RingEventKind::Dropped(reason) => (2, 0, reason_place(reason)),
            RingEventKind::TaskError => (3, 0, 0),
            RingEventKind::Check { passed } => (4, 0, u64::from(passed)),
            RingEventKind::Metric { text, value } => {
                let (kind, value) = metric(value);
                (5, u64::from(text % TEXTS_MAX) | (kind << 14), value)
            }
            RingEventKind::Raised { text } => (6, u64::from(text % TEXTS_MAX), 0),
            RingEventKind::TaskRaised(last) => (7, 0, last_call_place(last)),
            RingEventKind::Session { follows } => (8, 0, u64::from(follows)),
        };
        let mut words = [0; RECORD_BYTES / 8];
        words[0] = EVENT << 32;
        words[1] = kind | (u64::from(self.key.task) << 16) | (u64::from(self.key.tick) << 32);
        words[2] = u64::from(self.key.generation) | (text << 32);
        words[3] = value;
        seal(words, place)
    }

    /// The event in `bytes`; `None` when they were not written completely, or are another record.
    pub(super) fn decode(bytes: &[u8; RECORD_BYTES], place: u64) -> Option<Self> {
        let words = unseal(bytes, place)?;
        if words[0] >> 32 != EVENT {
            return None;
        }
        let text = u16::try_from((words[2] >> 32) % u64::from(TEXTS_MAX)).ok()?;
        let value = words[3];
        let kind = match words[1] % (1 << 16) {
            1 => RingEventKind::Started,
            2 => RingEventKind::Dropped(*REASONS.get(usize::try_from(value).ok()?)?),
            3 => RingEventKind::TaskError,
            4 => RingEventKind::Check { passed: value == 1 },
            5 => RingEventKind::Metric {
                text,
                value: metric_from((words[2] >> 46) & 3, value)?,
            },
            6 => RingEventKind::Raised { text },
            7 => RingEventKind::TaskRaised(*LastCall::ALL.get(usize::try_from(value).ok()?)?),
            8 => RingEventKind::Session {
                follows: value == 1,
            },
            _ => return None,
        };
        let event = Self {
            key: RowKey {
                tick: u32::try_from(words[1] >> 32).ok()?,
                generation: u32::try_from(words[2] % (1 << 32)).ok()?,
                task: u16::try_from((words[1] >> 16) % (1 << 16)).ok()?,
            },
            kind,
        };
        // An event has exactly one encoding, as a call has.
        (event.encode(place) == *bytes).then_some(event)
    }
}

fn reason_place(reason: DropReason) -> u64 {
    let place = REASONS.iter().position(|known| *known == reason);
    place.map_or(u64::MAX, |place| place as u64)
}

fn last_call_place(last: LastCall) -> u64 {
    let place = LastCall::ALL.iter().position(|known| *known == last);
    place.map_or(u64::MAX, |place| place as u64)
}

/// Kind and value.
fn metric(value: MetricValue) -> (u64, u64) {
    match value {
        MetricValue::Counter(amount) => (1, amount.count()),
        MetricValue::Trend(value) => {
            let TrendCount(digits, exponent, _) = value.times(1);
            let [low, high] = digits.to_le_bytes();
            let [exponent] = exponent.to_le_bytes();
            (2, u64::from_le_bytes([low, high, exponent, 0, 0, 0, 0, 0]))
        }
        MetricValue::Rate(is_true) => (3, u64::from(is_true)),
    }
}

fn metric_from(kind: u64, value: u64) -> Option<MetricValue> {
    match kind {
        1 => Millionths::from_count(value).map(MetricValue::Counter),
        2 => {
            let [low, high, exponent, ..] = value.to_le_bytes();
            let digits = i16::from_le_bytes([low, high]);
            let count = TrendCount(digits, i8::from_le_bytes([exponent]), 1);
            count.value().map(MetricValue::Trend)
        }
        3 => Some(MetricValue::Rate(value == 1)),
        _ => None,
    }
}

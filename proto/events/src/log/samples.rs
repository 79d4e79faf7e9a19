//! Samples: single calls of a delta, beside the rows that count them, as columns of small numbers
//! in base64.
//!
//! Version 1: one byte of version, the number of calls, then one column after the other in the
//! order of `COLUMNS`. Numbers are LEB128. A column holds the differences between successive calls,
//! or plain values; a run of zeroes is a 0 and its length. So a column that hardly changes takes
//! almost no space, and most calls take about ten bytes in all. Decoding returns what was encoded,
//! and never panics on any text.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::{SAMPLES_BYTES_MAX, SAMPLES_PER_DELTA_MAX};
use crate::log::assign::Generation;
use crate::log::outcome::Outcome;
use crate::varint::{put, take, unzigzag, zigzag};

const VERSION: u8 = 1;

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Number of its user, in a closed loop.
    pub user: Option<u32>,
    /// Number n of its arrival; in a closed loop the number of the user's iteration.
    pub number: u64,
    /// Generation held at the due tick of its arrival.
    pub generation: Generation,
    /// Due tick of its arrival.
    pub tick: u32,
    /// Index of the call in the plan's list of calls.
    pub call: u16,
    /// How the call ended.
    pub outcome: Outcome,
    /// Status code, if there was a response.
    pub status: Option<u16>,
    /// Due time, in µs after the start.
    pub due_us: u64,
    /// Response time, end − due, in µs.
    pub response_us: u64,
    /// Service time, end − dispatch, in µs.
    pub service_us: u64,
    /// From the written request to the first byte of the response, in µs.
    pub first_byte_us: Option<u64>,
    /// Bytes written.
    pub sent_bytes: u64,
    /// Bytes read.
    pub received_bytes: u64,
    /// Whether its connection was already open; `None` without a connection.
    pub reused: Option<bool>,
}

/// Samples: base64 of their columns (format in `events/src/log/samples.rs`); empty text is no
/// sample.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct EncodedSamples(pub String);

/// Why a text is not a list of samples.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not samples: {0}")]
pub struct NotSamples(&'static str);

/// How a column is written.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// The plain value.
    None,
    /// Difference from the value before.
    Step,
    /// Difference from the step before: for values that grow evenly.
    Pace,
}

/// One number of a call: how to read it and how to restore it.
struct Column {
    change: Change,
    of: fn(&Sample) -> u64,
    put: fn(&mut Sample, u64) -> Option<()>,
}

/// The order matters, since some columns are relative to others: the first byte to the service
/// time, the service time to the response time.
const COLUMNS: [Column; 15] = [
    column(
        Change::Step,
        |call| call.user.map_or(0, |user| u64::from(user) + 1),
        |call, value| {
            let user = value.checked_sub(1).map(u32::try_from).transpose();
            user.ok().map(|user| call.user = user)
        },
    ),
    column(
        Change::Pace,
        |call| call.number,
        |call, value| {
            call.number = value;
            Some(())
        },
    ),
    column(
        Change::Step,
        |call| u64::from(call.generation),
        |call, value| {
            call.generation = u32::try_from(value).ok()?;
            Some(())
        },
    ),
    column(
        Change::Step,
        |call| u64::from(call.tick),
        |call, value| {
            call.tick = u32::try_from(value).ok()?;
            Some(())
        },
    ),
    column(
        Change::Step,
        |call| u64::from(call.call),
        |call, value| {
            call.call = u16::try_from(value).ok()?;
            Some(())
        },
    ),
    column(
        Change::Step,
        |call| call.outcome as u64,
        |call, value| {
            let outcome = Outcome::ALL.get(usize::try_from(value).ok()?);
            outcome.map(|outcome| call.outcome = *outcome)
        },
    ),
    column(
        Change::Step,
        |call| call.status.map_or(0, |status| u64::from(status) + 1),
        |call, value| {
            let status = value.checked_sub(1).map(u16::try_from).transpose();
            status.ok().map(|status| call.status = status)
        },
    ),
    column(
        Change::Pace,
        |call| call.due_us,
        |call, value| {
            call.due_us = value;
            Some(())
        },
    ),
    column(
        Change::None,
        |call| call.response_us,
        |call, value| {
            call.response_us = value;
            Some(())
        },
    ),
    column(
        Change::None,
        |call| call.response_us.wrapping_sub(call.service_us),
        |call, value| {
            call.service_us = call.response_us.wrapping_sub(value);
            Some(())
        },
    ),
    column(
        Change::Step,
        |call| u64::from(call.first_byte_us.is_some()),
        |call, value| {
            call.first_byte_us = (value > 0).then_some(0);
            (value <= 1).then_some(())
        },
    ),
    column(
        Change::None,
        |call| {
            call.first_byte_us
                .map_or(0, |us| call.service_us.wrapping_sub(us))
        },
        |call, value| {
            let service_us = call.service_us;
            call.first_byte_us = call.first_byte_us.map(|_| service_us.wrapping_sub(value));
            Some(())
        },
    ),
    column(
        Change::Step,
        |call| call.sent_bytes,
        |call, value| {
            call.sent_bytes = value;
            Some(())
        },
    ),
    column(
        Change::Step,
        |call| call.received_bytes,
        |call, value| {
            call.received_bytes = value;
            Some(())
        },
    ),
    column(
        Change::Step,
        |call| call.reused.map_or(0, |reused| 1 + u64::from(reused)),
        |call, value| {
            call.reused = value.checked_sub(1).map(|reused| reused > 0);
            (value <= 2).then_some(())
        },
    ),
];

const fn column(
    change: Change,
    of: fn(&Sample) -> u64,
    put: fn(&mut Sample, u64) -> Option<()>,
) -> Column {
    Column { change, of, put }
}

impl EncodedSamples {
    /// Whether there is no sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Encodes calls into as many texts as the limits require: at most [`SAMPLES_PER_DELTA_MAX`] calls
/// and [`SAMPLES_BYTES_MAX`] bytes each. Calls sorted by due time take the least room.
#[must_use]
pub fn encode(samples: &[Sample]) -> Vec<EncodedSamples> {
    let mut texts = Vec::new();
    let mut chunks: Vec<&[Sample]> = samples.chunks(SAMPLES_PER_DELTA_MAX).rev().collect();
    while let Some(chunk) = chunks.pop() {
        let text = BASE64_STANDARD.encode(columns(chunk));
        if text.len() > SAMPLES_BYTES_MAX && chunk.len() > 1 {
            let (first, rest) = chunk.split_at(chunk.len() / 2);
            chunks.extend([rest, first]);
        } else {
            texts.push(EncodedSamples(text));
        }
    }
    texts
}

/// Decodes calls.
///
/// # Errors
/// When the text was not written by [`encode`].
pub fn decode(text: &EncodedSamples) -> Result<Vec<Sample>, NotSamples> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    if text.0.len() > SAMPLES_BYTES_MAX {
        return Err(NotSamples("too long"));
    }
    let bytes = BASE64_STANDARD.decode(&text.0);
    let bytes = bytes.map_err(|_| NotSamples("not base64"))?;
    let mut rest = bytes.as_slice();
    if rest.split_off_first() != Some(&VERSION) {
        return Err(NotSamples("unknown version"));
    }
    let calls = take(&mut rest).and_then(|calls| usize::try_from(calls).ok());
    let calls = calls.filter(|calls| (1..=SAMPLES_PER_DELTA_MAX).contains(calls));
    let mut samples = vec![EMPTY; calls.ok_or(NotSamples("invalid number of calls"))?];
    for column in &COLUMNS {
        let read = read_column(column, &mut rest, &mut samples);
        read.ok_or(NotSamples("invalid column"))?;
    }
    match rest.is_empty() {
        true => Ok(samples),
        false => Err(NotSamples("trailing bytes")),
    }
}

/// A call before its columns are read.
const EMPTY: Sample = Sample {
    user: None,
    number: 0,
    generation: 0,
    tick: 0,
    call: 0,
    outcome: Outcome::Ok,
    status: None,
    due_us: 0,
    response_us: 0,
    service_us: 0,
    first_byte_us: None,
    sent_bytes: 0,
    received_bytes: 0,
    reused: None,
};

/// Prediction of a column's next value from the values before.
#[derive(Default)]
struct Expected {
    last: u64,
    step: u64,
}

impl Expected {
    /// Difference of `value` from the prediction.
    fn change(&mut self, change: Change, value: u64) -> u64 {
        let (last, step) = (self.last, self.step);
        self.advance(value);
        match change {
            Change::None => value,
            Change::Step => zigzag(value.wrapping_sub(last)),
            Change::Pace => zigzag(value.wrapping_sub(last).wrapping_sub(step)),
        }
    }

    /// The value with the difference `by` from the prediction.
    fn value(&mut self, change: Change, by: u64) -> u64 {
        let value = match change {
            Change::None => by,
            Change::Step => self.last.wrapping_add(unzigzag(by)),
            Change::Pace => self.last.wrapping_add(self.step).wrapping_add(unzigzag(by)),
        };
        self.advance(value);
        value
    }

    /// Advances the prediction beyond `value`.
    fn advance(&mut self, value: u64) {
        self.step = value.wrapping_sub(self.last);
        self.last = value;
    }
}

fn columns(samples: &[Sample]) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    put(&mut bytes, samples.len() as u64);
    for column in &COLUMNS {
        let mut expected = Expected::default();
        let mut zeroes = 0;
        for sample in samples {
            match expected.change(column.change, (column.of)(sample)) {
                0 => zeroes += 1,
                by => {
                    put_zeroes(&mut bytes, std::mem::take(&mut zeroes));
                    put(&mut bytes, by);
                }
            }
        }
        put_zeroes(&mut bytes, zeroes);
    }
    bytes
}

fn read_column(column: &Column, rest: &mut &[u8], samples: &mut [Sample]) -> Option<()> {
    let mut expected = Expected::default();
    let mut zeroes = 0;
    for sample in samples {
        let by = match zeroes {
            0 => take(rest)?,
            _ => 0,
        };
        if by == 0 {
            if zeroes == 0 {
                zeroes = take(rest).filter(|&zeroes| zeroes > 0)?;
            }
            zeroes -= 1;
        }
        (column.put)(sample, expected.value(column.change, by))?;
    }
    (zeroes == 0).then_some(())
}

fn put_zeroes(bytes: &mut Vec<u8>, zeroes: u64) {
    if zeroes > 0 {
        bytes.push(0);
        put(bytes, zeroes);
    }
}

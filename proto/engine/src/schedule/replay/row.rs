//! One line of a recorded load, parsed.

use loadpilot_events::limits::RATE_MAX_URPS;
use loadpilot_events::units::parse_decimal;

use super::timestamp::{self, Instant};

/// Number of parts of an arrival and of a scale: millionths.
pub const SCALE_ONE: u64 = 1_000_000;
/// Rule of a timestamp.
const TIMESTAMP: &str = "must be a timestamp such as 2026-11-26T10:00:00Z or 1764151200.5";

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Second and count.
    Columns(Columns),
    /// Lines with the time in brackets.
    AccessLog,
    /// One timestamp a line.
    Timestamps,
}

/// Two columns with this byte between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Columns(u8);

/// A part of a line that breaks a rule, by its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) place: usize,
    pub(super) end: usize,
    pub(super) rule: &'static str,
}

impl Form {
    /// The format of a file with this first line.
    pub(super) fn of(line: &[u8]) -> Self {
        if timestamp_place(line).is_some() {
            return Self::AccessLog;
        }
        if timestamp::parse(line.trim_ascii()).is_some() {
            return Self::Timestamps;
        }
        let separator = |byte: &&u8| b",;\t".contains(byte);
        match line.iter().find(separator) {
            Some(separator) => Self::Columns(Columns(*separator)),
            None => Self::Timestamps,
        }
    }

    /// The second of a line that is one arrival.
    pub(super) fn second(self, line: &[u8]) -> Result<u64, Wrong> {
        let (place, end) = match self {
            Self::AccessLog => {
                let place = timestamp_place(line).ok_or(Wrong {
                    place: 0,
                    end: line.len(),
                    rule: "must have its time in brackets, such as [26/Nov/2026:10:00:00 +0000]",
                })?;
                let length = line[place..].iter().position(|byte| *byte == b']');
                (place, length.map_or(line.len(), |length| place + length))
            }
            Self::Columns(_) | Self::Timestamps => (0, line.len()),
        };
        let text = &line[place..end];
        let instant = match self {
            Self::AccessLog => timestamp::parse_log(text).or_else(|| timestamp::parse(text)),
            Self::Columns(_) | Self::Timestamps => timestamp::parse(text.trim_ascii()),
        };
        let rule = match self {
            Self::AccessLog => "must be a time such as 26/Nov/2026:10:00:00 +0000",
            Self::Columns(_) | Self::Timestamps => TIMESTAMP,
        };
        instant
            .map(|instant| instant.second)
            .ok_or(Wrong { place, end, rule })
    }
}

/// The place of the first digit in brackets that is the time of an access log.
fn timestamp_place(line: &[u8]) -> Option<usize> {
    let mut pairs = line.windows(2);
    let place = pairs.position(|pair| pair[0] == b'[' && pair[1].is_ascii_digit())?;
    Some(place + 1)
}

impl Columns {
    /// Whether no column of the first line is a number or an instant.
    pub(super) fn is_header(self, line: &[u8]) -> bool {
        let mut columns = line.split(|byte| *byte == self.0).map(unquoted);
        let is_value = |column: &[u8]| {
            column.first().is_some_and(u8::is_ascii_digit) || timestamp::parse(column).is_some()
        };
        !columns.any(is_value)
    }

    /// Second and arrivals, in millionths, of a row.
    pub(super) fn row(self, line: &[u8]) -> Result<(u64, u64), Wrong> {
        let split = line.iter().position(|byte| *byte == self.0);
        let wrong = |place, end, rule| Wrong { place, end, rule };
        let whole = line.len();
        let middle = split.ok_or(wrong(0, whole, "must have two columns, second and count"))?;
        let count = &line[middle + 1..];
        if let Some(more) = count.iter().position(|byte| *byte == self.0) {
            let place = middle + 1 + more + 1;
            let rule = "must not be there: a row has two columns, second and count";
            return Err(wrong(place, whole, rule));
        }
        let rule = "must be a whole second: 0, 1, 2 …, or a timestamp";
        let second = timestamp::parse(unquoted(&line[..middle]));
        let second = second.filter(Instant::is_whole);
        let second = second.ok_or(wrong(0, middle, rule))?.second;
        let rule = "must be the number of arrivals of the second, 0 to 10,000,000";
        let text = std::str::from_utf8(unquoted(count)).ok();
        let count = text.and_then(|text| parse_decimal(text, SCALE_ONE));
        let count = count.filter(|count| *count <= RATE_MAX_URPS);
        Ok((second, count.ok_or(wrong(middle + 1, whole, rule))?))
    }
}

/// A column without the spaces and quotes around it.
fn unquoted(column: &[u8]) -> &[u8] {
    let column = column.trim_ascii();
    let inner = column
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    inner.unwrap_or(column).trim_ascii()
}

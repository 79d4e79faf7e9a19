//! Instants as logs and exports write them: ISO 8601, the Unix epoch, the time of an access log.
//!
//! An instant without an offset is in UTC. Must never read a calendar of its machine.

/// Number of days from 1 March of year 0 to the Unix epoch, in the proleptic Gregorian calendar.
const EPOCH_DAYS: i64 = 719_468;
const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];
/// The least number that is an instant in ms, µs and ns after the epoch, with its units a second.
/// In seconds it would be beyond the year 5000.
const EPOCH_UNITS: [(u64, u64); 3] = [
    (100_000_000_000_000_000, 1_000_000_000),
    (100_000_000_000_000, 1_000_000),
    (100_000_000_000, 1_000),
];

/// An instant: the second since the Unix epoch that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instant {
    /// The second.
    pub second: u64,
    has_fraction: bool,
}

impl Instant {
    /// Whether the instant is the begin of its second.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.has_fraction
    }
}

/// Reads ISO 8601, with `T` or a space between date and time, or seconds since the epoch; large
/// numbers are ms, µs or ns.
#[must_use]
pub fn parse(text: &[u8]) -> Option<Instant> {
    let mut rest = text;
    let has_date = text.get(4) == Some(&b'-');
    if !has_date {
        let second = digits(&mut rest, 1..=19)?;
        let has_fraction = fraction(&mut rest)?;
        let unit = EPOCH_UNITS.into_iter().find(|(least, _)| second >= *least);
        let per_second = unit.map_or(1, |(_, per_second)| per_second);
        return rest.is_empty().then_some(Instant {
            second: second / per_second,
            has_fraction: has_fraction || !second.is_multiple_of(per_second),
        });
    }
    let year = digits(&mut rest, 4..=4)?;
    byte(&mut rest, b"-")?;
    let month = digits(&mut rest, 2..=2)?;
    byte(&mut rest, b"-")?;
    let day = digits(&mut rest, 2..=2)?;
    byte(&mut rest, b"Tt ")?;
    let time = clock(&mut rest)?;
    let has_fraction = fraction(&mut rest)?;
    let offset = offset(rest)?;
    instant((year, month, day), time, offset, has_fraction)
}

/// Reads the time of an access log in the common format: `26/Nov/2026:10:00:00 +0000`.
#[must_use]
pub fn parse_log(text: &[u8]) -> Option<Instant> {
    let mut rest = text;
    let day = digits(&mut rest, 2..=2)?;
    byte(&mut rest, b"/")?;
    let (name, after) = rest.split_at_checked(3)?;
    let month = MONTHS.iter().position(|month| *month == name)? as u64 + 1;
    rest = after;
    byte(&mut rest, b"/")?;
    let year = digits(&mut rest, 4..=4)?;
    byte(&mut rest, b":")?;
    let time = clock(&mut rest)?;
    let offset = offset(rest)?;
    instant((year, month, day), time, offset, false)
}

fn instant(
    (year, month, day): (u64, u64, u64),
    second_of_day: u64,
    offset: i64,
    has_fraction: bool,
) -> Option<Instant> {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=days).contains(&day) {
        return None;
    }
    let second = days_before(year, month, day)? * 86_400 + i64::try_from(second_of_day).ok()?;
    let second = u64::try_from(second - offset).ok()?;
    Some(Instant {
        second,
        has_fraction,
    })
}

/// Days from the Unix epoch to a date. Years begin in March, so that the leap day is their last:
/// then month m, from 0 on, begins after (153 m + 2) / 5 days.
fn days_before(year: u64, month: u64, day: u64) -> Option<i64> {
    let (year, month) = match month {
        1 | 2 => (year.checked_sub(1)?, month + 9),
        _ => (year, month - 3),
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    Some(i64::try_from(days).ok()? - EPOCH_DAYS)
}

/// Reads `HH:MM:SS` as a second of the day. A leap second is the one before it.
fn clock(rest: &mut &[u8]) -> Option<u64> {
    let hour = digits(rest, 2..=2).filter(|hour| *hour < 24)?;
    byte(rest, b":")?;
    let minute = digits(rest, 2..=2).filter(|minute| *minute < 60)?;
    byte(rest, b":")?;
    let second = digits(rest, 2..=2).filter(|second| *second <= 60)?;
    Some(hour * 3_600 + minute * 60 + second.min(59))
}

/// Reads a fraction, if there is one: whether it is above 0.
fn fraction(rest: &mut &[u8]) -> Option<bool> {
    if byte(rest, b".").is_none() {
        return Some(false);
    }
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (fraction, after) = rest.split_at(length);
    *rest = after;
    (length > 0).then(|| fraction.iter().any(|digit| *digit != b'0'))
}

/// Reads the rest as an offset from UTC, in seconds: nothing, `Z`, `+01:00`, ` -0700`, `+01`.
fn offset(rest: &[u8]) -> Option<i64> {
    let mut rest = rest.trim_ascii();
    if matches!(rest, b"" | b"Z" | b"z") {
        return Some(0);
    }
    let sign = match byte(&mut rest, b"+-")? {
        b'-' => -1,
        _ => 1,
    };
    let hours = digits(&mut rest, 2..=2).filter(|hours| *hours < 24)?;
    let _ = byte(&mut rest, b":");
    let minutes = match rest {
        b"" => 0,
        _ => digits(&mut rest, 2..=2).filter(|minutes| *minutes < 60)?,
    };
    let seconds = i64::try_from(hours * 3_600 + minutes * 60).ok()?;
    rest.is_empty().then_some(sign * seconds)
}

/// Takes a number of so many digits.
fn digits(rest: &mut &[u8], lengths: std::ops::RangeInclusive<usize>) -> Option<u64> {
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let length = length.min(*lengths.end());
    if !lengths.contains(&length) {
        return None;
    }
    let (text, after) = rest.split_at(length);
    *rest = after;
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Takes one of these bytes.
fn byte(rest: &mut &[u8], any: &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    any.contains(first).then(|| {
        *rest = after;
        *first
    })
}

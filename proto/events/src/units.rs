//! Units: instants, rates, and the grammar in which people write durations and rates.
//!
//! Everything is an integer: microseconds for time, millionths of an arrival per second for rates,
//! so that two machines compute the same sum.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::refusal::Problem;

/// Microseconds in one second.
pub const SECOND_US: u64 = 1_000_000;

/// Instant in µs since the Unix epoch, UTC.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// This instant plus `us` microseconds; saturates.
    #[must_use]
    pub fn plus_us(self, us: u64) -> Self {
        Self(self.0.saturating_add(us))
    }

    /// Microseconds from `earlier` to this instant; 0 when `earlier` is later.
    #[must_use]
    pub fn since_us(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Rate in millionths of an arrival per second.
///
/// A rate that a person writes is rounded *down* to this unit: a rate such as 100/m then yields at
/// most the requested number of arrivals. The last one is still counted, because the number of
/// arrivals is the integral rounded up.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Rate(pub u64);

impl Rate {
    /// A whole number of arrivals per second.
    #[must_use]
    pub fn per_second(rps: u64) -> Self {
        Self(rps.saturating_mul(1_000_000))
    }

    /// Arrivals per second as a float, for showing only.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "shown to people, never computed with"
    )]
    pub fn as_rps(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

/// Parses a duration: `500ms`, `30s`, `1m`, `2m30s`, `1.5h`, or a bare number of seconds.
///
/// Returns microseconds. The grammar is a sequence of `<number><unit>` with the units
/// `h m s ms us`, each at most once and in falling order.
///
/// # Errors
/// A [`Problem`] that names `field`, the rule and the value.
pub fn parse_duration_us(field: &str, text: &str) -> Result<u64, Problem> {
    const RULE: &str = "must be a duration such as 500ms, 30s, 2m30s, 1h or a number of seconds";
    let problem = || Problem::new(field, RULE, text);
    let trimmed = text.trim();
    if let Some(us) = parse_decimal(trimmed, 1_000_000) {
        return Ok(us);
    }
    let mut rest = trimmed;
    let mut total_us: u64 = 0;
    let mut previous_unit_us = u64::MAX;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(problem)?;
        let (number, tail) = rest.split_at(digits);
        let letters = tail
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(tail.len());
        let (unit, next) = tail.split_at(letters);
        let unit_us = unit_us(unit).ok_or_else(problem)?;
        if unit_us >= previous_unit_us {
            return Err(problem());
        }
        previous_unit_us = unit_us;
        let part_us = parse_decimal(number, unit_us).ok_or_else(problem)?;
        total_us = total_us.checked_add(part_us).ok_or_else(problem)?;
        rest = next;
    }
    if trimmed.is_empty() {
        Err(problem())
    } else {
        Ok(total_us)
    }
}

/// Parses a rate: `50`, `0.5`, `50/s`, `3000/m`, `50/1s`, `10/500ms`.
///
/// # Errors
/// A [`Problem`] that names `field`, the rule and the value.
pub fn parse_rate(field: &str, text: &str) -> Result<Rate, Problem> {
    const RULE: &str = "must be a rate such as 50, 0.5, 50/s, 3000/m or 10/500ms";
    let problem = || Problem::new(field, RULE, text);
    let (count, per) = text.trim().split_once('/').unwrap_or((text.trim(), "s"));
    let count_micro = parse_decimal(count.trim(), 1_000_000).ok_or_else(problem)?;
    let per = per.trim();
    let per_us = match unit_us(per) {
        Some(us) => us,
        None => parse_duration_us(field, per).map_err(|_| problem())?,
    };
    if per_us == 0 {
        return Err(problem());
    }
    let urps = u128::from(count_micro) * u128::from(SECOND_US) / u128::from(per_us);
    u64::try_from(urps).map(Rate).map_err(|_| problem())
}

/// Units of durations, the longest first.
const UNITS: [(&str, u64); 5] = [
    ("h", 3600 * SECOND_US),
    ("m", 60 * SECOND_US),
    ("s", SECOND_US),
    ("ms", 1_000),
    ("us", 1),
];

/// Writes a duration as [`parse_duration_us`] reads it, exactly: `2m30s`.
#[must_use]
pub fn format_duration(us: u64) -> String {
    let mut text = String::new();
    let mut rest = us;
    for (unit, unit_us) in UNITS {
        if rest >= unit_us {
            text.push_str(&format!("{}{unit}", rest / unit_us));
            rest %= unit_us;
        }
    }
    if text.is_empty() {
        "0s".clone_into(&mut text);
    }
    text
}

/// Writes a rate as [`parse_rate`] reads it, exactly: `50/s`, `0.5/s`.
#[must_use]
pub fn format_rate(rate: Rate) -> String {
    let (whole, fraction) = (rate.0 / 1_000_000, rate.0 % 1_000_000);
    match fraction {
        0 => format!("{whole}/s"),
        _ => format!(
            "{whole}.{}/s",
            format!("{fraction:06}").trim_end_matches('0')
        ),
    }
}

fn unit_us(unit: &str) -> Option<u64> {
    let found = UNITS.into_iter().find(|(name, _)| *name == unit);
    found.map(|(_, us)| us)
}

/// `text` as an unsigned decimal times `scale`, rounded down; `None` when it is not one.
#[must_use]
pub fn parse_decimal(text: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let whole: u128 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let mut value = whole.checked_mul(u128::from(scale))?;
    let mut place = u128::from(scale);
    for digit in fraction.bytes().take(18) {
        place *= 10;
        value = value.checked_mul(10)?;
        value = value.checked_add(u128::from(digit - b'0') * u128::from(scale))?;
    }
    let divisor = place / u128::from(scale);
    u64::try_from(value / divisor).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_people_write_are_understood() {
        let cases = [
            ("30s", 30 * SECOND_US),
            ("1m", 60 * SECOND_US),
            ("2m30s", 150 * SECOND_US),
            ("1h", 3600 * SECOND_US),
            ("500ms", 500_000),
            ("1h0m0.5s", 3_600_500_000),
            ("15", 15 * SECOND_US),
            ("0.25", 250_000),
        ];
        for (text, us) in cases {
            assert_eq!(parse_duration_us("duration", text), Ok(us), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let texts = [
            (150 * SECOND_US, "2m30s"),
            (3_600_500_001, "1h500ms1us"),
            (0, "0s"),
        ];
        for (us, text) in texts {
            assert_eq!(format_duration(us), text);
            assert_eq!(parse_duration_us("duration", text), Ok(us));
        }
        for (urps, text) in [
            (50_000_000, "50/s"),
            (1_666_666, "1.666666/s"),
            (500_000, "0.5/s"),
        ] {
            assert_eq!(format_rate(Rate(urps)), text);
            assert_eq!(parse_rate("rps", text), Ok(Rate(urps)));
        }
    }

    #[test]
    fn nonsense_durations_name_field_and_value() {
        for text in [
            "", "s", "-5s", "5x", "1s1m", "1s1s", "5 s", "1e3", ".", "nan", "1m-3s",
        ] {
            let problem = parse_duration_us("duration", text).expect_err(text);
            assert_eq!(problem.field, "duration");
            assert_eq!(problem.value, text);
        }
    }

    #[test]
    fn rates_are_rounded_down_to_the_grain() {
        let cases = [
            ("50", 50_000_000),
            ("50/s", 50_000_000),
            ("3000/m", 50_000_000),
            ("0.5", 500_000),
            ("100/m", 1_666_666),
            ("50/1s", 50_000_000),
            ("10/500ms", 20_000_000),
            ("1/h", 277),
        ];
        for (text, urps) in cases {
            assert_eq!(parse_rate("rps", text), Ok(Rate(urps)), "{text}");
        }
        for text in ["", "fast", "-1", "1/0s", "5/", "nan", "inf", "1/x"] {
            assert!(parse_rate("rps", text).is_err(), "{text}");
        }
    }
}

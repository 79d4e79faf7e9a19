//! Metrics of a scenario's own: what it adds to counters, trends and rates by name, as deltas and
//! reports hold it.
//!
//! What stands in a row is a whole number, so that sums depend on no order. Must never let a float
//! into a row.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::defaults::is_default;
use crate::limits::NAME_BYTES_MAX;
use crate::log::assign::Generation;

mod figures;

pub use figures::{CounterReport, Figure, MetricsReport, OwnMetric, RateReport, TrendReport};

/// Whether a metric may be called that: ASCII letters, digits and `_`, not a digit first. A point
/// stands between a metric and its figure, a colon behind a task.
#[must_use]
pub fn is_metric_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && name.bytes().all(is_part)
        && !name.as_bytes()[0].is_ascii_digit()
}

/// What was added to one metric by arrivals of one task that were due in one tick.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetricRow {
    /// The due tick of the arrival, as for every row.
    pub tick: u32,
    /// The generation under which the agent held the shard at the due tick.
    pub generation: Generation,
    /// The task, by its place in the plan.
    pub task: u16,
    /// What the scenario calls it.
    pub name: String,
    /// What was added.
    pub added: Added,
}

/// What was added to a metric, by its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Added {
    /// To a counter: a sum, in two parts that a double reads exactly.
    Counter {
        /// Its whole part.
        whole: u64,
        /// What is beyond it, in millionths; less than a million.
        #[serde(default, skip_serializing_if = "is_default")]
        millionths: u32,
    },
    /// To a trend: how often each value, in no order that counts.
    Trend {
        /// Each at most once.
        values: Vec<TrendCount>,
    },
    /// To a rate.
    Rate {
        /// How many values.
        count: u64,
        /// How many of them were true.
        trues: u64,
    },
}

/// `[digits, exponent, count]`: so many times a value of a trend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrendCount(pub i16, pub i8, pub u64);

impl TrendCount {
    /// The value; `None` if it is not in the one form that a [`Rounded`] has.
    #[must_use]
    pub fn value(&self) -> Option<Rounded> {
        let rounded = Rounded {
            digits: self.0,
            exponent: self.1,
        };
        let is_zero = rounded == Rounded::default();
        let is_digits = (1_000..=9_999).contains(&rounded.digits.unsigned_abs());
        let is_near = (LEAST - 3..=GREATEST - 3).contains(&rounded.exponent);
        (is_zero || (is_digits && is_near)).then_some(rounded)
    }
}

/// Decimal exponents of the least value that a trend tells from 0, and of the greatest it takes.
const LEAST: i8 = -15;
const GREATEST: i8 = 15;
/// Powers of ten from 10⁻¹⁵ on: each the double that is nearest.
const TENS: [f64; 34] = [
    1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1,
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18,
];

fn ten(exponent: i8) -> f64 {
    TENS[usize::from((exponent - LEAST).unsigned_abs())]
}

/// A value of a trend, rounded to four significant digits: `digits × 10^exponent`. Zero is 0 and
/// 0, every other value has digits of 1,000 to 9,999 or below zero the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rounded {
    digits: i16,
    exponent: i8,
}

impl Rounded {
    /// The greatest value that a trend takes, and with a minus the least.
    pub const MAX: f64 = 1e15;

    /// `value`, rounded; closer to 0 than 10⁻¹⁵ is 0. `None` beyond ±[`Rounded::MAX`] and for what
    /// is no number.
    #[must_use]
    pub fn of(value: f64) -> Option<Self> {
        let size = value.abs();
        if size.is_nan() || size > Self::MAX {
            return None;
        }
        let exponents = LEAST..=GREATEST;
        let Some(greatest) = exponents.rev().find(|&exponent| size >= ten(exponent)) else {
            return Some(Self::default());
        };
        let shift = 3 - greatest;
        let scaled = match shift >= 0 {
            true => size * ten(shift),
            false => size / ten(-shift),
        };
        let rounded = scaled.round();
        let (rounded, exponent) = match rounded >= 10_000.0 {
            true => (1_000.0, 1 - shift),
            false => (rounded, -shift),
        };
        #[expect(clippy::cast_possible_truncation, reason = "1,000 to 9,999")]
        let digits = rounded.copysign(value) as i16;
        Some(Self { digits, exponent })
    }

    /// The double that is nearest to it.
    #[must_use]
    pub fn value(self) -> f64 {
        let digits = f64::from(self.digits);
        match self.exponent >= 0 {
            true => digits * ten(self.exponent),
            // Both are exact, so that the quotient is the nearest one.
            false => digits / ten(-self.exponent),
        }
    }

    /// With how often it was added.
    #[must_use]
    pub fn times(self, count: u64) -> TrendCount {
        TrendCount(self.digits, self.exponent, count)
    }
}

/// An amount that is added to a counter, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Millionths(u64);

impl Millionths {
    /// The greatest amount that is added at a time.
    pub const AMOUNT_MAX: f64 = 1e9;

    /// `amount`, to a millionth; `None` below 0, above [`Millionths::AMOUNT_MAX`], and for what is
    /// no number.
    #[must_use]
    pub fn of(amount: f64) -> Option<Self> {
        let sound = (0.0..=Self::AMOUNT_MAX).contains(&amount);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 10¹⁵"
        )]
        let millionths = (amount * 1e6).round() as u64;
        sound.then_some(Self(millionths))
    }

    /// How many.
    #[must_use]
    pub fn count(self) -> u64 {
        self.0
    }

    /// So many; `None` beyond the greatest amount.
    #[must_use]
    pub fn from_count(count: u64) -> Option<Self> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "10¹⁵"
        )]
        let most = (Self::AMOUNT_MAX * 1e6) as u64;
        (count <= most).then_some(Self(count))
    }
}

/// What a scenario adds to a metric; its kind is the metric's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricValue {
    /// An amount.
    Counter(Millionths),
    /// A value.
    Trend(Rounded),
    /// Whether it was so.
    Rate(bool),
}

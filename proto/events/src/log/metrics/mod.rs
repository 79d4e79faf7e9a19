//! Own metrics of a scenario: values that it adds to counters, trends and rates by name, in the
//! form of deltas and reports.
//!
//! Rows hold whole numbers only, so that no sum depends on an order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::defaults::is_default;
use crate::limits::NAME_BYTES_MAX;
use crate::log::assign::Generation;

mod figures;

pub use figures::{CounterReport, Figure, MetricsReport, OwnMetric, RateReport, TrendReport};

/// Whether a name is valid for a metric: ASCII letters, digits and `_`, not a digit first. A point
/// separates a metric from its figure, a colon a task from its metric.
#[must_use]
pub fn is_metric_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && name.bytes().all(is_part)
        && !name.as_bytes()[0].is_ascii_digit()
}

/// Values added to one metric by arrivals of one task that were due in one tick.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetricRow {
    /// Due tick of the arrival.
    pub tick: u32,
    /// Generation under which the agent held the shard at the due tick.
    pub generation: Generation,
    /// Index of the task in the plan.
    pub task: u16,
    /// Name of the metric.
    pub name: String,
    /// Values added.
    pub added: Added,
}

/// Values added to a metric, by its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Added {
    /// Sum added to a counter, in two parts that a double represents exactly.
    Counter {
        /// Integer part of the sum.
        whole: u64,
        /// Fractional part of the sum, in millionths; less than a million.
        #[serde(default, skip_serializing_if = "is_default")]
        millionths: u32,
    },
    /// Values added to a trend, with their counts; the order has no meaning.
    Trend {
        /// Each distinct value once.
        values: Vec<TrendCount>,
    },
    /// Values added to a rate metric.
    Rate {
        /// Number of values.
        count: u64,
        /// Number of true values.
        trues: u64,
    },
}

/// A value of a trend and its count, as `[digits, exponent, count]`: the value is digits ×
/// 10^exponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrendCount(pub i16, pub i8, pub u64);

impl TrendCount {
    /// The value; `None` if it is not in the normal form of [`Rounded`].
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

/// Decimal exponents of the smallest value that a trend distinguishes from 0, and of the largest
/// that it accepts.
const LEAST: i8 = -15;
const GREATEST: i8 = 15;
/// Powers of ten from 10⁻¹⁵ on, each the nearest double.
const TENS: [f64; 34] = [
    1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1,
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18,
];

fn ten(exponent: i8) -> f64 {
    TENS[usize::from((exponent - LEAST).unsigned_abs())]
}

/// Value of a trend, rounded to four significant digits: `digits × 10^exponent`. Zero is 0 and 0;
/// every other value has digits with an absolute value of 1,000 to 9,999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rounded {
    digits: i16,
    exponent: i8,
}

impl Rounded {
    /// Maximum absolute value that a trend accepts.
    pub const MAX: f64 = 1e15;

    /// Rounds `value`; an absolute value below 10⁻¹⁵ becomes 0. `None` beyond ±[`Rounded::MAX`] and
    /// for NaN.
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

    /// The nearest double.
    #[must_use]
    pub fn value(self) -> f64 {
        let digits = f64::from(self.digits);
        match self.exponent >= 0 {
            true => digits * ten(self.exponent),
            // Both are exact, so that the quotient is the nearest one.
            false => digits / ten(-self.exponent),
        }
    }

    /// The value with its count.
    #[must_use]
    pub fn times(self, count: u64) -> TrendCount {
        TrendCount(self.digits, self.exponent, count)
    }
}

/// Amount added to a counter, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Millionths(u64);

impl Millionths {
    /// Maximum amount of one addition.
    pub const AMOUNT_MAX: f64 = 1e9;

    /// Rounds `amount` to a millionth; `None` below 0, above [`Millionths::AMOUNT_MAX`] and for
    /// NaN.
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

    /// Number of millionths.
    #[must_use]
    pub fn count(self) -> u64 {
        self.0
    }

    /// Amount of `count` millionths; `None` above the maximum amount.
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

/// Value that a scenario adds to a metric of that kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricValue {
    /// Amount of a counter.
    Counter(Millionths),
    /// Value of a trend.
    Trend(Rounded),
    /// Value of a rate metric.
    Rate(bool),
}

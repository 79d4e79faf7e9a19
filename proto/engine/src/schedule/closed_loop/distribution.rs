//! Times of a distribution, such as think times: its quantile at a seeded uniform value.
//!
//! The result is stored for ever in the sense that a plan and a seed fix every time. It is the same
//! on every platform: addition, multiplication, division and square root are rounded in one way by
//! IEEE 754. Logarithm and power are therefore computed as series here; the functions of a
//! platform's library may differ in the last bit and must never be called.

use std::f64::consts::{LN_2, SQRT_2};

use loadpilot_events::limits::REST_MAX_US;

use crate::schedule::hash::below;

/// 99th percentile of the standard normal distribution.
const NORMAL_P99: f64 = 2.326_347_874_040_841;
/// Number of terms of a series; what follows is below 2⁻⁵³ of the sum.
const TERMS: u32 = 14;
/// Number of bits of the fraction of a double.
const FRACTION_BITS: u32 = 52;
/// Exponent of the number 1 in a double.
const EXPONENT_OF_ONE: u64 = 1_023;

/// A time of the uniform distribution over the whole µs from `from_us` to `to_us`.
pub(super) fn uniform(from_us: u64, to_us: u64, drawn: u64) -> u64 {
    let spread = to_us.saturating_sub(from_us).saturating_add(1);
    from_us + below(spread, drawn)
}

/// A time of an exponential distribution, in µs; of all `drawn` the median is `median_us`.
pub(super) fn exponential(median_us: u64, drawn: u64) -> u64 {
    limited(-(median_us as f64) * log2(open_unit(drawn)))
}

/// A time of the lognormal distribution with a median and a 99th percentile, in µs.
pub(super) fn lognormal(median_us: u64, p99_us: u64, drawn: u64) -> u64 {
    let median_us = median_us as f64;
    let spread = log2(p99_us as f64 / median_us);
    limited(median_us * exp2(spread * normal_quantile(open_unit(drawn)) / NORMAL_P99))
}

/// A time of that uniform distribution weighted by its length, in µs: the density is proportional
/// to the time.
pub(super) fn weighted_uniform(from_us: u64, to_us: u64, drawn: u64) -> u64 {
    let (from, to) = (from_us as f64, to_us as f64);
    let square = from * from + open_unit(drawn) * (to * to - from * from);
    limited(square.sqrt())
}

/// A time of that lognormal distribution weighted by its length, in µs: with a standard deviation
/// of s in natural logarithms, the lognormal distribution whose median is exp(s²) times as long.
pub(super) fn weighted_lognormal(median_us: u64, p99_us: u64, drawn: u64) -> u64 {
    let median_us = median_us as f64;
    let spread = log2(p99_us as f64 / median_us);
    let sigma = spread / NORMAL_P99;
    let longer = sigma * sigma * LN_2;
    limited(median_us * exp2(longer + sigma * normal_quantile(open_unit(drawn))))
}

/// A value above 0 and below 1, at the middle of one of 2⁵² equal intervals: exact in a double.
fn open_unit(drawn: u64) -> f64 {
    let interval = (drawn >> (u64::BITS - FRACTION_BITS)) as f64;
    (interval + 0.5) / (1_u64 << FRACTION_BITS) as f64
}

/// Rounded to a µs; a day at most.
fn limited(time_us: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and limited"
    )]
    let whole_us = (time_us + 0.5).min(REST_MAX_US as f64) as u64;
    whole_us
}

/// Binary logarithm of a normal positive number: of its fraction by the series of 2 artanh.
fn log2(x: f64) -> f64 {
    let bits = x.to_bits();
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let mut exponent = (bits >> FRACTION_BITS) as f64 - EXPONENT_OF_ONE as f64;
    let mut m = f64::from_bits(EXPONENT_OF_ONE << FRACTION_BITS | fraction);
    if m > SQRT_2 {
        m /= 2.0;
        exponent += 1.0;
    }
    let s = (m - 1.0) / (m + 1.0);
    let terms = (0..TERMS).rev().map(|n| 1.0 / f64::from(2 * n + 1));
    let sum = terms.fold(0.0, |sum, term| term + sum * (s * s));
    exponent + 2.0 * s * sum / LN_2
}

/// 2ˣ for |x| below 1,000: of the fraction of `x` by the series of the exponential function.
fn exp2(x: f64) -> f64 {
    let whole = x.round();
    let t = (x - whole) * LN_2;
    let sum = (1..=TERMS)
        .rev()
        .fold(1.0, |sum, n| 1.0 + sum * t / f64::from(n));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an exponent of a normal number"
    )]
    let exponent = (whole + EXPONENT_OF_ONE as f64) as u64;
    sum * f64::from_bits(exponent << FRACTION_BITS)
}

/// Quantile of the standard normal distribution, to seven digits: algorithm AS 241, PPND7 (Wichura:
/// "The percentage points of the normal distribution", Applied Statistics 37, 1988).
fn normal_quantile(p: f64) -> f64 {
    const MIDDLE: ([f64; 4], [f64; 4]) = (
        [
            3.387_132_717_9,
            50.434_271_938,
            159.291_132_02,
            59.109_374_720,
        ],
        [1.0, 17.895_169_469, 78.757_757_664, 67.187_563_600],
    );
    const OUTER: ([f64; 4], [f64; 3]) = (
        [
            1.423_437_277_7,
            2.756_815_390_0,
            1.306_728_481_6,
            0.170_238_211_03,
        ],
        [1.0, 0.737_001_642_50, 0.120_211_329_75],
    );
    const FAR: ([f64; 4], [f64; 3]) = (
        [
            6.657_905_115_0,
            3.081_226_386_0,
            0.428_682_943_37,
            0.017_337_203_997,
        ],
        [1.0, 0.241_978_942_25, 0.012_258_202_635],
    );
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(&MIDDLE.0, r) / polynomial(&MIDDLE.1, r);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-log2(tail) * LN_2).sqrt();
    let z = if r <= 5.0 {
        polynomial(&OUTER.0, r - 1.6) / polynomial(&OUTER.1, r - 1.6)
    } else {
        polynomial(&FAR.0, r - 5.0) / polynomial(&FAR.1, r - 5.0)
    };
    if q < 0.0 { -z } else { z }
}

/// Value at `x` of a polynomial with these coefficients, the constant first.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    let rising = coefficients.iter().rev();
    rising.fold(0.0, |sum, coefficient| coefficient + sum * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of other implementations: of the logarithm and power of this platform, and of the
    /// normal distribution in tables.
    #[test]
    fn the_series_are_exact() {
        for n in 1..2_000 {
            let x = f64::from(n) * 0.0137;
            assert!(
                (log2(x) - x.log2()).abs() < 1e-14 * (1.0 + x.log2().abs()),
                "{x}"
            );
            let y = f64::from(n - 1_000) * 0.0613;
            assert!((exp2(y) / y.exp2() - 1.0).abs() < 1e-14, "{y}");
        }
        for (p, z) in [
            (0.5, 0.0),
            (0.9, 1.281_551_565_5),
            (0.99, NORMAL_P99),
            (0.999_999, 4.753_424_308_8),
            (1e-12, -7.034_483_825_3),
            (0.025, -1.959_963_984_5),
        ] {
            let found = normal_quantile(p);
            assert!((found - z).abs() < 1e-6, "{p}: {found}");
        }
    }

    #[test]
    fn times_never_change() {
        // Stored runs depend on these values: a difference here is a new plan version.
        let of = |drawn: u64| {
            (
                exponential(8_000_000, drawn),
                lognormal(8_000_000, 45_000_000, drawn),
            )
        };
        let found = [0, 1 << 20, 1 << 52, 1 << 63, 3 << 62, u64::MAX].map(of);
        assert_eq!(
            found,
            [
                (424_000_000, 18_028),
                (351_977_480, 32_311),
                (96_000_000, 600_739),
                (8_000_000, 8_000_000),
                (3_320_300, 13_200_087),
                (0, 3_549_976_741)
            ]
        );
        assert_eq!(lognormal(1, REST_MAX_US, u64::MAX), REST_MAX_US);
    }
}

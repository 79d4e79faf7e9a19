//! The range of a difference that chance explains, from samples that were drawn again.
//!
//! Percentile intervals of few parts are too narrow; they are widened by the factor by which
//! Student's t is wider than the normal distribution (Hesterberg, "What Teachers Should Know About
//! the Bootstrap", 2015, section 5.3).

/// Share of the differences on each side of an interval: so small that hardly one of several
/// figures of equal targets looks different.
const TAIL: f64 = 0.005;
/// Quantile of the normal distribution at that share.
const NORMAL: f64 = 2.575_829;

/// The interval of the differences that were found, without their tails and widened around the
/// value itself.
pub(super) fn interval(found: Vec<f64>, value: Option<f64>, widening: f64) -> Option<[f64; 2]> {
    let (value, ends) = (value?, without_tails(found)?);
    Some(ends.map(|end| value + (end - value) * widening))
}

/// The least and the greatest of the values that remain without their tails; `None` without values.
fn without_tails(mut values: Vec<f64>) -> Option<[f64; 2]> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most the number of draws"
    )]
    let index = |share: f64| (last as f64 * share).round() as usize;
    Some([values[index(TAIL)], values[index(1.0 - TAIL)]])
}

/// The factor by which an interval of the mean of so many values is wider by Student's t than by
/// the bootstrap: the quantile of t by its expansion in 1/ν (Abramowitz and Stegun, 26.7.5), and
/// the bias of the bootstrap's variance.
#[expect(clippy::cast_precision_loss, reason = "at most a few dozen")]
pub(super) fn widening(parts: usize) -> f64 {
    let count = parts.max(2) as f64;
    let freedom = count - 1.0;
    let z = NORMAL;
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    let t = z + first / freedom + second / freedom.powi(2) + third / freedom.powi(3);
    t / z * (count / freedom).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if intervals of few parts are too narrow: tabulated quantiles of t at 99.5 %.
    #[test]
    fn few_parts_widen_an_interval_as_students_t_does() {
        for (parts, quantile) in [(8, 3.499), (11, 3.169), (21, 2.845), (41, 2.704)] {
            let count = f64::from(parts);
            let expected = quantile / NORMAL * (count / (count - 1.0)).sqrt();
            let found = widening(usize::try_from(parts).expect("positive"));
            assert!((found / expected - 1.0).abs() < 0.002, "{parts}: {found}");
        }
    }
}

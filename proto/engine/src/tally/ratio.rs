//! Shares in percent.

/// `part` in percent of `whole`; 0 of nothing is 0.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "a percentage for people and thresholds"
)]
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 * 100.0 / whole as f64
    }
}

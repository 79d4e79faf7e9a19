//! How much of its rate an agent may still promise. Pure arithmetic in millionths of an arrival
//! per second; it must never promise more than is left over all runs together.

use loadpilot_events::Rate;

/// What `held` of `shards` shards of a run with this peak may ask of their holder, rounded up.
#[must_use]
pub fn share(peak: Rate, held: usize, shards: u32) -> Rate {
    let product = u128::from(peak.0) * held as u128;
    let part = product.div_ceil(u128::from(shards.max(1)));
    Rate(u64::try_from(part).unwrap_or(u64::MAX))
}

/// What is left of `capacity` under the `claims` of all runs.
#[must_use]
pub fn left(capacity: Rate, claims: impl Iterator<Item = Rate>) -> Rate {
    Rate(claims.fold(capacity.0, |left, claim| left.saturating_sub(claim.0)))
}

/// What to offer to a run with this peak: all that is left, but no more than the run can use, so
/// that another run finds something too. Nothing when nothing is left.
#[must_use]
pub fn offer(left: Rate, peak: Rate) -> Option<Rate> {
    (left.0 > 0).then(|| left.min(peak))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A share that was rounded down would let two runs together exceed the capacity.
    #[test]
    fn shares_of_all_holders_cover_the_peak() {
        let peak = Rate(10_000_001);
        let parts: u64 = (0..3).map(|_| share(peak, 1, 3).0).sum();
        assert!(parts >= peak.0);
        assert_eq!(share(peak, 3, 3), peak);
        assert_eq!(share(peak, 0, 256), Rate(0));
    }

    /// Two runs at once must not both get the whole machine.
    #[test]
    fn offers_never_exceed_what_is_left() {
        let capacity = Rate::per_second(100);
        let first = offer(left(capacity, [].into_iter()), Rate::per_second(80)).expect("some left");
        assert_eq!(first, Rate::per_second(80));
        let rest = left(capacity, [first].into_iter());
        let second = offer(rest, Rate::per_second(80)).expect("some left");
        assert_eq!(second, Rate::per_second(20));
        assert_eq!(
            offer(
                left(capacity, [first, second].into_iter()),
                Rate::per_second(1)
            ),
            None
        );
        assert_eq!(left(capacity, [Rate::per_second(500)].into_iter()), Rate(0));
    }
}

//! The rate that an agent may still promise. Pure arithmetic in millionths of an arrival per
//! second; promises over all runs together never exceed the capacity.

use loadpilot_events::Rate;

/// Rate of `held` of `shards` shards of a run with this peak, rounded up.
#[must_use]
pub fn share(peak: Rate, held: usize, shards: u32) -> Rate {
    let product = u128::from(peak.0) * held as u128;
    let part = product.div_ceil(u128::from(shards.max(1)));
    Rate(u64::try_from(part).unwrap_or(u64::MAX))
}

/// `capacity` less the `claims` of all runs; at least 0.
#[must_use]
pub fn left(capacity: Rate, claims: impl Iterator<Item = Rate>) -> Rate {
    Rate(claims.fold(capacity.0, |left, claim| left.saturating_sub(claim.0)))
}

/// Rate to offer to a run with this peak: the rest of the capacity, but at most the peak, so that
/// other runs find some capacity, too. `None` when nothing is left.
#[must_use]
pub fn offer(left: Rate, peak: Rate) -> Option<Rate> {
    (left.0 > 0).then(|| left.min(peak))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a share is rounded down: two runs together would exceed the capacity.
    #[test]
    fn shares_of_all_holders_cover_the_peak() {
        let peak = Rate(10_000_001);
        let parts: u64 = (0..3).map(|_| share(peak, 1, 3).0).sum();
        assert!(parts >= peak.0);
        assert_eq!(share(peak, 3, 3), peak);
        assert_eq!(share(peak, 0, 256), Rate(0));
    }

    /// Broken if two runs at the same time both get the whole machine.
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

//! Due times: the exact inverse of the integral of a piecewise linear rate.
//!
//! Λ(t) is the number of arrivals due before t. It is counted in *parts*, [`PARTS_PER_ARRIVAL`] to
//! an arrival: with rates in millionths of an arrival per second and time in µs, the integral of a
//! linear piece from rate a to b over d µs is exactly (a + b)·d parts, and inside it Λ(x) = 2ax +
//! (b − a)x²/d parts. All comparisons are done in integers, so that every machine finds the same µs
//! for arrival n, from n alone. Must never accumulate a float.

use loadpilot_events::plan::{Piece, Profile};
use loadpilot_events::units::Rate;

use crate::bugs::{Bug, bug};

/// Number of parts of Λ in one arrival.
pub const PARTS_PER_ARRIVAL: u128 = 2_000_000_000_000;

/// A rate profile, prepared for computing due times.
#[derive(Debug, Clone)]
pub struct Pace {
    pieces: Vec<Placed>,
    duration_us: u64,
    total: Exact,
}

/// A piece with its beginning.
#[derive(Debug, Clone, Copy)]
struct Placed {
    start_us: u64,
    start_parts: u128,
    piece: Piece,
}

/// Λ at an instant as an exact fraction: `parts + over / under`.
#[derive(Debug, Clone, Copy)]
struct Exact {
    parts: u128,
    has_fraction: bool,
}

impl Pace {
    /// Prepares a profile that [`crate::check`] has accepted.
    #[must_use]
    pub fn new(profile: &Profile) -> Self {
        let mut pieces = Vec::with_capacity(profile.pieces.len());
        let (mut start_us, mut start_parts) = (0, 0);
        for piece in &profile.pieces {
            pieces.push(Placed {
                start_us,
                start_parts,
                piece: *piece,
            });
            start_us += piece.duration_us;
            let ends = u128::from(piece.from.0) + u128::from(piece.to.0);
            start_parts += ends * u128::from(piece.duration_us);
        }
        let total = Exact {
            parts: start_parts,
            has_fraction: false,
        };
        Self {
            pieces,
            duration_us: start_us,
            total,
        }
    }

    /// The same pace before `at_us`, and `rate` from there to the same end. Arrivals that are due
    /// before `at_us` keep their due times: Λ there is rounded up to whole parts, and the points
    /// below it are exactly those due before.
    #[must_use]
    pub fn changed(&self, at_us: u64, rate: Rate) -> Self {
        if at_us >= self.duration_us {
            return self.clone();
        }
        let before = self.pieces.iter().filter(|piece| piece.start_us < at_us);
        let mut pieces: Vec<Placed> = before.copied().collect();
        let start_parts = self.parts_before(at_us);
        let duration_us = self.duration_us - at_us;
        pieces.push(Placed {
            start_us: at_us,
            start_parts,
            piece: Piece {
                duration_us,
                from: rate,
                to: rate,
            },
        });
        let parts = start_parts + 2 * u128::from(rate.0) * u128::from(duration_us);
        Self {
            pieces,
            duration_us: self.duration_us,
            total: Exact {
                parts,
                has_fraction: false,
            },
        }
    }

    /// The length of the profile in µs.
    #[must_use]
    pub fn duration_us(&self) -> u64 {
        self.duration_us
    }

    /// The number of arrivals of the whole profile: the integral, rounded up.
    #[must_use]
    pub fn planned(&self) -> u64 {
        self.total.arrivals()
    }

    /// The integral over the whole profile, in parts.
    #[must_use]
    pub fn total_parts(&self) -> u128 {
        self.total.parts
    }

    /// The number of arrivals due before `t_us`: those with Λ(t) > n.
    #[must_use]
    pub fn planned_before(&self, t_us: u64) -> u64 {
        self.lambda(t_us).arrivals()
    }

    /// Λ before `t_us` in parts, rounded up: the points below it are those due before `t_us`.
    #[must_use]
    pub fn parts_before(&self, t_us: u64) -> u128 {
        let exact = self.lambda(t_us);
        exact.parts + u128::from(exact.has_fraction)
    }

    /// The largest µs t with Λ(t) ≤ `position`: when the point at `position` parts is due.
    ///
    /// # Panics
    /// When `position` is not below [`Pace::total_parts`].
    #[must_use]
    pub fn due_us(&self, position: u128) -> u64 {
        assert!(
            position < self.total.parts,
            "arrival beyond the end of the profile"
        );
        let after = self
            .pieces
            .partition_point(|placed| placed.start_parts <= position);
        let placed = &self.pieces[after - 1];
        let due_us = placed.start_us + placed.piece_due_us(position - placed.start_parts);
        match bug(Bug::CoarseTicks) {
            true => due_us - due_us % 50_000,
            false => due_us,
        }
    }

    /// The planned rate at `t_us`, in millionths of an arrival per second; 0 outside the profile.
    #[must_use]
    pub fn rate_at(&self, t_us: u64) -> u64 {
        if t_us >= self.duration_us {
            return 0;
        }
        self.piece_at(t_us).rate_at(t_us)
    }

    /// The highest planned rate, in millionths of an arrival per second.
    #[must_use]
    pub fn peak(&self) -> u64 {
        let begins = self.pieces.iter().map(|placed| placed.start_us);
        let ends = begins.skip(1).chain([self.duration_us]);
        let both = self.pieces.iter().zip(ends);
        both.flat_map(|(placed, end_us)| [placed.piece.from.0, placed.rate_at(end_us)])
            .max()
            .unwrap_or(0)
    }

    /// The rates at both ends of the piece that `t_us` lies in; `None` outside the profile.
    #[must_use]
    pub fn slope_at(&self, t_us: u64) -> Option<(u64, u64)> {
        let inside = t_us < self.duration_us;
        inside
            .then(|| self.piece_at(t_us))
            .map(|p| (p.piece.from.0, p.piece.to.0))
    }

    fn piece_at(&self, t_us: u64) -> &Placed {
        let after = self
            .pieces
            .partition_point(|placed| placed.start_us <= t_us);
        &self.pieces[after.saturating_sub(1)]
    }

    fn lambda(&self, t_us: u64) -> Exact {
        if t_us >= self.duration_us {
            return self.total;
        }
        let placed = self.piece_at(t_us);
        let x = i128::from(t_us - placed.start_us);
        let d = i128::from(placed.piece.duration_us);
        let inside = placed.piece.scaled_lambda(x);
        let parts = placed.start_parts + u128::try_from(inside / d).unwrap_or(0);
        Exact {
            parts,
            has_fraction: inside % d != 0,
        }
    }
}

impl Exact {
    /// Rounded up to whole arrivals.
    fn arrivals(self) -> u64 {
        let whole = self.parts.div_ceil(PARTS_PER_ARRIVAL);
        let on_edge = self.has_fraction && self.parts.is_multiple_of(PARTS_PER_ARRIVAL);
        u64::try_from(whole + u128::from(on_edge)).unwrap_or(u64::MAX)
    }
}

/// Arithmetic on a piece, which is a plain type of the events crate.
trait Linear {
    fn scaled_lambda(&self, x: i128) -> i128;
}

impl Linear for Piece {
    /// d·Λ(x) in parts: 2axd + (b − a)x². Below 2^127 by the limits on rate and length.
    fn scaled_lambda(&self, x: i128) -> i128 {
        let (a, b) = (i128::from(self.from.0), i128::from(self.to.0));
        2 * a * x * i128::from(self.duration_us) + (b - a) * x * x
    }
}

impl Placed {
    /// The rate at an instant inside the piece, or at its end.
    fn rate_at(&self, t_us: u64) -> u64 {
        let (from, to) = (i128::from(self.piece.from.0), i128::from(self.piece.to.0));
        let x = i128::from(t_us - self.start_us);
        let rate = from + (to - from) * x / i128::from(self.piece.duration_us);
        u64::try_from(rate).unwrap_or(0)
    }

    /// The largest x in 0..d with Λ(x) ≤ `rest` parts.
    fn piece_due_us(&self, rest: u128) -> u64 {
        let d = self.piece.duration_us;
        let rest = i128::try_from(rest).unwrap_or(i128::MAX);
        let limit = rest * i128::from(d);
        let reached = |x: u64| self.piece.scaled_lambda(i128::from(x)) <= limit;
        let guess = self.guess_us(rest).min(d - 1);
        // The closed form is right to a few µs, except on a long ramp down to 0, where it cancels.
        // Widen the interval until it encloses the answer, then bisect exactly.
        let mut step = 1;
        let mut low = guess;
        while !reached(low) {
            low = low.saturating_sub(step);
            step *= 2;
        }
        step = 1;
        let mut high = guess + 1;
        while high < d && reached(high) {
            low = high;
            high = (high + step).min(d);
            step *= 2;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if reached(middle) {
                low = middle
            } else {
                high = middle
            }
        }
        low
    }

    /// The root of the quadratic in its cancellation-free form, as a first guess.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "only a guess: the caller corrects it in integers"
    )]
    fn guess_us(&self, rest: i128) -> u64 {
        let (a, b) = (self.piece.from.0 as f64, self.piece.to.0 as f64);
        let rest = rest as f64;
        let root = (a * a + (b - a) * rest / self.piece.duration_us as f64)
            .max(0.0)
            .sqrt();
        let x = rest / (a + root);
        if x.is_finite() { x as u64 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadpilot_events::plan::Shape;
    use proptest::prelude::*;

    fn profile(pieces: &[(u64, u64, u64)]) -> Profile {
        let pieces = pieces
            .iter()
            .map(|&(duration_us, from, to)| Piece {
                duration_us,
                from: Rate(from),
                to: Rate(to),
            })
            .collect();
        Profile {
            shape: Shape::Stages,
            pieces,
        }
    }

    fn due(pace: &Pace, n: u64) -> u64 {
        pace.due_us(u128::from(n) * PARTS_PER_ARRIVAL)
    }

    #[test]
    fn a_constant_rate_is_evenly_spaced() {
        let pace = Pace::new(&profile(&[(1_000_000, 3_000_000, 3_000_000)]));
        assert_eq!(pace.planned(), 3);
        assert_eq!([0, 1, 2].map(|n| due(&pace, n)), [0, 333_333, 666_666]);
    }

    #[test]
    fn an_idle_beginning_offers_nothing() {
        let pace = Pace::new(&profile(&[
            (60_000_000, 0, 0),
            (1_000_000, 2_000_000, 2_000_000),
        ]));
        assert_eq!(pace.planned(), 2);
        assert_eq!(due(&pace, 0), 60_000_000);
        assert_eq!(due(&pace, 1), 60_500_000);
    }

    #[test]
    fn a_ramp_offers_its_triangle() {
        let pace = Pace::new(&profile(&[(10_000_000, 0, 100_000_000)]));
        assert_eq!(pace.planned(), 500);
        // n = 5t² per second squared: arrival 125 is due at 5 s.
        assert_eq!(due(&pace, 125), 5_000_000);
        assert_eq!(pace.planned_before(5_000_000), 125);
    }

    #[test]
    fn rates_that_do_not_divide_lose_nothing() {
        let pace = Pace::new(&profile(&[(3_600_000_000, 1_666_666, 1_666_666)]));
        assert_eq!(pace.planned(), 6_000);
    }

    /// An arrival that is due just before a change, by less than a part of Λ, must stay there.
    #[test]
    fn a_change_between_two_parts_moves_nothing() {
        // Λ(3 µs) is one arrival and 4/7 of a part.
        let pace = Pace::new(&profile(&[(7, 0, 1_555_555_555_556)]));
        assert_eq!((pace.planned_before(3), due(&pace, 1)), (2, 2));
        let changed = pace.changed(3, Rate(1_000_000_000_000));
        assert_eq!((changed.planned_before(3), due(&changed, 1)), (2, 2));
        assert_eq!((changed.planned(), changed.peak()), (6, 1_000_000_000_000));
    }

    fn pieces() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
        let rate = prop_oneof![Just(0), 1..1_000_u64, 1..50_000_000_000_u64];
        let duration = prop_oneof![1..100_u64, 1..100_000_000_u64, 1..950_400_000_000_u64];
        prop::collection::vec((duration, rate.clone(), rate), 1..6)
    }

    /// Λ in floating point, written independently of the shipped arithmetic.
    #[expect(
        clippy::cast_precision_loss,
        reason = "an oracle with its own rounding"
    )]
    fn lambda_float(pieces: &[(u64, u64, u64)], t_us: u64) -> f64 {
        let mut t = t_us as f64 / 1e6;
        let mut sum = 0.0;
        for &(d, a, b) in pieces {
            let (d, a, b) = (d as f64 / 1e6, a as f64 / 1e6, b as f64 / 1e6);
            let x = t.min(d);
            sum += a * x + (b - a) * x * x / (2.0 * d);
            t -= x;
        }
        sum
    }

    proptest! {
        /// due(n) inverts the integral: it is the last µs at which n has not been passed.
        #[test]
        fn due_inverts_the_integral(pieces in pieces(), pick in any::<u64>()) {
            let pace = Pace::new(&profile(&pieces));
            prop_assume!(pace.planned() > 0);
            let n = pick % pace.planned();
            prop_assume!(u128::from(n) * PARTS_PER_ARRIVAL < pace.total_parts());
            let t = due(&pace, n);
            prop_assert!(t < pace.duration_us());
            prop_assert!(pace.planned_before(t) <= n);
            prop_assert!(pace.planned_before(t + 1) > n);
        }

        /// due is monotone, and its count agrees with an integral computed in floats.
        #[test]
        fn due_is_monotone_and_near_the_float_integral(pieces in pieces(), pick in any::<u64>()) {
            let pace = Pace::new(&profile(&pieces));
            prop_assume!(pace.planned() > 1);
            let n = pick % (pace.planned() - 1);
            prop_assert!(due(&pace, n) <= due(&pace, n + 1));
            let t = due(&pace, n);
            #[expect(clippy::cast_precision_loss, reason = "compared with a tolerance")]
            let error = (lambda_float(&pieces, t) - n as f64).abs();
            let one_us = lambda_float(&pieces, t + 1) - lambda_float(&pieces, t);
            #[expect(clippy::cast_precision_loss, reason = "a tolerance")]
            let tolerance = one_us + 1e-9 * (n as f64) + 1e-6;
            prop_assert!(error <= tolerance, "n={} t={} error={}", n, t, error);
        }
    }
}

//! The same shape of load at another peak rate or over another time.
//!
//! Whole numbers only: a rate and an edge between two pieces are rounded down, so that the peak and
//! the length are exactly the requested ones.

use loadpilot_events::plan::{Piece, Profile};
use loadpilot_events::units::Rate;

/// The profile with every rate in proportion to the new peak. A profile without a rate stays.
#[must_use]
pub fn to_peak(profile: &Profile, peak: Rate) -> Profile {
    let before = u128::from(profile.peak().0.max(1));
    let scaled = |rate: Rate| {
        let rate = u128::from(rate.0) * u128::from(peak.0) / before;
        Rate(u64::try_from(rate).unwrap_or(u64::MAX))
    };
    let pieces = profile.pieces.iter().map(|piece| Piece {
        duration_us: piece.duration_us,
        from: scaled(piece.from),
        to: scaled(piece.to),
    });
    Profile {
        shape: profile.shape,
        pieces: pieces.collect(),
    }
}

/// The profile with every length in proportion to the new one. A piece that gets shorter than a
/// microsecond is left out.
#[must_use]
pub fn to_duration(profile: &Profile, duration_us: u64) -> Profile {
    let lengths = profile
        .pieces
        .iter()
        .map(|piece| u128::from(piece.duration_us));
    let before = lengths.sum::<u128>().max(1);
    let (mut passed_us, mut start_us) = (0_u128, 0);
    let mut pieces = Vec::with_capacity(profile.pieces.len());
    for piece in &profile.pieces {
        passed_us += u128::from(piece.duration_us);
        let end_us = passed_us * u128::from(duration_us) / before;
        let end_us = u64::try_from(end_us).unwrap_or(u64::MAX);
        if end_us > start_us {
            pieces.push(Piece {
                duration_us: end_us - start_us,
                ..*piece
            });
        }
        start_us = end_us;
    }
    Profile {
        shape: profile.shape,
        pieces,
    }
}

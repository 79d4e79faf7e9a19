//! The same shape of load at another peak or over another time.
//!
//! Whole numbers only: a rate, a number of users and an edge between two pieces are rounded down.
//! The peak and the length are exactly the requested ones.

use loadpilot_events::plan::{Piece, Profile, UserStage};
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

/// The stages with every number of users in proportion to the new maximum.
#[must_use]
pub fn to_users(stages: &[UserStage], users: u32) -> Vec<UserStage> {
    let most = stages.iter().flat_map(|stage| [stage.from, stage.to]).max();
    let before = u64::from(most.unwrap_or(0).max(1));
    let scaled = |count: u32| {
        let count = u64::from(count) * u64::from(users) / before;
        u32::try_from(count).unwrap_or(u32::MAX)
    };
    let stages = stages.iter().map(|stage| UserStage {
        duration_us: stage.duration_us,
        from: scaled(stage.from),
        to: scaled(stage.to),
    });
    stages.collect()
}

/// The profile with every length in proportion to the new one. A piece that gets shorter than a
/// microsecond is left out.
#[must_use]
pub fn to_duration(profile: &Profile, duration_us: u64) -> Profile {
    let lengths = profile.pieces.iter().map(|piece| piece.duration_us);
    let lengths = self::lengths(lengths, duration_us).into_iter();
    let pieces = profile.pieces.iter().zip(lengths);
    let pieces = pieces.filter(|(_, duration_us)| *duration_us > 0);
    Profile {
        shape: profile.shape,
        pieces: pieces
            .map(|(&piece, duration_us)| Piece {
                duration_us,
                ..piece
            })
            .collect(),
    }
}

/// The stages with every length in proportion to the new one. A stage that gets shorter than a
/// microsecond is left out.
#[must_use]
pub fn stages_to_duration(stages: &[UserStage], duration_us: u64) -> Vec<UserStage> {
    let lengths = stages.iter().map(|stage| stage.duration_us);
    let lengths = self::lengths(lengths, duration_us).into_iter();
    let stages = stages.iter().zip(lengths);
    let stages = stages.filter(|(_, duration_us)| *duration_us > 0);
    let stages = stages.map(|(&stage, duration_us)| UserStage {
        duration_us,
        ..stage
    });
    stages.collect()
}

/// The lengths in proportion, which together are `duration_us`: each edge is rounded down.
fn lengths(before: impl Iterator<Item = u64> + Clone, duration_us: u64) -> Vec<u64> {
    let all = before.clone().map(u128::from).sum::<u128>().max(1);
    let (mut passed_us, mut start_us) = (0_u128, 0);
    let lengths = before.map(|length_us| {
        passed_us += u128::from(length_us);
        let end_us = passed_us * u128::from(duration_us) / all;
        let end_us = u64::try_from(end_us).unwrap_or(u64::MAX);
        end_us.saturating_sub(std::mem::replace(&mut start_us, end_us))
    });
    lengths.collect()
}

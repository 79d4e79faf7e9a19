//! The offered rate over time, and the active users of a closed loop.
//!
//! In memory a profile always holds its pieces. A replayed curve has one piece for each second of
//! what may be a day: in JSON it is a [`Curve`], which takes a byte or two for each.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::CURVE_VALUES_MAX;
use crate::units::Rate;
use crate::varint;

/// Offered rate over time: linear pieces, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Form", into = "Form")]
#[schemars(with = "Form")]
pub struct Profile {
    /// Shape that the user requested; the pieces define the rate.
    pub shape: Shape,
    /// Pieces, at least one; the sum of their lengths is the length of the run.
    pub pieces: Vec<Piece>,
}

/// Offered rate over time: linear pieces, one after the other, or a curve of constant ones.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Profile")]
struct Form {
    /// Shape that the user requested; the pieces define the rate.
    shape: Shape,
    /// Pieces, at least one; the sum of their lengths is the length of the run. Absent: a curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pieces: Option<Vec<Piece>>,
    /// The pieces of a replayed curve, in short. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    curve: Option<Curve>,
}

/// Named shape of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Linear from 0 to the rate, then steady.
    Ramp,
    /// The full rate from the start.
    Constant,
    /// Windows of equal length and rising rate.
    Step,
    /// Thirds at 20 %, 100 % and 20 % of the rate.
    Spike,
    /// Any list of stages.
    Stages,
    /// No rate: the users of a closed loop set the pace.
    Closed,
    /// The arrivals of a recorded load, second by second. From the second version of the format.
    Replay,
    /// A baseline, a burst at the full rate, the baseline again. From the second version.
    Burst,
    /// Waves between a baseline and the full rate, as short lines. From the second version.
    Sine,
}

/// One linear piece of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// Length in µs; at least 1.
    pub duration_us: u64,
    /// Rate at its begin.
    pub from: Rate,
    /// Rate at its end.
    pub to: Rate,
}

/// One stage of a closed loop: the number of active users is linear from its begin to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserStage {
    /// Length in µs; at least 1.
    pub duration_us: u64,
    /// Number of active users at its begin.
    pub from: u32,
    /// Number of active users at its end.
    pub to: u32,
}

/// Pieces of constant rate and equal length: piece k of n lasts from k/n to (k + 1)/n of the
/// duration, each end rounded down to a µs, and has the rate `unit` times value k.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Length of all pieces together, in µs.
    pub duration_us: u64,
    /// The greatest rate of which each rate is a multiple.
    pub unit: Rate,
    /// The values: base64 of the difference of each to the one before (0 for the first) as a
    /// zigzag LEB128 number.
    pub values: String,
}

impl Shape {
    /// Whether readers of the first version of the format know the shape.
    #[must_use]
    pub fn is_of_first_version(self) -> bool {
        !matches!(self, Self::Replay | Self::Burst | Self::Sine)
    }
}

impl Profile {
    /// Whether the profile has only a length, as a closed loop requires.
    #[must_use]
    pub fn is_length_only(&self) -> bool {
        let still = |piece: &Piece| piece.from == Rate(0) && piece.to == Rate(0);
        self.shape == Shape::Closed && matches!(&self.pieces[..], [piece] if still(piece))
    }

    /// Length of the run in µs.
    #[must_use]
    pub fn duration_us(&self) -> u64 {
        self.pieces.iter().map(|p| p.duration_us).sum()
    }

    /// Highest rate of the profile.
    #[must_use]
    pub fn peak(&self) -> Rate {
        let ends = self.pieces.iter().flat_map(|p| [p.from, p.to]);
        ends.max().unwrap_or_default()
    }
}

impl Curve {
    /// The curve that says the same as these pieces; `None` when they differ in length or rise.
    #[must_use]
    pub fn of(pieces: &[Piece]) -> Option<Self> {
        let lengths = pieces.iter().map(|piece| u128::from(piece.duration_us));
        let duration_us = u64::try_from(lengths.sum::<u128>()).ok()?;
        let mut ends = edges(duration_us, pieces.len());
        let mut begin_us = 0;
        for piece in pieces {
            let end_us = ends.next()?;
            if piece.from != piece.to || end_us - begin_us != piece.duration_us {
                return None;
            }
            begin_us = end_us;
        }
        let unit = pieces.iter().fold(0, |unit, piece| gcd(unit, piece.from.0));
        let (mut bytes, mut last) = (Vec::with_capacity(2 * pieces.len()), 0_u64);
        for piece in pieces {
            let value = piece.from.0.checked_div(unit).unwrap_or(0);
            varint::put(&mut bytes, varint::zigzag(value.wrapping_sub(last)));
            last = value;
        }
        Some(Self {
            duration_us,
            unit: Rate(unit),
            values: BASE64_STANDARD.encode(&bytes),
        })
    }

    /// The pieces of the curve.
    ///
    /// # Errors
    /// The rule that the curve violates.
    pub fn pieces(&self) -> Result<Vec<Piece>, &'static str> {
        let bytes = BASE64_STANDARD.decode(&self.values);
        let bytes = bytes.map_err(|_| "the values of a curve must be base64")?;
        let (mut rest, mut value, mut rates) = (&bytes[..], 0_u64, Vec::new());
        while !rest.is_empty() {
            let change = varint::take(&mut rest).ok_or("a value of a curve is cut or too large")?;
            value = value.wrapping_add(varint::unzigzag(change));
            let rate = value.checked_mul(self.unit.0);
            rates.push(Rate(rate.ok_or("a rate of a curve is too large")?));
            if rates.len() > CURVE_VALUES_MAX {
                return Err("a curve must have at most 950400 values");
            }
        }
        let (ends, mut begin_us) = (edges(self.duration_us, rates.len()), 0);
        let pieces = rates.into_iter().zip(ends).map(|(rate, end_us)| {
            let duration_us = end_us - std::mem::replace(&mut begin_us, end_us);
            Piece {
                duration_us,
                from: rate,
                to: rate,
            }
        });
        Ok(pieces.collect())
    }
}

impl From<Profile> for Form {
    fn from(profile: Profile) -> Self {
        let is_replay = profile.shape == Shape::Replay;
        let curve = is_replay.then(|| Curve::of(&profile.pieces)).flatten();
        Self {
            shape: profile.shape,
            pieces: curve.is_none().then_some(profile.pieces),
            curve,
        }
    }
}

impl TryFrom<Form> for Profile {
    type Error = &'static str;

    fn try_from(form: Form) -> Result<Self, Self::Error> {
        let shape = form.shape;
        let pieces = match (form.pieces, form.curve) {
            (Some(pieces), None) => pieces,
            (None, Some(curve)) if shape == Shape::Replay => curve.pieces()?,
            (None, Some(_)) => return Err("only a profile of shape replay has a curve"),
            _ => return Err("a profile has either pieces or a curve"),
        };
        Ok(Self { shape, pieces })
    }
}

/// The ends of `count` equal parts of a duration, each rounded down to a µs.
fn edges(duration_us: u64, count: usize) -> impl Iterator<Item = u64> {
    let count = count as u128;
    (1..=count).map(move |k| {
        let end_us = k * u128::from(duration_us) / count;
        u64::try_from(end_us).unwrap_or(duration_us)
    })
}

/// The greatest common divisor; 0 has every divisor.
fn gcd(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

//! Who holds which shards.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::id::Holder;
use crate::limits::SHARDS_MAX;
use crate::log::shards::{self, Piece};

/// The number of the assignment in force; it fences the older ones. The first one is 1.
pub type Generation = u32;

/// How many agents a run wants and how long it waits for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentsWanted {
    /// Start as soon as this many have offered capacity; at least 1.
    pub want: u32,
    /// Start with this many when the wait is over; at least 1, at most `want`.
    pub min: u32,
    /// How long to wait for `want`, in µs.
    pub wait_us: u64,
}

/// The shards of one holder.
///
/// It is read as part of a whole map only, which is judged before it is unfolded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Holding {
    /// Who.
    pub holder: Holder,
    /// Which arrivals: those with `n mod shards` in this list; sorted. Stored as shards and
    /// strides of them, `[first, step, count]`.
    #[serde(serialize_with = "shards::serialize")]
    #[schemars(with = "Vec<Piece>")]
    pub shards: Vec<u32>,
}

/// Who owned which shards from a tick on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardMap {
    /// Its number.
    pub generation: Generation,
    /// The first due tick it is in force for, until a later one begins.
    pub from_tick: u32,
    /// Every shard that somebody held.
    #[serde(deserialize_with = "deserialize_map")]
    pub holdings: Vec<Holding>,
}

/// Why a holder no longer holds anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossReason {
    /// Nothing was heard from it for the lost time.
    Silent,
    /// A new process of the same agent appeared.
    Replaced,
    /// It said that it leaves.
    Left,
    /// It said that it cannot do its shards.
    Failed,
    /// It fenced itself.
    Isolated,
    /// It was not ready in time.
    NotReady,
}

impl LossReason {
    /// The same for people, after the name of an agent.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::Replaced => "replaced",
            Self::Left => "left",
            Self::Failed => "failed",
            Self::Isolated => "isolated",
            Self::NotReady => "not ready",
        }
    }
}

/// A holder that lost its shards, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Loss {
    /// Who.
    pub holder: Holder,
    /// Why.
    pub reason: LossReason,
}

/// What is stored of a holding.
#[derive(Deserialize)]
struct Stored {
    holder: Holder,
    shards: Vec<Piece>,
}

/// Reads a whole map.
pub(crate) fn deserialize_map<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Vec<Holding>, D::Error> {
    let stored = Vec::<Stored>::deserialize(from)?;
    let count: usize = stored
        .iter()
        .flat_map(|holding| &holding.shards)
        .fold(0, |sum, piece| sum.saturating_add(piece.count()));
    if count > SHARDS_MAX as usize {
        return Err(D::Error::custom(format!(
            "a map of {count} shards: a run has at most {SHARDS_MAX}"
        )));
    }
    if let Some(piece) = stored
        .iter()
        .flat_map(|holding| &holding.shards)
        .find(|piece| !piece.is_whole())
    {
        let most = u32::MAX;
        return Err(D::Error::custom(format!(
            "{piece:?} goes beyond shard {most}"
        )));
    }
    Ok(stored.into_iter().map(unfold).collect())
}

fn unfold(Stored { holder, shards }: Stored) -> Holding {
    let has_strides = shards.iter().any(|piece| piece.is_stride());
    let mut shards: Vec<u32> = shards.into_iter().flat_map(Piece::shards).collect();
    if has_strides {
        // Strides interleave; a list that was written out is taken as it stands.
        shards.sort_unstable();
    }
    Holding { holder, shards }
}

//! Which holder has which shards, and how a map of shards is read.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::id::Holder;
use crate::limits::SHARDS_MAX;
use crate::log::shards::{self, Piece};

/// Number of the assignment in force, from 1; it fences the earlier ones.
pub type Generation = u32;

/// Number of agents of a run, and how long it waits for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentsWanted {
    /// Number of agents at which the run starts without further waiting; at least 1.
    pub want: u32,
    /// Number of agents that suffice when the wait is over; 1 to `want`.
    pub min: u32,
    /// Maximum wait for `want` agents, in µs.
    pub wait_us: u64,
}

/// Shards of one holder.
///
/// It is read only as part of a whole map, which is checked before its strides are expanded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Holding {
    /// Process that holds the shards.
    pub holder: Holder,
    /// Shards held, sorted: the arrivals with `n mod shards` in this list. Stored as shards and
    /// strides `[first, step, count]`.
    #[serde(serialize_with = "shards::serialize")]
    #[schemars(with = "Vec<Piece>")]
    pub shards: Vec<u32>,
}

/// Which holders had which shards from a tick on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardMap {
    /// Number of the assignment.
    pub generation: Generation,
    /// First due tick of this map; it holds until a later map begins.
    pub from_tick: u32,
    /// Every shard that had a holder.
    #[serde(deserialize_with = "deserialize_map")]
    pub holdings: Vec<Holding>,
}

/// Why a holder lost its shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossReason {
    /// No heartbeat arrived for longer than the lost time.
    Silent,
    /// A new process of the same agent appeared.
    Replaced,
    /// The agent announced that it leaves.
    Left,
    /// The agent reported that it cannot perform its shards.
    Failed,
    /// The agent fenced itself.
    Isolated,
    /// The agent was not ready in time.
    NotReady,
}

impl LossReason {
    /// The reason as text for people, to follow the name of an agent.
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

/// Holder that lost its shards, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Loss {
    /// Process that lost its shards.
    pub holder: Holder,
    /// Why it lost them.
    pub reason: LossReason,
}

/// Stored form of a holding.
#[derive(Deserialize)]
struct Stored {
    holder: Holder,
    shards: Vec<Piece>,
}

/// Reads a whole map of shards.
///
/// Any writer of the log may send a forged map: one of more than [`SHARDS_MAX`] shards, or with a
/// shard number above 32 bits, is an error before its strides are expanded.
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
            "a map has {count} shards; the maximum of a run is {SHARDS_MAX}"
        )));
    }
    if let Some(piece) = stored
        .iter()
        .flat_map(|holding| &holding.shards)
        .find(|piece| !piece.is_whole())
    {
        let most = u32::MAX;
        return Err(D::Error::custom(format!("{piece:?} exceeds shard {most}")));
    }
    Ok(stored.into_iter().map(unfold).collect())
}

fn unfold(Stored { holder, shards }: Stored) -> Holding {
    let has_strides = shards.iter().any(|piece| piece.is_stride());
    let mut shards: Vec<u32> = shards.into_iter().flat_map(Piece::shards).collect();
    if has_strides {
        // Strides interleave; a list written one by one keeps its order.
        shards.sort_unstable();
    }
    Holding { holder, shards }
}

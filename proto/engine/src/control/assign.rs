//! Assigns shards to holders: evenly, interleaved, and with as few moves as possible.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use loadpilot_events::id::Holder;
use loadpilot_events::log::assign::Holding;
use loadpilot_events::units::Rate;

/// Minimum number of shards of a run.
pub const SHARDS_MIN: u32 = 256;

/// Minimum number of shards per wanted agent, so that a lost agent's load spreads evenly.
pub const SHARDS_PER_AGENT: u32 = 16;

/// Number of shards of a run that wants `want` agents. A closed loop has at most as many as its
/// `users`: no shard is without a user, and agents with equally many shards have equally many
/// users, to within one per shard.
#[must_use]
pub fn shard_count(want: u32, users: Option<u32>) -> u32 {
    let shards = SHARDS_MIN.max(want.saturating_mul(SHARDS_PER_AGENT).next_power_of_two());
    users.map_or(shards, |users| shards.min(users.max(1)))
}

/// The rate of `held` out of `shards` shards, rounded down.
#[must_use]
pub fn share(rate: Rate, held: usize, shards: u32) -> Rate {
    let product = u128::from(rate.0) * held as u128;
    Rate(u64::try_from(product / u128::from(shards.max(1))).unwrap_or(u64::MAX))
}

/// Maximum length, in bytes, of a decision that carries a map of these holders. It counts every
/// shard written out, which churn of agents can lead to, and each holder lost as well.
#[must_use]
pub fn map_bytes_max(shards: u32, holders: &[Holder]) -> u64 {
    let named = |holder: &Holder| {
        let words = holder.agent.as_str().len() + holder.boot_id.as_str().len();
        2 * words as u64 + HOLDER_FRAME_BYTES
    };
    let digits = u64::from(shards.max(1).ilog10()) + 1;
    let lists = u64::from(shards) * (digits + 1);
    DECISION_FRAME_BYTES + lists + holders.iter().map(named).sum::<u64>()
}

/// Number of bytes that JSON adds to a holder in a map and in a list of losses.
const HOLDER_FRAME_BYTES: u64 = 112;

/// Number of bytes that JSON adds to a map, including the author of a change of the rate.
const DECISION_FRAME_BYTES: u64 = 2_048;

/// Deals all shards to `holders` in turn, so that neighbours in time go to different holders.
#[must_use]
pub fn deal(shards: u32, holders: &[Holder]) -> Vec<Holding> {
    let count = holders.len();
    let holding = |(index, holder): (usize, &Holder)| Holding {
        holder: holder.clone(),
        shards: (0..shards).skip(index).step_by(count.max(1)).collect(),
    };
    holders.iter().enumerate().map(holding).collect()
}

/// The map after the loss of `lost`. A successor gets all shards of its predecessor; the others are
/// dealt to the holders with the fewest. `leaving` holders keep what they have, and get more only
/// if no other holder is left. Empty when no holder is left.
#[must_use]
pub fn take_over(
    shards: u32,
    holdings: &[Holding],
    lost: &BTreeSet<Holder>,
    successors: &BTreeMap<Holder, Holder>,
    idle: &BTreeSet<Holder>,
    leaving: &BTreeSet<Holder>,
) -> Vec<Holding> {
    let mut map: BTreeMap<Holder, Vec<u32>> = BTreeMap::new();
    let mut held = BTreeSet::new();
    for holding in holdings {
        let next_holder = match successors.get(&holding.holder) {
            Some(successor) if lost.contains(&holding.holder) => successor,
            None if lost.contains(&holding.holder) => continue,
            _ => &holding.holder,
        };
        held.extend(holding.shards.iter().copied());
        map.entry(next_holder.clone())
            .or_default()
            .extend(&holding.shards);
    }
    for holder in idle {
        map.entry(holder.clone()).or_default();
    }
    let mut map: Vec<(Holder, Vec<u32>)> = map.into_iter().collect();
    let all_leave = map.iter().all(|(holder, _)| leaving.contains(holder));
    let takes = |holder: &Holder| all_leave || !leaving.contains(holder);
    let fewest = map.iter().enumerate();
    let fewest = fewest.filter(|(_, (holder, _))| takes(holder));
    let fewest = fewest.map(|(index, (_, held))| Reverse((held.len(), index)));
    let mut fewest: BinaryHeap<_> = fewest.collect();
    for shard in (0..shards).filter(|shard| !held.contains(shard)) {
        if let Some(mut least) = fewest.peek_mut() {
            let (count, index) = &mut least.0;
            map[*index].1.push(shard);
            *count += 1;
        }
    }
    let sorted = |(holder, mut shards): (Holder, Vec<u32>)| {
        shards.sort_unstable();
        Holding { holder, shards }
    };
    map.into_iter()
        .filter(|(_, shards)| !shards.is_empty())
        .map(sorted)
        .collect()
}

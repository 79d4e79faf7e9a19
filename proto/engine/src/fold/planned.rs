//! Planned arrivals by tick and holder, from the log alone.
//!
//! They must never be summed from reports of agents: what agents do not report shows as the
//! difference.

use loadpilot_events::id::Holder;

use crate::control::{Assignment, Control};
use crate::schedule::share::Share;
use crate::schedule::workload::Workload;

/// Planned arrivals of one due tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTick<'a> {
    /// The arrivals, as a half-open range of their numbers.
    pub range: std::ops::Range<u64>,
    /// Number of arrivals by holder.
    pub held: Vec<(&'a Holder, u64)>,
    /// Number of arrivals without a holder.
    pub unowned: u64,
}

/// The shares of holders from one tick on.
#[derive(Debug)]
struct Map {
    from_tick: u32,
    shares: Vec<(Holder, Share)>,
    /// By shard: the position of its holder in `shares`.
    owners: Vec<Option<usize>>,
}

/// Planned arrivals of a run, tick by tick.
#[derive(Debug)]
pub struct Planned<'a> {
    workload: &'a Workload,
    /// One map per assignment.
    maps: Vec<Map>,
}

impl<'a> Planned<'a> {
    /// The planned arrivals of a run whose control side is known.
    #[must_use]
    pub fn new(workload: &'a Workload, control: &Control) -> Self {
        let shards = control
            .state
            .created
            .as_ref()
            .map_or(1, |created| created.shards);
        let map = |assignment: &Assignment| {
            let mut map = Map {
                from_tick: assignment.from_tick,
                shares: Vec::new(),
                owners: vec![None; shards as usize],
            };
            for (index, holding) in assignment.holdings.iter().enumerate() {
                let owned = holding.shards.iter().copied();
                let owned: Vec<u32> = owned.filter(|&shard| shard < shards).collect();
                for &shard in &owned {
                    map.owners[shard as usize] = Some(index);
                }
                let share = workload.share_of(shards, owned);
                map.shares.push((holding.holder.clone(), share));
            }
            map
        };
        let maps = control.assignments.iter().map(map).collect();
        Self { workload, maps }
    }

    /// The arrivals due in `tick`, as a half-open range of their numbers.
    #[must_use]
    pub fn range(&self, tick: u32) -> std::ops::Range<u64> {
        self.workload.arrivals_in_tick(tick)
    }

    fn in_force(&self, tick: u32) -> Option<&Map> {
        self.maps.iter().rev().find(|map| map.from_tick <= tick)
    }

    /// The arrivals due in `tick`, by holder.
    #[must_use]
    pub fn tick(&self, tick: u32) -> PlannedTick<'_> {
        let range = self.range(tick);
        let count = |share: &Share| share.count_below(range.end) - share.count_below(range.start);
        let shares = self.in_force(tick).map_or(&[][..], |map| &map.shares);
        let held: Vec<(&Holder, u64)> = shares
            .iter()
            .map(|(holder, share)| (holder, count(share)))
            .collect();
        let owned: u64 = held.iter().map(|(_, count)| count).sum();
        let unowned = (range.end - range.start).saturating_sub(owned);
        PlannedTick {
            range,
            held,
            unowned,
        }
    }

    /// The holder of arrival `n`, due in `tick`.
    #[must_use]
    pub fn holder_of(&self, tick: u32, n: u64) -> Option<&Holder> {
        let map = self.in_force(tick)?;
        let shards = u32::try_from(map.owners.len()).ok()?.max(1);
        let shard = self.workload.shard_of(n, shards);
        let index = (*map.owners.get(shard as usize)?)?;
        map.shares.get(index).map(|(holder, _)| holder)
    }

    /// Whether arrival `n`, due in `tick`, has no holder.
    #[must_use]
    pub fn is_unowned(&self, tick: u32, n: u64) -> bool {
        self.holder_of(tick, n).is_none()
    }
}

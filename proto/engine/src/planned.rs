//! What should have been reported: planned arrivals by tick and holder, from the log alone.
//!
//! Never summed from what agents say; what they did not report shows as the difference.

use loadpilot_events::id::Holder;

use crate::control::Control;
use crate::share::Share;
use crate::workload::Workload;

/// Planned arrivals of one due tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTick {
    /// The arrivals, as a half-open range of their numbers.
    pub range: std::ops::Range<u64>,
    /// How many of them each holder holds.
    pub held: Vec<(Holder, u64)>,
    /// How many nobody holds.
    pub unowned: u64,
}

/// Planned arrivals of a run, tick by tick.
#[derive(Debug)]
pub struct Planned<'a> {
    workload: &'a Workload,
    /// Per assignment: its first tick and its holders' shares.
    maps: Vec<(u32, Vec<(Holder, Share)>)>,
}

impl<'a> Planned<'a> {
    /// Of a run whose control side is known.
    #[must_use]
    pub fn new(workload: &'a Workload, control: &Control) -> Self {
        let shards = control
            .state
            .created
            .as_ref()
            .map_or(1, |created| created.shards);
        let share = |holding: &loadpilot_events::assign::Holding| {
            let owned = holding
                .shards
                .iter()
                .copied()
                .filter(|&shard| shard < shards)
                .collect();
            (holding.holder.clone(), Share::new(shards, owned))
        };
        let maps = control
            .assignments
            .iter()
            .map(|a| (a.from_tick, a.holdings.iter().map(share).collect()))
            .collect();
        Self { workload, maps }
    }

    /// The arrivals due in `tick`, and who should report them.
    #[must_use]
    pub fn tick(&self, tick: u32) -> PlannedTick {
        let range = self.workload.arrivals_in_tick(tick);
        let map = self
            .maps
            .iter()
            .rev()
            .find(|(from_tick, _)| *from_tick <= tick);
        let count = |share: &Share| share.count_below(range.end) - share.count_below(range.start);
        let shares = map.map_or(&[][..], |(_, shares)| shares);
        let held: Vec<(Holder, u64)> = shares
            .iter()
            .map(|(holder, share)| (holder.clone(), count(share)))
            .collect();
        let owned: u64 = held.iter().map(|(_, count)| count).sum();
        let unowned = (range.end - range.start).saturating_sub(owned);
        PlannedTick {
            range,
            held,
            unowned,
        }
    }

    /// Who holds arrival `n`, due in `tick`.
    #[must_use]
    pub fn holder_of(&self, tick: u32, n: u64) -> Option<&Holder> {
        let mut begun = self.maps.iter().rev();
        let (_, shares) = begun.find(|(from_tick, _)| *from_tick <= tick)?;
        let mut owners = shares.iter().filter(|(_, share)| share.owns(n));
        owners.next().map(|(holder, _)| holder)
    }

    /// Whether arrival `n`, due in `tick`, is held by nobody.
    #[must_use]
    pub fn is_unowned(&self, tick: u32, n: u64) -> bool {
        self.holder_of(tick, n).is_none()
    }
}

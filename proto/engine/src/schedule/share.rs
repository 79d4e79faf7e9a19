//! A share of the arrivals: those whose number modulo the shard count is owned.
//!
//! In a closed loop users take the place of arrivals: a share is the users whose number modulo the
//! shard count is owned. Every node computes its own share alone; shares of disjoint shards are
//! disjoint, and the shares of all shards are exactly the plan.

/// The arrivals of some shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    shards: u64,
    owned: Vec<u32>,
}

impl Share {
    /// The arrivals n with `n mod shards` in `owned`; order and repeats do not matter.
    ///
    /// # Panics
    /// When `shards` is 0 or an owned shard is not below it: assignments are checked before.
    #[must_use]
    pub fn new(shards: u32, mut owned: Vec<u32>) -> Self {
        assert!(shards > 0, "a run has at least one shard");
        owned.sort_unstable();
        owned.dedup();
        assert!(
            owned.last().is_none_or(|&last| last < shards),
            "a shard beyond the shard count"
        );
        Self {
            shards: u64::from(shards),
            owned,
        }
    }

    /// Whether the share holds no arrival at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.owned.is_empty()
    }

    /// Whether the share holds arrival `n`.
    #[must_use]
    pub fn owns(&self, n: u64) -> bool {
        let shard = n % self.shards;
        self.owned
            .binary_search_by(|&owned| u64::from(owned).cmp(&shard))
            .is_ok()
    }

    /// The first arrival of the share that is not below `n`; `None` when the share is empty.
    #[must_use]
    pub fn next_at_or_after(&self, n: u64) -> Option<u64> {
        let first = *self.owned.first()?;
        let (block, shard) = (n / self.shards, n % self.shards);
        let index = self
            .owned
            .partition_point(|&owned| u64::from(owned) < shard);
        Some(match self.owned.get(index) {
            Some(&owned) => block * self.shards + u64::from(owned),
            None => (block + 1) * self.shards + u64::from(first),
        })
    }

    /// Number of arrivals below `n` in the share.
    #[must_use]
    pub fn count_below(&self, n: u64) -> u64 {
        let (blocks, shard) = (n / self.shards, n % self.shards);
        let partial = self
            .owned
            .partition_point(|&owned| u64::from(owned) < shard);
        blocks * self.owned.len() as u64 + partial as u64
    }

    /// Splits the share into `cores` shares, as even and as interleaved as possible.
    #[must_use]
    pub fn split(&self, cores: u32) -> Vec<Self> {
        let cores = cores.max(1) as usize;
        (0..cores)
            .map(|core| Self {
                shards: self.shards,
                owned: self
                    .owned
                    .iter()
                    .copied()
                    .skip(core)
                    .step_by(cores)
                    .collect(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Any split of the shards splits the arrivals exactly, and counting agrees with walking.
        #[test]
        fn shares_partition_the_arrivals(
            shards in 1..300_u32,
            owners in prop::collection::vec(0..7_u32, 300),
            cores in 1..5_u32,
            total in 0..2_000_u64,
        ) {
            let mut seen = vec![0_u32; total as usize];
            for owner in 0..7 {
                let owned = (0..shards).filter(|&s| owners[s as usize] == owner).collect();
                let share = Share::new(shards, owned);
                let before: u32 = seen.iter().sum();
                for part in share.split(cores) {
                    let mut next = part.next_at_or_after(0);
                    while let Some(n) = next.filter(|&n| n < total) {
                        prop_assert!(share.owns(n));
                        seen[n as usize] += 1;
                        next = part.next_at_or_after(n + 1);
                    }
                }
                let walked = seen.iter().sum::<u32>() - before;
                prop_assert_eq!(u64::from(walked), share.count_below(total));
            }
            prop_assert!(seen.iter().all(|&times| times == 1));
        }
    }
}

//! The set of sequence numbers that were seen, in any order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Sequence numbers that were seen, as ranges.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeqSet {
    /// First to last, inclusive, disjoint and not adjacent.
    ranges: BTreeMap<u64, u64>,
}

impl SeqSet {
    /// Adds a number; returns whether it is new.
    pub fn insert(&mut self, seq: u64) -> bool {
        let before = self
            .ranges
            .range(..=seq)
            .next_back()
            .map(|(&first, &last)| (first, last));
        if before.is_some_and(|(_, last)| seq <= last) {
            return false;
        }
        let joins_before = before.filter(|&(_, last)| last + 1 == seq);
        let first = joins_before.map_or(seq, |(first, _)| first);
        let joins_after = seq
            .checked_add(1)
            .and_then(|next| self.ranges.remove(&next));
        let last = joins_after.unwrap_or(seq);
        self.ranges.insert(first, last);
        true
    }

    /// The greatest number in the set; 0 when it is empty.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.ranges.last_key_value().map_or(0, |(_, &last)| last)
    }

    /// Number of 1..=`to` that are missing.
    #[must_use]
    pub fn missing_up_to(&self, to: u64) -> u64 {
        let inside = self.ranges.iter().map(|(&first, &last)| {
            let (first, last) = (first.max(1), last.min(to));
            last.saturating_add(1).saturating_sub(first)
        });
        to - inside.sum::<u64>().min(to)
    }

    /// Number of numbers in the set.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.ranges
            .iter()
            .map(|(first, last)| (last - first).saturating_add(1))
            .fold(0, u64::saturating_add)
    }
}

//! The number of active users of a closed loop over time: linear between stages.
//!
//! User u is active while the line is at least u + 1, so that the active users are always those of
//! the lowest numbers. All comparisons are done in integers: every machine finds the same µs from
//! which a user is active. Must never depend on earlier actions of users.

use std::ops::Range;

use loadpilot_events::plan::UserStage;

/// The stages of a closed loop, prepared for computing the active users at a moment.
#[derive(Debug, Clone)]
pub struct ActiveUsers {
    stages: Vec<Placed>,
    duration_us: u64,
}

/// A stage with its beginning.
#[derive(Debug, Clone, Copy)]
struct Placed {
    start_us: u64,
    stage: UserStage,
}

impl ActiveUsers {
    /// Prepares stages that [`crate::check`] has accepted.
    #[must_use]
    pub fn new(stages: &[UserStage]) -> Self {
        let mut start_us = 0;
        let placed = stages.iter().map(|&stage| {
            let placed = Placed { start_us, stage };
            start_us += stage.duration_us;
            placed
        });
        let stages = placed.collect();
        Self {
            stages,
            duration_us: start_us,
        }
    }

    /// Number of active users at `t_us` after the start; 0 after the last stage. Where a stage ends
    /// the next one counts.
    #[must_use]
    pub fn at(&self, t_us: u64) -> u32 {
        let placed = self.stages.get(self.place_at(t_us));
        placed.map_or(0, |placed| placed.at(t_us - placed.start_us))
    }

    /// The first moment from `t_us` on at which `user`, numbered from 0, is active, in µs after the
    /// start; `None` when it is not active any more. Not earlier for a higher number.
    #[must_use]
    pub fn active_from(&self, user: u32, t_us: u64) -> Option<u64> {
        let stages = self.stages.get(self.place_at(t_us)..)?;
        stages.iter().find_map(|placed| {
            let inside_us = t_us.saturating_sub(placed.start_us);
            let inside_us = placed.active_from(user, inside_us)?;
            Some(placed.start_us + inside_us)
        })
    }

    /// The most users that are active at a moment of `range`, in µs after the start.
    #[must_use]
    pub fn most_in(&self, range: &Range<u64>) -> u32 {
        let stages = self.stages.get(self.place_at(range.start)..).unwrap_or(&[]);
        let reached = stages
            .iter()
            .take_while(|placed| placed.start_us < range.end);
        let most = reached.map(|placed| {
            let end_us = range.end.min(placed.end_us()) - placed.start_us;
            let first_us = range.start.saturating_sub(placed.start_us);
            // A line has its maximum at one of its ends.
            placed.at(first_us).max(placed.at(end_us - 1))
        });
        most.max().filter(|_| !range.is_empty()).unwrap_or(0)
    }

    /// The numbers of active users at both ends of the stage that holds `t_us`; `None` after the
    /// last one.
    #[must_use]
    pub fn slope_at(&self, t_us: u64) -> Option<(u64, u64)> {
        let UserStage { from, to, .. } = self.stages.get(self.place_at(t_us))?.stage;
        Some((from.into(), to.into()))
    }

    /// The stage that holds `t_us`; their number after the last one.
    fn place_at(&self, t_us: u64) -> usize {
        if t_us >= self.duration_us {
            return self.stages.len();
        }
        let after = self
            .stages
            .partition_point(|placed| placed.start_us <= t_us);
        after.saturating_sub(1)
    }
}

impl Placed {
    fn end_us(&self) -> u64 {
        self.start_us + self.stage.duration_us
    }

    /// Number of active users `inside_us` after its beginning: the line, rounded down.
    fn at(&self, inside_us: u64) -> u32 {
        let UserStage {
            duration_us,
            from,
            to,
        } = self.stage;
        let (duration, inside) = (i128::from(duration_us), i128::from(inside_us));
        let (from, to) = (i128::from(from), i128::from(to));
        let line = (from * duration + (to - from) * inside) / duration;
        u32::try_from(line).unwrap_or(0)
    }

    /// The first moment of the stage, from `inside_us` on, at which the line is at least `user` +
    /// 1.
    fn active_from(&self, user: u32, inside_us: u64) -> Option<u64> {
        if self.at(inside_us) > user {
            return Some(inside_us);
        }
        let UserStage {
            duration_us,
            from,
            to,
        } = self.stage;
        // The line at the end of a stage is that of the next one.
        if to <= from || to <= user {
            return None;
        }
        let rise = u128::from(u64::from(user) + 1 - u64::from(from));
        let reached = (rise * u128::from(duration_us)).div_ceil(u128::from(to - from));
        let reached = u64::try_from(reached).ok()?;
        (reached < duration_us).then_some(reached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn active(stages: &[(u64, u32, u32)]) -> ActiveUsers {
        let stages = stages.iter().map(|&(duration_us, from, to)| UserStage {
            duration_us,
            from,
            to,
        });
        ActiveUsers::new(&stages.collect::<Vec<_>>())
    }

    /// Broken if a ramp adds a user too early or too late, or keeps one that has left.
    #[test]
    fn users_come_and_leave_one_by_one() {
        let active = active(&[(4_000, 0, 4), (2_000, 4, 4), (4_000, 4, 0), (1_000, 2, 2)]);
        let at = [0, 999, 1_000, 3_999, 4_000, 5_999, 6_000, 6_001].map(|t| active.at(t));
        assert_eq!(at, [0, 0, 1, 3, 4, 4, 4, 3]);
        assert_eq!(
            [9_000, 9_001, 10_000, 11_000].map(|t| active.at(t)),
            [1, 0, 2, 0]
        );
        let first = [0, 1, 3, 4].map(|user| active.active_from(user, 0));
        assert_eq!(first, [Some(1_000), Some(2_000), Some(4_000), None]);
        assert_eq!(active.active_from(0, 9_001), Some(10_000));
        assert_eq!(active.active_from(2, 7_001), None);
        assert_eq!(active.most_in(&(0..1_000)), 0);
        assert_eq!(active.most_in(&(3_500..8_000)), 4);
        assert_eq!(active.most_in(&(9_001..20_000)), 2);
        assert_eq!(active.most_in(&(11_000..20_000)), 0);
        let slopes = [3_999, 4_000, 6_000, 11_000].map(|t| active.slope_at(t));
        assert_eq!(slopes, [Some((0, 4)), Some((4, 4)), Some((4, 0)), None]);
    }

    /// Broken if a line over the longest run with the most users overflows.
    #[test]
    fn the_longest_ramp_is_exact() {
        let (most, length_us) = (1_000_000, 950_400_000_000);
        let active = active(&[(length_us, 0, most), (length_us, most, 0)]);
        assert_eq!(active.active_from(most - 1, 0), Some(length_us));
        assert_eq!(active.active_from(most - 1, length_us + 1), None);
        assert_eq!(active.at(length_us - 1), most - 1);
        assert_eq!(active.active_from(499_999, 0), Some(length_us / 2));
    }

    fn stages() -> impl Strategy<Value = Vec<(u64, u32, u32)>> {
        let users = prop_oneof![Just(0_u32), 0..5_u32, 0..60_u32];
        prop::collection::vec((1..40_u64, users.clone(), users), 1..6)
    }

    /// Whether the line is at least `user` + 1, in fractions and stage by stage.
    fn is_active(stages: &[(u64, u32, u32)], user: u32, t_us: u64) -> bool {
        let mut start_us = 0;
        for &(duration_us, from, to) in stages {
            if t_us < start_us + duration_us {
                let (x, d) = (t_us - start_us, duration_us);
                // from·(d − x)/d + to·x/d ≥ user + 1
                return u64::from(from) * (d - x) + u64::from(to) * x >= (u64::from(user) + 1) * d;
            }
            start_us += duration_us;
        }
        false
    }

    proptest! {
        /// Broken if any of the three answers disagrees with the definition, moment by moment.
        #[test]
        fn every_answer_is_that_of_the_line(stages in stages(), user in 0..61_u32) {
            let active = active(&stages);
            let length_us: u64 = stages.iter().map(|stage| stage.0).sum();
            for t in 0..length_us + 2 {
                let count = (0..61).filter(|&user| is_active(&stages, user, t)).count();
                prop_assert_eq!(active.at(t) as usize, count);
                let next = (t..length_us).find(|&t| is_active(&stages, user, t));
                prop_assert_eq!(active.active_from(user, t), next, "from {}", t);
                for end in [t, t + 1, t + 3, t + 50] {
                    let most = (t..end).map(|t| active.at(t)).max().unwrap_or(0);
                    prop_assert_eq!(active.most_in(&(t..end)), most);
                }
            }
        }

        /// Broken if a user became active before one of a lower number: joins go in their order.
        #[test]
        fn lower_numbers_are_active_first(stages in stages(), t in 0..200_u64) {
            let active = active(&stages);
            let from: Vec<u64> = (0..61)
                .map(|user| active.active_from(user, t).unwrap_or(u64::MAX))
                .collect();
            prop_assert!(from.is_sorted());
        }
    }
}

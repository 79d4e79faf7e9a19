//! The number of connections of one core: its part of the number that the plan allows an agent.
//!
//! The parts of all cores add up to exactly the whole.

use loadpilot_events::plan::connections::Connections;

/// The connections of one core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectionQuota {
    /// Maximum number open at the same time; `None` sets no limit.
    pub max: Option<u32>,
    /// Number to open before the start.
    pub open_first: u32,
}

impl ConnectionQuota {
    /// The quota of the `part`-th of `parts` cores of an agent.
    ///
    /// # Panics
    /// There are more parts than connections: a core without one could do nothing.
    #[must_use]
    pub fn part(settings: &Connections, part: u32, parts: u32) -> Self {
        let max = settings.max.map(|max| portion(max, part, parts));
        assert!(max != Some(0), "no more cores than connections");
        let open_first = portion(settings.open_first.unwrap_or(0), part, parts);
        Self { max, open_first }
    }

    /// [`ConnectionQuota::max`] as a count; `usize::MAX` sets no limit.
    pub(crate) fn connections_max(self) -> usize {
        self.max.map_or(usize::MAX, |max| max as usize)
    }
}

/// The `part`-th of `parts` portions of `whole`. They differ by at most one; the first ones are
/// larger.
#[must_use]
pub fn portion(whole: u32, part: u32, parts: u32) -> u32 {
    whole / parts + u32::from(part < whole % parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a limit is lost in rounding: an agent would exceed the plan, or never start.
    #[test]
    fn limits_are_divided_exactly() {
        for (whole, parts) in [(10, 4), (1, 1), (10_000, 3), (7, 7), (5, 1)] {
            let split: Vec<u32> = (0..parts).map(|part| portion(whole, part, parts)).collect();
            assert_eq!(split.iter().sum::<u32>(), whole, "{whole} over {parts}");
            assert!(split.iter().all(|&part| part > 0), "{split:?}");
            assert!(split[0] - split[split.len() - 1] <= 1, "{split:?}");
        }
    }
}

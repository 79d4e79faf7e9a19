//! A change of the rate of a running run.

use loadpilot_events::log::steer::RateChanged;
use loadpilot_events::units::Rate;

/// From a due tick on, the rest of the profile is constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateChange {
    /// The first due tick of the new rate.
    pub from_tick: u32,
    /// The new rate.
    pub rate: Rate,
}

impl RateChange {
    /// As it was decided.
    #[must_use]
    pub fn of(changed: &RateChanged) -> Self {
        Self {
            from_tick: changed.from_tick,
            rate: changed.rate,
        }
    }
}

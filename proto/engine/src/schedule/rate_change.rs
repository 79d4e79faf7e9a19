//! A change of the rate while a run is going on.

use loadpilot_events::log::steer::RateChanged;
use loadpilot_events::units::Rate;

/// A constant rate for the rest of the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateChange {
    /// The first due tick of the new rate.
    pub from_tick: u32,
    /// The new rate.
    pub rate: Rate,
}

impl RateChange {
    /// The change that was decided.
    #[must_use]
    pub fn of(changed: &RateChanged) -> Self {
        Self {
            from_tick: changed.from_tick,
            rate: changed.rate,
        }
    }
}

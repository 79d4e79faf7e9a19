//! Whether a due tick lies in the warm-up.

use loadpilot_events::plan::Plan;
use serde::{Deserialize, Serialize};

use crate::control::Control;

/// The first due tick that is measured. Rows know only their tick, so that a warm-up that ends
/// inside a tick excludes the whole tick.
#[must_use]
pub fn first_measured_tick(plan: &Plan) -> u32 {
    u32::try_from(plan.warm_up_us.div_ceil(plan.tick_us)).unwrap_or(u32::MAX)
}

/// Whether a row lies in the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Window {
    /// Due before the end of the warm-up.
    WarmUp,
    /// Due after it.
    Measured,
}

/// The window of a due tick.
pub(super) fn window(control: &Control, tick: u32) -> Window {
    let created = control.state.created.as_ref();
    if created.is_none_or(|created| tick >= first_measured_tick(&created.plan)) {
        Window::Measured
    } else {
        Window::WarmUp
    }
}

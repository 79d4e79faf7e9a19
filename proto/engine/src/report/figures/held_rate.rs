//! The rate that a run held, from the changes in its log.

use loadpilot_events::answers::report::HeldRate;
use loadpilot_events::plan::threshold::Threshold;
use loadpilot_events::units::Rate;

use crate::control::Control;
use crate::control::hold::Range;

/// The rate that a run held; `None` for a run that holds no gate.
pub(crate) fn held_rate(control: &Control) -> Option<HeldRate> {
    let state = &control.state;
    let gates = &state.created.as_ref()?.plan.hold;
    if gates.is_empty() {
        return None;
    }
    let steps = state.steering.holds.clone();
    let range = Range::of(&steps);
    let words = |gate: &Threshold| format!("{} {} {}", gate.key(), gate.operator(), gate.limit);
    Some(HeldRate {
        gates: gates.iter().map(words).collect(),
        rps: range.held().map(Rate::as_rps),
        failed_rps: range.failed().map(Rate::as_rps),
        steps,
    })
}

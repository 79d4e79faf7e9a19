//! The arrivals that a row counts.

use loadpilot_events::log::assign::Generation;

/// The arrivals that a row counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    /// The due tick of the arrival; in a closed loop the tick in which its user was ready for it.
    pub tick: u32,
    /// The generation held at the due tick.
    pub generation: Generation,
    /// The task, by its position in the plan.
    pub task: u16,
}

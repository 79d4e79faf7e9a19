//! The tasks that a figure is of, as a range of their positions in the plan.

use std::ops::Range;

/// All tasks of a plan.
pub(crate) const EVERY: Range<u16> = 0..u16::MAX;

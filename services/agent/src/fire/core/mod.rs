//! One firing thread: its runtime, its set-up and the handle that the rest of the agent holds.

pub(crate) mod allocator_tuning;
pub(crate) mod thread;

//! One firing thread: its runtime, its set-up and the handle that the rest of the agent holds.

pub(crate) mod hooks;
pub(crate) mod thread;

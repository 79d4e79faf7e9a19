//! The threads of the load engine, and the handles that the rest of the agent holds.
//!
//! - [`thread`]: a firing core: its runtime, its parts and its commands.
//! - [`hooks`]: the thread for the hooks of a scenario, whose calls are not counted.

pub(crate) mod hooks;
pub(crate) mod thread;

//! The agent: the shell around pace and delta. It joins a fleet over NATS, takes shards of a run,
//! fires them on time and reports everything that happened to them.
//!
//! Two halves that know nothing of each other's world: [`fire`] sends requests and never sees
//! NATS, everything else speaks to the bus and never sees HTTP. Firing has threads of its own, so
//! that publishing can never delay sending.
//!
//! It must never fire for a run that it has lost control of: it fences itself, counted from the
//! last moment at which a coordinator is known to have heard it.

mod bugs;
pub mod crash;
pub mod fire;
pub mod fleet;
pub mod process;
mod program;
pub mod runs;
pub mod users;
pub mod wall_clock;

pub use program::{main_from, main_with};

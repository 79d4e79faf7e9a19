//! The agent: the shell around pace and delta. It joins a fleet over NATS, takes shards of a run,
//! fires them on time and reports everything that happened to them.
//!
//! Two halves that know nothing of each other's world: [`fire`] sends requests and never sees
//! NATS, everything else speaks to the bus and never sees HTTP. Firing has threads of its own, so
//! that publishing can never delay sending.
//!
//! It must never fire for a run that it has lost control of: it fences itself, counted from the
//! last moment at which a coordinator is known to have heard it.

mod about;
pub mod agent;
mod alarm;
pub mod alive;
pub mod bodies;
mod bugs;
pub mod capacity;
pub mod clock;
pub mod compiled;
pub mod config;
mod descriptors;
pub mod facts;
pub mod fence;
pub mod fire;
pub mod gauges;
mod mapped;
pub mod membership;
pub mod orders;
pub mod outbox;
mod program;
mod recovery;
pub mod runs;
pub mod script;
pub mod secrets;
pub mod shell;
pub mod signals;
pub mod spool;
mod stamp;
pub mod states;
pub mod timing;

pub use program::{main_from, main_with};

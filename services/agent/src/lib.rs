//! The agent joins a fleet over NATS, takes shards of a run, fires them on time and reports the
//! outcome of every arrival.
//!
//! [`fire`] sends requests and does not know NATS; the rest talks to the bus and does not know
//! HTTP. Firing has its own threads, so that publishing cannot delay sending. An agent that loses
//! contact stops by itself: the time counts from the last heartbeat that a coordinator answered.
//!
//! In the order of imports, the lowest first; a module imports only modules above its own line:
//! - [`wall_clock`]: times of events
//! - `bugs`: faults that tests inject
//! - [`crash`]: files that survive a killed process
//! - [`users`]: scenarios whose tasks read responses, compiled or in Python
//! - [`fire`]: the load engine of one thread
//! - [`process`]: configuration, signals, limits and gauges of the process
//! - [`runs`]: one run, from its assignment to its last event
//! - [`fleet`]: heartbeats, capacity and fencing, for all runs together
//! - `program`: reads the configuration, connects, runs the agent, returns the exit code

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

//! The coordinator: follows the log of all runs of one tenant, or of all tenants that share a fleet
//! (ADR 0059), receives heartbeats, and appends the next decision of the engine's `decide`. Several
//! coordinators may run at once: the log accepts the first append, and the others fold it and
//! decide again.
//!
//! All its state can be read again from the log and from heartbeats, so it may be killed at any
//! time (`tests/coordination.rs`). It must never decide before it has read the whole log, nor take
//! an identity from a payload (both tested).
//!
//! Program:
//! - `config`: flags and environment, read once
//! - `tenants`: the file of the tenants of a shared fleet
//! - `legacy_flags`: advice for flags of another product's coordinator
//! - `start`: from arguments to exit code
//!
//! Loop, with I/O:
//! - `shell`: the one loop, and the tasks that perform effects
//! - `append`: appends one decision and finds its outcome
//! - `answers`: clock samples and secrets for agents
//! - `core_publisher`: sends core messages in order
//! - [`Clock`]: the time of the log's server
//!
//! State, without I/O:
//! - [`Coordinator`]: all runs, heartbeats and the effects to perform
//! - `run_state`: one run that is not over
//! - `feed`: the control events of one run, for agents that lack them
//! - `finished`: the runs that are over
//! - `liveness`: times of the last heartbeats of agents and owners
//! - `pause_detector`: detects a frozen process or a clock jump
//!
//! HTTP:
//! - `http`: takes runs over HTTP for callers without NATS, through [`loadpilot_client`]

mod answers;
mod append;
mod clock;
mod config;
mod coordinator;
mod core_publisher;
mod feed;
mod finished;
mod http;
mod legacy_flags;
mod liveness;
mod pause_detector;
mod run_state;
mod shell;
mod start;
mod tenants;

pub use self::http::{HttpConfig, Status, Token};
pub use append::{Outcome, PendingAppend};
pub use clock::Clock;
pub use config::{Config, ConfigError, Settings};
pub use coordinator::{Coordinator, Poison};
pub use run_state::Effect;
pub use shell::{Io, run};
pub use start::main_from;
pub use tenants::ownership_key::read as read_ownership_key;

//! The coordinator: the shell around `decide`. It follows the log of all runs of one tenant, hears
//! heartbeats, and appends what is decided next. Any number may run at once; whoever appends first
//! wins and the others fold again.
//!
//! It must never hold state that is not in the log, take an identity from a payload, or decide
//! before it has read the whole log: a coordinator may be killed at any instant and be replaced by
//! another.
//!
//! [`loadpilot_client`] asks for runs and reads logs; with `--http` a coordinator does so for
//! others.
//!
//! What is pure stands in [`Coordinator`] (and is tested without I/O); what does I/O stands in
//! `shell`, which owns the one loop.

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

pub use self::http::{HttpConfig, Status, Token};
pub use append::Outcome;
pub use clock::Clock;
pub use config::{Config, Mistakes, Settings};
pub use coordinator::{Coordinator, Poison};
pub use run_state::{Effect, PendingAppend};
pub use shell::{Io, run};
pub use start::main_from;

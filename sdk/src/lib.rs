//! `loadpilot._native`: the one place where Python meets Rust.
//!
//! The coordinator's client is the command line's connection to a log; [`supervisor`] keeps a local
//! stack alive, `python` wraps them for Python, `play` lets an agent run scenarios. Must never fold
//! or judge anything itself: that is `loadpilot-engine`'s work, here only called.

#[cfg(feature = "python")]
mod run_request;
pub mod supervisor;
#[cfg(feature = "python")]
mod teardown;

pub use loadpilot_client::{follow, indexed_run, server_address, session, steer};

#[cfg(feature = "python")]
mod nats_url;
#[cfg(feature = "python")]
mod play;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "python")]
mod targets;

#[cfg(feature = "python")]
pub use python::_native;

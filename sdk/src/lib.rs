//! `loadpilot._native`: the one place where Python meets Rust.
//!
//! The coordinator's client is the command line's connection to a log; [`supervisor`] keeps a local
//! stack alive, `python` wraps them for Python, `play` lets an agent run scenarios. Must never fold
//! or judge anything itself: that is `loadpilot-engine`'s work, here only called.

pub mod supervisor;

pub use loadpilot_coordinator::client::{place, reading, session, steer, watch};

#[cfg(feature = "python")]
mod asked;
#[cfg(feature = "python")]
mod nats_url;
#[cfg(feature = "python")]
mod owed;
#[cfg(feature = "python")]
mod play;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "python")]
mod targets;

#[cfg(feature = "python")]
pub use python::_native;

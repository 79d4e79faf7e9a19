//! `loadpilot._native`: the native module of the Python package.
//!
//! Must never fold or judge: the module calls `loadpilot-engine` for both.
//!
//! - [`supervisor`]: a local stack.
//! - `play`: scenarios in Python, on agents and in the command.
//! - `python`: the interface of the module: sessions, plans, programs.

#[cfg(feature = "python")]
mod play;
#[cfg(feature = "python")]
mod python;
pub mod supervisor;

pub use loadpilot_client::{
    follow, indexed_run, run_file, samples, server_address, session, steer,
};

#[cfg(feature = "python")]
pub use python::_native;

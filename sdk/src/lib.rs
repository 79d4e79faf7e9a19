//! `loadpilot._native`: the one place where Python meets Rust.
//!
//! [`session`] is a command line's connection to a log, [`place`] says where that is, [`watch`]
//! follows one run, `verify` looks whether a log is sound, [`supervisor`] keeps a local stack
//! alive, `python` wraps them for Python, `play` lets an agent run scenarios. Must never fold or
//! judge anything itself: that is `loadpilot-engine`'s work, here only called.

mod bodies;
pub mod place;
pub mod session;
pub mod supervisor;
mod verify;
pub mod watch;

#[cfg(feature = "python")]
mod play;
#[cfg(feature = "python")]
mod python;

#[cfg(feature = "python")]
pub use python::_native;

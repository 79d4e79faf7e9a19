//! Whoever asks for runs: submit, follow, stop, read. The command line is one, and the HTTP API of
//! a coordinator another; both write requests and fold the log, and neither decides anything.
//!
//! [`session`] is the connection, [`place`] says where it leads, [`mod@asked`] is what callers
//! over HTTP want and [`once`] asks for that once, [`watch`] follows one run, [`mod@reading`]
//! answers questions about one from an index, [`steer`] changes it, [`owed`] is what its submitter
//! owes, [`roll`] tells which agents are there, [`past`] which runs.

pub mod asked;
mod bodies;
pub mod once;
pub mod owed;
mod past;
pub mod place;
pub mod reading;
mod revive;
mod roll;
pub mod session;
pub mod steer;
mod strict;
mod verify;
pub mod watch;

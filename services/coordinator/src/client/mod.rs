//! Whoever asks for runs: submit, follow, stop, read. The command line is one, and the HTTP API of
//! a coordinator another; both write requests and fold the log, and neither decides anything.
//!
//! [`session`] is the connection, [`place`] says where it leads, [`watch`] follows one run,
//! [`steer`] changes it, [`owed`] is what its submitter owes, [`roll`] tells which agents are
//! there, [`past`] which runs.

mod bodies;
pub mod owed;
mod past;
pub mod place;
mod revive;
mod roll;
pub mod session;
pub mod steer;
mod verify;
pub mod watch;

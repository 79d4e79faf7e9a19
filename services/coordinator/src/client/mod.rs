//! Whoever asks for runs: submit, follow, stop, read. The command line is one, and the HTTP API of
//! a coordinator another; both write requests and fold the log, and neither decides anything.
//!
//! [`session`] is the connection, [`place`] says where it leads, [`watch`] follows one run.

mod bodies;
pub mod place;
pub mod session;
pub mod watch;

//! Whoever asks for runs: submit, follow, stop, read. The command line is one, and the HTTP API of
//! a coordinator another; both write requests and fold the log, and neither decides anything.
//!
//! [`session`] is the connection, [`server_address`] says where it leads, [`mod@run_request`] is
//! what callers over HTTP want and [`idempotency`] asks for that once, [`follow`] follows one run,
//! [`mod@indexed_run`] answers questions about one from an index, [`steer`] changes it,
//! [`teardown`] is what its submitter owes, [`agent_list`] tells which agents are there,
//! [`run_list`] which runs.

mod agent_list;
mod bodies;
pub mod follow;
pub mod idempotency;
pub mod indexed_run;
mod resume;
mod run_list;
pub mod run_request;
pub mod server_address;
pub mod session;
pub mod steer;
mod strict_json;
pub mod teardown;
mod verify;

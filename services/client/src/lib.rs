//! The submitting side of a run: submit, follow, steer, stop, read. The command line, the gateway
//! and the HTTP API of a coordinator use it. A client appends requests and folds the log; every
//! decision about a run is the coordinator's.
//!
//! Connection:
//! - [`server_address`]: address and credentials of a NATS server, and the checks on connecting
//! - [`session`]: an open connection; submit, stop, report
//!
//! Submitting:
//! - [`mod@run_request`]: reads a request for a run that was posted over HTTP
//! - `strict_json`: rejects JSON with a duplicate key, deep nesting or trailing data
//! - `bodies`: request bodies that a plan keeps in the object store
//! - [`idempotency`]: one run per `Idempotency-Key`
//! - [`teardown`]: claims on setup and teardown of a run, and what a teardown needs
//!
//! While it runs:
//! - [`follow`]: timeline, snapshots and end of one run as a stream; also of a past run
//! - [`steer`]: stop, pause, resume and rate changes
//! - `resume`: takes over a run whose command line is gone
//!
//! Reading:
//! - [`mod@indexed_run`]: one run folded and indexed, for many queries
//! - [`mod@run_file`]: a run in one file, written and read
//! - [`samples`]: the sampled calls of a run
//! - `delta_stream`: the deltas of one run, parsed ahead
//! - `run_list`: the runs of a log, and their removal
//! - `agent_list`: the agents of a fleet and what they hold
//! - `verify`: the invariants of a run's log

mod agent_list;
mod bodies;
mod delta_stream;
pub mod follow;
pub mod idempotency;
pub mod indexed_run;
mod resume;
pub mod run_file;
mod run_list;
pub mod run_request;
pub mod samples;
pub mod server_address;
pub mod session;
pub mod steer;
mod strict_json;
pub mod teardown;
mod verify;

//! The agent as a process of its machine, and the settings that all of its parts share.
//!
//! - [`config`]: flags and environment
//! - [`signals`]: SIGTERM and SIGINT
//! - `fd_limits`: file descriptors
//! - [`liveness_file`]: file for health checks
//! - [`gauges`]: CPU, stalls and sockets of the process
//! - [`nats_servers`]: addresses of the NATS servers, which no run may load
//! - [`timeouts`]: timeouts, intervals and limits
//! - [`shell`]: identity, bus and settings, for all other modules
//! - `sleep_until`: sleep until an optional instant

pub mod config;
pub(crate) mod fd_limits;
pub mod gauges;
pub mod liveness_file;
pub mod nats_servers;
pub mod shell;
pub mod signals;
pub(crate) mod sleep_until;
pub mod timeouts;

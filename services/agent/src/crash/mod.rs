//! What survives a killed process: memory-mapped files, and their recovery by the next process.
//!
//! [`spool`] holds deltas until they are acknowledged; [`recovery`] publishes what a killed process
//! of this agent left behind.

pub(crate) mod mmap_file;
pub(crate) mod recovery;
pub mod spool;

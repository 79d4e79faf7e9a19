//! What survives a killed process: memory-mapped files.
//!
//! [`spool`] holds deltas until they are acknowledged.

pub(crate) mod mmap_file;
pub mod spool;

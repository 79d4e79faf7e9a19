//! Files that survive a killed process.
//!
//! - `mmap_file`: a preallocated memory-mapped file
//! - [`spool`]: deltas that are not acknowledged yet
//!
//! The next process of the agent reads them (`runs::recovery`).

pub(crate) mod mmap_file;
pub mod spool;

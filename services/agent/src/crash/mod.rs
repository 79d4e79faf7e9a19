//! Files that survive a killed process.
//!
//! - `mmap_file`: a preallocated memory-mapped file
//! - [`spool`]: deltas until they are acknowledged
//!
//! `runs::recovery` reads them in the next process of the agent.

pub(crate) mod mmap_file;
pub mod spool;

//! The write-ahead journal of a firing thread: each finished call is in a memory-mapped file before
//! it is in a delta, so that a kill loses nothing.
//!
//! - [`record`]: one call in 64 bytes.
//! - [`ring`]: the file that holds the records, its writer and its reader.

pub(crate) mod record;
pub(crate) mod ring;

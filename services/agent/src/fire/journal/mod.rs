//! The write-ahead journal of a firing thread: each finished call is stored in a memory-mapped file
//! before it is part of a delta, so that a kill loses no call.
//!
//! - [`record`]: one call in 64 bytes.
//! - [`ring`]: the file that holds the records, its writer and its reader.

pub(crate) mod record;
pub(crate) mod ring;

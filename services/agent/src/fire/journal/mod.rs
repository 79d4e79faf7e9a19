//! The write-ahead journal of a firing thread: each finished call is in a memory-mapped file before
//! it is in a delta, so that a kill loses nothing.
//!
//! [`record`] is one call in 64 bytes, [`ring`] the file that holds them.

pub(crate) mod record;
pub(crate) mod ring;

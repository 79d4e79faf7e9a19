//! Properties of the readers of foreign bytes: one function for each reader, which panics when its
//! property is violated.
//!
//! - [`answer`]: an HTTP/1.1 answer.
//! - [`tokens`]: the body of a streamed answer.
//! - [`encoding`]: the body of an answer with a content coding.
//! - [`record`]: a record of a ring, as a killed process may have left it.
//! - [`cuts`]: the ways in which bytes are cut.
//! - [`delta`], [`histogram`], [`columns`]: a delta in the log, and what is encoded in it.
//!
//! cargo-fuzz searches for such bytes (`services/agent/fuzz`); the tests use its findings and bytes
//! written by hand. Built for these two only; must never need a clock, randomness or a socket.

mod answer;
mod cuts;
mod delta;
mod encoding;
mod record;
#[cfg(test)]
mod tests;
mod tokens;

pub use answer::answer;
pub use delta::{columns, delta, histogram};
pub use encoding::encoding;
pub use record::record;
pub use tokens::tokens;

//! The fold of a log, in any order and with any damage.

pub(crate) mod closed_loop;
mod poison;
pub(crate) mod projection;

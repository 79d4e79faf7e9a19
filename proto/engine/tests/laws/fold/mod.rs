//! What a log adds up to, however it is read and whatever stands in it.

mod closed_loop;
mod poison;
pub(crate) mod projection;

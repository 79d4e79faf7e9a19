//! The load engine of one core against a target that counts for itself.

mod arrival;
mod http;
mod journal;
mod support;

//! The load engine of one core against a target that counts by itself.

mod arrival;
mod http;
mod journal;
mod support;

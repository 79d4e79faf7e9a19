//! The load engine of one core against a target that counts by itself.

mod certificates;
mod connections;
mod faults;
mod frames;
mod http2;
mod kill;
mod pacing;
mod peer;
mod story;
mod target;
mod tls;
mod users;

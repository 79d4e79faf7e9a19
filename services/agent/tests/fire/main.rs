//! The load engine of one core against a target that counts by itself.

mod ahead;
mod certificates;
mod connections;
mod faults;
mod frames;
mod http2;
mod kill;
mod lease;
mod pacing;
mod peer;
mod pool;
mod steer;
mod story;
mod streams;
mod target;
mod time_outs;
mod tls;
mod users;

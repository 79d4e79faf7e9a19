//! When calls start: pacing, users, steering, and the lease.

mod closed_loop;
mod lease;
mod pacing;
mod steer;

//! When calls start, and when none does.

mod closed_loop;
mod lease;
mod pacing;
mod steer;

//! The load engine of one core against a target that counts by itself.

mod faults;
mod pacing;
mod story;
mod target;

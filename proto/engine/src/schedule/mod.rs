//! Which arrivals a run has, when each is due and what it draws: pure functions of plan and seed. A
//! change of the rate must never move what is due before it.
//!
//! Due times:
//! - [`pace`]: the rate profile, inverted into due times
//! - [`replay`]: the arrivals of a recorded load, second by second
//! - [`scale`]: the same shape at another peak rate or over another time
//! - [`rate_change`]: another rate from a tick on
//! - [`user_stages`]: the users of a closed loop that are active at a moment
//! - `think_time`: the rests of a closed loop's users that follow a distribution
//! - [`share`]: the arrivals of some shards
//! - `task_order`: the tasks of a run in blocks
//! - `rows_end`: the end of a run whose feed has no row left
//! - [`workload`]: all arrivals of a run, with their due times and tasks
//! - [`due_times`]: those due times for a caller that reads neighbours
//!
//! Data:
//! - [`hash`]: seeded draws
//! - [`random`]: the values that a scenario draws
//! - [`feed`]: the rows of data that arrivals take

pub mod due_times;
pub mod pace;
pub mod rate_change;
pub mod replay;
mod rows_end;
pub mod scale;
pub mod share;
mod task_order;
mod think_time;
pub mod user_stages;
pub mod workload;

pub mod feed;
pub mod hash;
pub mod random;

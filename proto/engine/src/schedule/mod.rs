//! The arrivals of a run, their due times and their draws: pure functions of plan and seed. A
//! change of the rate must never move an arrival that is due before it.
//!
//! Due times:
//! - [`pace`]: the rate profile, inverted into due times
//! - [`replay`]: the arrivals of a recorded load, second by second
//! - [`scale`]: the same shape at another peak rate or over another time
//! - [`rate_change`]: another rate from a tick on
//! - [`user_stages`]: the users of a closed loop that are active at a moment
//! - [`user_types`]: the scenarios of a mix, with their tasks and users; pairs of arrivals
//! - [`share`]: the arrivals of some shards
//! - [`run_weights`]: the weights of tasks among all arrivals of a run
//! - `task_order`: tasks in blocks
//! - `rows_end`: the end of a run whose feed has no row left
//! - [`closed_loop`]: the users of a closed loop, their types, rests and sessions
//! - [`workload`]: all arrivals of a run, with their due times and tasks
//! - [`due_times`]: those due times for a caller that reads neighbours
//!
//! Data:
//! - [`hash`]: seeded draws
//! - [`random`]: the values that a scenario draws
//! - [`feed`]: the rows of data that arrivals take
//! - [`trace_context`]: the ids by which services record calls

pub mod closed_loop;
pub mod due_times;
pub mod pace;
pub mod rate_change;
pub mod replay;
mod rows_end;
pub mod run_weights;
pub mod scale;
pub mod share;
mod task_order;
pub mod user_stages;
pub mod user_types;
pub mod workload;

pub mod feed;
pub mod hash;
pub mod random;
pub mod trace_context;
